from symlab.records import canonical_json, run_key

CONFIG = {"seed": 0, "learner": {"rate": 0.001, "name": "map"}}


def test_order_and_notation_do_not_matter():
    other = {"learner": {"name": "map", "rate": 1e-3}, "seed": 0}
    assert run_key(CONFIG) == run_key(other)
    assert canonical_json(CONFIG) == '{"learner":{"name":"map","rate":0.001},"seed":0}'


def test_every_value_matters():
    keys = {run_key(CONFIG), run_key(CONFIG | {"seed": 1}), run_key(CONFIG | {"learner": {"rate": 0.002, "name": "map"}})}
    assert len(keys) == 3


def test_a_key_is_stable_between_processes_and_versions():
    """Stored runs are found by it: a change of this value would orphan them all."""
    assert run_key(CONFIG) == "aeefb49f6221fa13"

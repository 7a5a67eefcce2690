from symlab.data.sources.stand_in import stand_in_notes


def test_notes() -> None:
    assert stand_in_notes("digits", None) == ()
    assert stand_in_notes("digits", "MNIST") == ("digits in the place of MNIST.",)

from pathlib import Path

from experiments.launching import launch
from tests.experiments.test_workers import make_job


def test_a_launcher_of_hydras_computes_the_jobs_and_a_failed_one_does_not_end_the_others(tmp_path: Path, monkeypatch):
    """Hydra's basic launcher works in this process; joblib and submitit take the same call."""
    monkeypatch.chdir(tmp_path)
    jobs = [
        make_job(tmp_path / "runs", "learner.learning_rate=1e30", "trainer.epochs=5"),
        make_job(tmp_path / "runs"),
        make_job(tmp_path / "runs", "data=uci_wine", f"data.root={tmp_path}/nothing"),
    ]
    results = launch(jobs, ["hydra/launcher=basic"])
    assert [result.outcome for result in results] == ["failed", "finished", "no data"]
    assert [result.job.key for result in results] == [job.key for job in jobs]
    assert (tmp_path / "runs" / jobs[1].key / "record.json").exists()

"""Runs handed to one of Hydra's launchers (joblib, submitit local or SLURM) instead of to our own workers."""

from collections.abc import Sequence
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from experiments.composition import CONFIGURATION, check
from experiments.workers import Job, Result, run_job


def _task(config: DictConfig) -> Result:
    """Called by the launcher in its own process with the composed configuration of one job."""
    checked = check(config)
    return run_job(Job(checked.key, tuple(HydraConfig.get().overrides.task)), checked)


def launch(jobs: Sequence[Job], launcher: Sequence[str]) -> list[Result]:
    """Compute all jobs through the launcher chosen by ``launcher`` (e.g. ``hydra/launcher=joblib``); blocks until done."""
    with initialize_config_dir(str(CONFIGURATION), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        config = loader.load_configuration("config", list(launcher), run_mode=RunMode.MULTIRUN)
        context = HydraContext(config_loader=loader, callbacks=Callbacks())
        plugin: Any = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=_task, config=config)
        returned = plugin.launch([list(job.overrides) for job in jobs], initial_job_idx=0)
    return [each.return_value for each in returned]

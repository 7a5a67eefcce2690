import torch

from symlab.trainer.trajectory import Trajectory


def test_entries_survive_storage():
    trajectory, again = Trajectory(), Trajectory()
    trajectory.add(0, torch.tensor([0.1, 0.2], dtype=torch.float64), 1.5)
    trajectory.add(3, torch.tensor([0.3, 0.4], dtype=torch.float64), 0.5)
    again.load_state_dict(trajectory.state_dict())
    arrays = again.arrays()
    assert arrays["epoch"].tolist() == [0, 3]
    assert arrays["eta"].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert arrays["objective"].tolist() == [1.5, 0.5]

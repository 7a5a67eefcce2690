import io

import torch
from torch import nn

from symlab.trainer.best import BestState


def test_the_lowest_score_is_kept_and_restored():
    module = nn.Linear(1, 1)
    best = BestState({"module": module})
    for score, value in ((3.0, 1.0), (1.0, 2.0), (2.0, 3.0)):
        nn.init.constant_(module.weight, value)
        best.offer(score)
    best.restore()
    assert best.score == 1.0
    assert module.weight.item() == 2.0


def test_without_an_offer_nothing_changes():
    module = nn.Linear(1, 1)
    before = module.weight.item()
    BestState({"module": module}).restore()
    assert module.weight.item() == before


def test_it_survives_storage():
    module = nn.Linear(1, 1)
    best = BestState({"module": module})
    nn.init.constant_(module.weight, 5.0)
    best.offer(0.5)
    file = io.BytesIO()
    torch.save(best.state_dict(), file)
    file.seek(0)
    resumed = BestState({"module": module})
    resumed.load_state_dict(torch.load(file, weights_only=True))
    nn.init.constant_(module.weight, 6.0)
    resumed.offer(0.7)  # not as good
    resumed.restore()
    assert module.weight.item() == 5.0

import torch

from symlab.data.dataset import Dataset
from symlab.trainer.batches import derived_generator, epoch_batches, flip_and_shift


def collect(data: Dataset, **options) -> list[torch.Tensor]:
    arguments = {"batch_size": 16, "augmentation": "none", "seed": 0, "epoch": 0} | options
    return [batch.targets for batch in epoch_batches(data, **arguments)]


def test_an_epoch_visits_every_sample_once(blobs):
    batches = [batch.inputs for batch in epoch_batches(blobs, 16, "none", seed=0, epoch=0)]
    assert [len(batch) for batch in batches] == [16, 16, 16, 12]
    seen, whole = torch.cat(batches).flatten(1), blobs.normalise(blobs.train.inputs).flatten(1)
    assert sorted(seen.tolist()) == sorted(whole.tolist())


def test_order_depends_on_seed_and_epoch_only(blobs):
    first = torch.cat(collect(blobs))
    torch.manual_seed(123)
    assert torch.equal(first, torch.cat(collect(blobs)))
    assert not torch.equal(first, torch.cat(collect(blobs, epoch=1)))
    assert not torch.equal(first, torch.cat(collect(blobs, seed=1)))


def test_starting_late_gives_the_rest_of_the_same_epoch(blobs):
    for augmentation in ("none", "flip_and_shift"):
        whole = list(epoch_batches(blobs, 16, augmentation, seed=0, epoch=2))
        rest = list(epoch_batches(blobs, 16, augmentation, seed=0, epoch=2, start=2))
        assert len(rest) == 2
        for late, full in zip(rest, whole[2:], strict=True):
            assert torch.equal(late.inputs, full.inputs)


def test_flip_and_shift_matches_moving_pixels_one_by_one():
    images = torch.randint(1, 255, (40, 2, 6, 5), dtype=torch.uint8)
    moved = flip_and_shift(images, derived_generator("test"), maximal_shift=3)
    generator = derived_generator("test")
    flip = torch.rand(40, generator=generator) < 0.5
    shift = torch.randint(-3, 4, (2, 40), generator=generator)
    assert 0 < flip.sum() < 40
    expected = torch.zeros_like(images)
    for sample in range(40):
        source = images[sample].flip(-1) if flip[sample] else images[sample]
        for row in range(6):
            for column in range(5):
                from_row, from_column = row + int(shift[0, sample]), column + int(shift[1, sample])
                if 0 <= from_row < 6 and 0 <= from_column < 5:
                    expected[sample, :, row, column] = source[:, from_row, from_column]
    assert torch.equal(moved, expected)

import torch

from symlab.records import describe_environment
from symlab.records.environment import peak_memory_bytes


def test_says_where_numbers_come_from():
    described = describe_environment(torch.device("cpu")).as_dict()
    assert described["libraries"]["torch"].startswith(torch.__version__.split("+")[0])
    assert described["threads"] == torch.get_num_threads()
    assert described["device"] == "cpu"
    assert all(value not in ("", None) for key, value in described.items() if key != "dirty")


def test_peak_memory_grows_with_an_allocation():
    before = peak_memory_bytes(torch.device("cpu"))
    block = torch.ones(before // 4 + 2**26)  # more than was ever in use
    assert peak_memory_bytes(torch.device("cpu")) >= before + 2**26
    assert block.numel()

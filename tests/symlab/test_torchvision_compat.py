import subprocess
import sys

PROGRAM = """
from symlab.torchvision_compat import torchvision
from torchvision import datasets, models, utils
from torchvision.transforms import v2
import torch
assert models.resnet18().eval()(torch.zeros(1, 3, 32, 32)).shape == (1, 1000)
assert v2.Resize(4)(torch.zeros(3, 8, 8)).shape == (3, 4, 4)
"""


def test_torchvision_imports_in_a_fresh_process_without_warnings():
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

import pytest
import torch

from ella.inspection import effective_types, inspect_layers, layer_metrics, logged_tensors
from ella.layers import Convolution, FactoredFullyConnected, FullyConnected, ResidualPathways
from ella.network import Network
from symlab.kfac import Classification
from symlab.laplace import GaussianPrior, Laplace
from symlab.laplace.summary import TensorSummary, summarise

TENSORS = {
    "blocks.0.paths.f_fc.from_space.weight": TensorSummary(100.0, 0.01, 0.1),
    "blocks.0.paths.f_fc.from_space.bias": TensorSummary(1.0, 9.0, 0.9),
    "blocks.0.paths.f_fc.to_space.weight": TensorSummary(300.0, 0.03, 0.3),
    "blocks.0.paths.conv.convolution.weight": TensorSummary(0.5, 2.0, 0.6),
    "blocks.0.paths.conv.convolution.bias": TensorSummary(1.0, 9.0, 0.9),
    "blocks.2.paths.f_fc.from_space.weight": TensorSummary(2.0, 1.0, 0.9),
    "blocks.2.paths.f_fc.to_space.weight": TensorSummary(2.0, 1.0, 0.7),
    "blocks.2.paths.conv.convolution.weight": TensorSummary(1e6, 0.0, 0.0),
    "head.1.weight": TensorSummary(1.0, 1.0, 0.5),
}


def test_paths_have_the_mean_of_their_weights_and_shares_that_add_up():
    first, second, third, fourth = inspect_layers(TENSORS)
    assert (first.layer, first.path, third.layer, third.path) == (0, "f_fc", 1, "f_fc")
    assert first.prior_precision == pytest.approx(200)
    assert first.prior_variance == pytest.approx(1 / 200)
    assert first.weight_norm == pytest.approx(0.02)
    assert first.normalised_effective_parameters == pytest.approx(0.2)
    assert first.relative_effective_parameters == pytest.approx(0.25)
    assert second.relative_effective_parameters == pytest.approx(0.75)
    assert (third.relative_effective_parameters, fourth.relative_effective_parameters) == pytest.approx((1, 0))


def test_metrics_have_the_names_that_tables_read():
    reports = inspect_layers(TENSORS)
    assert effective_types(reports) == ["conv", "f_fc"]
    metrics = layer_metrics(reports)
    assert metrics["effective_layer_type/layer0"] == 1.0
    assert metrics["effective_layer_type/layer1"] == 0.0
    assert metrics["prior_precision/layer1/conv"] == 1e6
    assert metrics["weight_norm/layer0/conv"] == 2.0
    assert metrics["relative_effective_parameters/layer0/conv"] == pytest.approx(0.75)
    assert metrics["relative_effective_parameters/conv/mean"] == pytest.approx(0.375)
    assert metrics["relative_effective_parameters/conv/min"] == pytest.approx(0)
    assert metrics["relative_effective_parameters/conv/max"] == pytest.approx(0.75)


def test_logged_metrics_are_read_back():
    metrics = {f"{key}/{name}": value for name, tensor in TENSORS.items() for key, value in vars(tensor).items()}
    metrics |= layer_metrics(inspect_layers(TENSORS)) | {"epoch": 3, "train/loss": 0.1}
    assert inspect_layers(logged_tensors(metrics)) == inspect_layers(TENSORS)
    assert logged_tensors({"epoch": 3, "train/loss": 0.1}) == {}


def test_where_nothing_is_decided_by_data_no_path_is_ahead():
    off = {f"blocks.0.paths.{path}.weight": TensorSummary(1e9, 0.0, 0.0) for path in ("fc", "conv")}
    assert [report.relative_effective_parameters for report in inspect_layers(off)] == [0.5, 0.5]


def test_a_network_without_pathways_has_one_path_in_every_layer():
    network = Network((1, 8, 8), 3, Convolution, alpha=1)
    tensors = dict.fromkeys((name for name, _ in network.named_parameters()), TensorSummary(1.0, 1.0, 0.5))
    reports = inspect_layers(tensors)
    assert [(report.layer, report.relative_effective_parameters) for report in reports] == [(i, 1.0) for i in range(8)]


def test_effective_parameters_are_those_of_the_dense_posterior():
    """Oracle: gamma = P - delta tr (H + delta I)^-1 of each weight's block, written out (App. D.2)."""
    torch.manual_seed(0)

    def layer(*sizes: int) -> ResidualPathways:
        return ResidualPathways(*sizes, paths={"fc": FullyConnected, "f_fc": FactoredFullyConnected, "conv": Convolution})

    network = Network((1, 4, 4), 3, layer, alpha=1).double()
    prior = GaussianPrior(network, "tensor", 0.3)
    data = [(torch.randn(6, 1, 4, 4, dtype=torch.float64), torch.arange(6) % 3)]
    laplace = Laplace.fit(network, Classification(), data, prior=prior)
    reports = {(report.layer, report.path): report for report in inspect_layers(summarise(laplace))}
    assert len(reports) == 24
    for (index, path), report in reports.items():
        prefix = f"blocks.{2 * index}.paths.{path}."
        shares, squares = [], []
        for name, block in laplace.blocks.items():
            if name.startswith(prefix) and name.endswith("weight"):
                matrix = block.dense() + 0.3 * torch.eye(block.n_parameters, dtype=torch.float64)
                shares.append(1 - 0.3 * torch.linalg.inv(matrix).trace().item() / block.n_parameters)
                squares.append(network.get_parameter(name).square().mean().item())
        assert len(shares) == (2 if path == "f_fc" else 1)
        assert report.normalised_effective_parameters == pytest.approx(sum(shares) / len(shares), abs=1e-8)
        assert report.weight_norm == pytest.approx(sum(squares) / len(squares))

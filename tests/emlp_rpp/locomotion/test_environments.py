"""Every robot's representations are representations; sizes are those of the simulators."""

import numpy as np
import pytest

from emlp_rpp.groups import Element
from emlp_rpp.locomotion.environments import ENVIRONMENTS, Locomotion, locomotion
from symlab.errors import ConfigError

SIZES = {
    "hopper": (11, 3),
    "swimmer": (8, 2),
    "halfcheetah": (17, 6),
    "walker2d": (17, 6),
    "ant": (32, 8),
    "humanoid": (50, 17),
}


@pytest.fixture(params=sorted(ENVIRONMENTS))
def robot(request) -> Locomotion:
    return locomotion(request.param)


def test_sizes(robot):
    assert (robot.state.size, robot.action.size) == SIZES[robot.name]
    assert robot.spread.size == robot.action.size
    assert robot.read_state(np.ones((3, robot.observation_size))).shape == (3, robot.state.size)


def test_products_of_elements_act_as_products_of_matrices(robot):
    """rho(g h) = rho(g) rho(h), and two words for one element have one image: the group's relations hold."""
    generator = np.random.default_rng(0)
    for representation in (robot.state, robot.action, robot.spread):
        g, h = robot.group.random_element(generator), robot.group.random_element(generator)
        product = representation.matrix(Element((*g.word, *h.word)))
        np.testing.assert_allclose(product, representation.matrix(g) @ representation.matrix(h), atol=1e-12)
        for index in range(len(robot.group.discrete)):
            order = 4 if robot.name == "ant" else 2
            np.testing.assert_allclose(
                representation.matrix(Element(((index, 1),) * order)), np.eye(representation.size), atol=1e-12
            )


def test_spreads_move_as_the_sizes_of_actions(robot):
    for element in robot.elements:
        np.testing.assert_array_equal(robot.spread.matrix(element), np.abs(robot.action.matrix(element)))


def test_elements_leave_no_state_alone(robot):
    for element in robot.elements:
        assert np.abs(robot.state.matrix(element) - np.eye(robot.state.size)).max() > 0.1


@pytest.mark.parametrize(
    ("name", "text"), [("hopper", "126*1 + 55*V + 5*T(2)"), ("walker2d", "136*1 + 60*V"), ("ant", "136*1 + 30*V")]
)
def test_hidden_layers_are_the_published_ones(name, text):
    hidden = locomotion(name).hidden(256)
    assert hidden.size == 256
    assert repr(hidden) == text


def test_hidden_layers_have_the_size_asked_for(robot):
    assert [robot.hidden(channels).size for channels in (1, 16, 100)] == [1, 16, 100]
    with pytest.raises(ConfigError, match="channels=0"):
        robot.hidden(0)


def test_errors_name_what_does_not_fit():
    with pytest.raises(ConfigError, match="'snake' does not fit: give one of hopper"):
        locomotion("snake")
    with pytest.raises(ConfigError, match=r"\(2, 12\) do not fit: Hopper-v5 observes 11"):
        locomotion("hopper").read_state(np.zeros((2, 12)))

"""The representations against the simulators: move a physical configuration, step, compare. Needs the extra ``rl``.

Each motion is written down for positions and velocities of MuJoCo (qpos, qvel) and motors, without the representations.
For a state s and an action a, with s' = step(s, a) and (g s)' = step(g s, g a):

    read(g s) = rho(g) read(s)                  rho is how states transform
    read((g s)') = rho(g) read(s')              g is a symmetry of the simulator

The violation is |change of g s - rho(g) change of s| / (sum of both lengths), between 0 and 1.
"""

from collections.abc import Callable

import numpy as np
import pytest

from emlp_rpp.groups import Element
from emlp_rpp.locomotion.converters import rotation_matrix
from emlp_rpp.locomotion.environments import Locomotion, locomotion
from emlp_rpp.locomotion.simulation import make_simulator, make_symmetric

pytest.importorskip("gymnasium", reason="MuJoCo robots need the extra rl")
pytest.importorskip("mujoco", reason="MuJoCo robots need the extra rl")

Motion = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
FIRST, SECOND = Element(((0, 1),)), Element(((1, 1),))


def reflected_in_the_plane(joints: int) -> Motion:
    """x -> -x of a robot in the plane of x and z: qpos = (x, z, pitch, joints)."""
    signs = np.array([-1.0, 1.0, -1.0, *[-1.0] * joints])
    return lambda position, velocity, motors: (signs * position, signs * velocity, -motors)


def walker_legs(position, velocity, motors):
    order = [0, 1, 2, 6, 7, 8, 3, 4, 5]
    return position[order], velocity[order], motors[[3, 4, 5, 0, 1, 2]]


def swimmer_left_to_right(position, velocity, motors):
    signs = np.array([1.0, -1.0, -1.0, -1.0, -1.0])
    return signs * position, signs * velocity, -motors


def swimmer_joints(position, velocity, motors):
    order = [0, 1, 2, 4, 3]
    return position[order], velocity[order], motors[::-1].copy()


def quaternion_product(a, b):
    (s, *u), (t, *v) = a, b
    return np.array([s * t - np.dot(u, v), *(s * np.array(v) + t * np.array(u) + np.cross(u, v))])


def about_the_vertical(angle):
    return np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])


def ant_legs(position, velocity, motors):
    """Leg i's joints become leg i+1's, the body turns back by a quarter. Ankles 2 and 3 are hinged the other way round."""
    moved_position, moved_velocity, moved_motors = position.copy(), velocity.copy(), motors.copy()
    moved_position[3:7] = quaternion_product(position[3:7], about_the_vertical(-np.pi / 2))
    x, y, z = velocity[3:6]  # in the body's axes
    moved_velocity[3:6] = [-y, x, z]
    hip_motor, sign = [2, 4, 6, 0], [1, -1, -1, 1]
    for leg in range(4):
        other = (leg + 1) % 4
        for vector, moved, start in ((position, moved_position, 7), (velocity, moved_velocity, 6)):
            moved[start + 2 * other] = vector[start + 2 * leg]
            moved[start + 2 * other + 1] = sign[leg] * sign[other] * vector[start + 2 * leg + 1]
        moved_motors[hip_motor[other]] = motors[hip_motor[leg]]
        moved_motors[hip_motor[other] + 1] = sign[leg] * sign[other] * motors[hip_motor[leg] + 1]
    return moved_position, moved_velocity, moved_motors


ANGLE = 0.7


def humanoid_turned(position, velocity, motors):
    position, velocity = position.copy(), velocity.copy()
    turn = rotation_matrix(about_the_vertical(ANGLE))[:2, :2]
    position[:2], velocity[:2] = turn @ position[:2], turn @ velocity[:2]
    position[3:7] = quaternion_product(about_the_vertical(ANGLE), position[3:7])
    return position, velocity, motors


def turn_of(robot: Locomotion) -> Element:
    return Element(((ANGLE / robot.group.algebra[0][1, 0],),))


class Simulator:
    """States that a robot visits with random motors, and single steps from any state."""

    def __init__(self, name: str, joint_limits: bool = True):
        self.robot = locomotion(name)
        self.env = make_simulator(self.robot).unwrapped
        if not joint_limits:
            self.env.model.jnt_limited[:] = 0
        generator = np.random.default_rng(0)
        self.visited = []
        for episode in range(4):
            self.env.reset(seed=episode)
            for _ in range(25):
                motors = generator.uniform(-1, 1, self.env.model.nu) * self.env.action_space.high
                self.visited.append((self.env.data.qpos.copy(), self.env.data.qvel.copy(), motors))
                self.env.do_simulation(motors, self.env.frame_skip)

    def step(self, position, velocity, motors):
        """States before and after, and whether anything touched."""
        self.env.set_state(position, velocity)
        self.env.data.qacc_warmstart[:] = 0
        before = self.robot.read_state(self.env._get_obs().copy())
        touched = self.env.data.ncon > 0
        self.env.do_simulation(motors, self.env.frame_skip)
        return before, self.robot.read_state(self.env._get_obs().copy()), touched or self.env.data.ncon > 0

    def violations(self, motion: Motion, element: Element) -> tuple[np.ndarray, np.ndarray]:
        """Of every visited state, and whether it touched something."""
        state, action = self.robot.state.matrix(element), self.robot.action.matrix(element)
        order = self.robot.action_order
        found, touching = [], []
        for position, velocity, motors in self.visited:
            before, after, touched = self.step(position, velocity, motors)
            moved = motion(position, velocity, motors)
            moved_before, moved_after, _ = self.step(*moved)
            np.testing.assert_allclose(moved_before, state @ before, atol=1e-12)
            np.testing.assert_allclose(order.apply(moved[2]), action @ order.apply(motors), atol=1e-12)
            change, moved_change = state @ (after - before), moved_after - moved_before
            sizes = np.linalg.norm(change) + np.linalg.norm(moved_change)
            found.append(np.linalg.norm(change - moved_change) / sizes)
            touching.append(touched)
        return np.array(found), np.array(touching)


@pytest.mark.parametrize(
    ("name", "motion"), [("walker2d", walker_legs), ("swimmer", swimmer_left_to_right), ("ant", ant_legs)]
)
def test_exact_symmetries_of_the_simulator(name, motion):
    violations, _ = Simulator(name).violations(motion, FIRST)
    assert violations.max() < 1e-10


def test_a_humanoid_in_the_air_can_be_turned_exactly():
    simulator = Simulator("humanoid")
    for position, _, _ in simulator.visited:
        position[2] += 2.0
    violations, touching = simulator.violations(humanoid_turned, turn_of(simulator.robot))
    assert touching.mean() < 0.2  # limbs that touch each other
    assert violations[~touching].max() < 1e-10


def test_a_humanoid_on_the_ground_can_be_turned_approximately():
    """MuJoCo's pyramids of friction have directions in the world."""
    violations, touching = (simulator := Simulator("humanoid")).violations(humanoid_turned, turn_of(simulator.robot))
    assert 1e-8 < violations[touching].max() < 0.2
    assert np.median(violations) < 1e-3


def test_the_joints_of_the_swimmer_change_places_approximately():
    violations, _ = Simulator("swimmer").violations(swimmer_joints, SECOND)
    assert 0.1 < np.median(violations) < 0.6


@pytest.mark.parametrize(("name", "joints", "limited", "free"), [("hopper", 3, 0.4, 0.25), ("halfcheetah", 6, 0.05, 0.25)])
def test_reflections_front_to_back_are_approximate(name, joints, limited, free):
    """The hopper's thigh and leg bend one way only, so most reflected states are beyond a limit; without limits what is left
    is a foot that points forwards."""
    motion = reflected_in_the_plane(joints)
    violations, _ = Simulator(name).violations(motion, FIRST)
    assert np.median(violations) > limited
    unlimited, _ = Simulator(name, joint_limits=False).violations(motion, FIRST)
    assert 1e-3 < np.median(unlimited) < free


def test_the_printed_state_of_the_ant_is_no_symmetry():
    """R^5 + 2 V + R^6 + 2 V: legs move on by one, quaternion and velocities stay."""
    simulator = Simulator("ant")

    def legs_alone(position, velocity, motors):
        moved = ant_legs(position, velocity, motors)
        moved[0][:7], moved[1][:6] = position[:7], velocity[:6]
        return moved

    found = []
    for position, velocity, motors in simulator.visited:
        before, after, _ = simulator.step(position, velocity, motors)
        moved_before, moved_after, _ = simulator.step(*legs_alone(position, velocity, motors))
        change, moved_change = (after - before)[18:21], (moved_after - moved_before)[18:21]  # of the velocity in the world
        found.append(np.linalg.norm(change - moved_change) / (np.linalg.norm(change) + np.linalg.norm(moved_change)))
    assert np.median(found) > 0.3


def test_the_printed_orientation_of_the_humanoid_is_not_what_turning_does():
    """V (x) V is Q R Q^T; the simulator has Q R."""
    turn = rotation_matrix(about_the_vertical(ANGLE))
    quaternion = np.random.default_rng(0).standard_normal(4)
    before, after = rotation_matrix(quaternion), rotation_matrix(quaternion_product(about_the_vertical(ANGLE), quaternion))
    np.testing.assert_allclose(after, turn @ before, atol=1e-12)
    assert np.abs(after - turn @ before @ turn.T).max() > 0.1


@pytest.mark.parametrize("name", ["hopper", "ant"])
def test_an_environment_in_symmetric_coordinates_is_the_same_simulator(name):
    robot = locomotion(name)
    raw, ours = make_simulator(robot), make_symmetric(robot)
    observation, state = raw.reset(seed=3)[0], ours.reset(seed=3)[0]
    np.testing.assert_allclose(state, robot.read_state(observation), rtol=1e-5, atol=1e-6)
    action = np.random.default_rng(0).uniform(-1, 1, robot.action.size).astype(np.float32)
    first, second = raw.step(action), ours.step(robot.action_order.apply(action))
    np.testing.assert_allclose(second[0], robot.read_state(first[0]), rtol=1e-5, atol=1e-6)
    assert second[1] == pytest.approx(first[1])
    assert ours.observation_space.shape == (robot.state.size,)
    assert ours.observation_space.contains(second[0])

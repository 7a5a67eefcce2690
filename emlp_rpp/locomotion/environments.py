"""States and actions of the MuJoCo robots as representations of their symmetry groups (thesis, Tables 3.2 and A.10).

    robot        group          state                                                         action
    hopper       Z_2            R + 5 P + R + 4 P                                             3 P
    swimmer      Z_2 x Z_2'     P + P*V' + R + 2 P + P*V'                                     P*V'
    halfcheetah  Z_2            R + 8 P + R + 7 P                                             6 P
    walker2d     Z_2            2 R + 3 V + 3 R + 3 V                                         3 V
    ant          Z_4            R + 3 U + 2 V + 3 R + U + 2 V                                 2 V
    humanoid     SO(2)          R + 3 V + 17 R + 2 V + 17 R                                   17 R

R scalar, P sign of the permutation, V the group's own space (permuted coordinates, vectors of space for SO(2)); a dash marks
the second factor of a product; U is space with Z_4 as quarter turns about the vertical axis.

What the generators do: hopper and halfcheetah are reflected front to back; the swimmer is reflected left to right (Z_2) and
the joints of its head and tail change places (Z_2'); so do the walker's legs; the ant's legs move on by one while its body
turns back, so that nothing moves in the world; the humanoid turns about the vertical.

# Paper: Table A.10 differs where the simulator refutes it (tests/emlp_rpp/locomotion/test_symmetries.py, docs/rpp_rl.md):
# - swimmer: the printed state has 10 coordinates, 8 are observed; this is the printed action on those;
# - ant: printed R^5 for height and quaternion and R^6 for velocities, but what turns the legs turns the body's axes;
# - humanoid: printed V (x) V for its orientation; turning the world multiplies the matrix from one side only, which is 3 V.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

from emlp_rpp.groups import SO, DirectProduct, Element, Embedded, Group, Z
from emlp_rpp.locomotion.converters import Array, SignedOrder, rotation_matrix
from emlp_rpp.representations import Atom, PseudoScalar, Representation, Scalar, V
from symlab.errors import ConfigError

Name = Literal["hopper", "swimmer", "halfcheetah", "walker2d", "ant", "humanoid"]

_FULL_WIDTH = 256  # channels for which the numbers of hidden tensors are given


@dataclass(frozen=True)
class Locomotion:
    """``identifier`` and ``options`` make the simulator; ``read`` turns its observations into states; ``action_order`` its
    actions into ours. ``spread`` is how standard deviations of actions transform: as actions, without signs. ``elements``
    are all of the group but the identity, or some of a continuous one. ``hidden_vectors`` and ``hidden_matrices`` are the
    tensors of rank 1 and 2 in a hidden layer of 256 channels, the rest scalars."""

    name: str
    identifier: str
    observation_size: int
    state: Representation
    action: Representation
    spread: Representation
    read: Callable[[Array], Array]
    action_order: SignedOrder
    elements: tuple[Element, ...]
    printed_state: str
    hidden_vectors: int
    hidden_matrices: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def group(self) -> Group:
        return self.state.group

    def hidden(self, channels: int) -> Representation:
        """A hidden layer of that size; with 256 channels the one of the released agents."""
        vector = Representation.vector(self.group)
        copies = [channels * count // _FULL_WIDTH for count in (self.hidden_vectors, self.hidden_matrices)]
        tensors = copies[0] * vector + copies[1] * vector**2
        if channels < 1:
            raise ConfigError(f"channels={channels} does not fit: at least 1 is needed")
        return (channels - tensors.size) * Representation.scalar(self.group) + tensors

    def read_state(self, observations: Array) -> Array:
        """(..., observation_size) -> (..., state.size)."""
        if observations.shape[-1:] != (self.observation_size,):
            raise ConfigError(
                f"observations of shape {observations.shape} do not fit: {self.identifier} observes "
                f"{self.observation_size} numbers"
            )
        return self.read(observations)


def _unchanged(size: int) -> SignedOrder:
    return SignedOrder.of(range(size))


def _powers(order: int) -> tuple[Element, ...]:
    """h, h^2, ..., h^(order - 1)."""
    return tuple(Element(((0, 1),) * power) for power in range(1, order))


@cache
def hopper() -> Locomotion:
    """Observed: z, pitch, 3 joints, velocity along x | velocity along z | 4 angular velocities."""
    state = (Scalar + 5 * PseudoScalar + Scalar + 4 * PseudoScalar)(Z(2))
    return Locomotion(
        name="hopper",
        identifier="Hopper-v5",
        observation_size=11,
        state=state,
        action=(3 * PseudoScalar)(Z(2)),
        spread=(3 * Scalar)(Z(2)),
        read=_unchanged(11).apply,
        action_order=_unchanged(3),
        elements=_powers(2),
        printed_state="R + 5 P + R + 4 P",
        hidden_vectors=55,
        hidden_matrices=5,
    )


@cache
def halfcheetah() -> Locomotion:
    """Observed: z, pitch, 6 joints, velocity along x | velocity along z | 7 angular velocities."""
    state = (Scalar + 8 * PseudoScalar + Scalar + 7 * PseudoScalar)(Z(2))
    return Locomotion(
        name="halfcheetah",
        identifier="HalfCheetah-v5",
        observation_size=17,
        state=state,
        action=(6 * PseudoScalar)(Z(2)),
        spread=(6 * Scalar)(Z(2)),
        read=_unchanged(17).apply,
        action_order=_unchanged(6),
        elements=_powers(2),
        printed_state="R + 8 P + R + 7 P",
        hidden_vectors=55,
        hidden_matrices=5,
    )


@cache
def swimmer() -> Locomotion:
    """Observed: heading | 2 joints | velocities along x | y | of the heading | of 2 joints.

    Left to right (Z_2): y, heading and joints change sign, exactly. Head to tail (Z_2'): the joints change places. The
    heading is that of the first link and the velocity that of a point fixed to it, so this symmetry is far from exact.
    """
    group = DirectProduct(Z(2), Z(2))
    unmoved, reflected = Representation.scalar(group), PseudoScalar(Z(2)).lift(group, 0)
    places = V(Z(2)).lift(group, 1)
    joints = reflected * places
    return Locomotion(
        name="swimmer",
        identifier="Swimmer-v5",
        observation_size=8,
        state=reflected + joints + unmoved + 2 * reflected + joints,
        action=joints,
        spread=places,
        read=_unchanged(8).apply,
        action_order=_unchanged(2),
        elements=(Element(((0, 1),)), Element(((1, 1),)), Element(((0, 1), (1, 1)))),
        printed_state="R + P + P*V' + 2 (R + P) + P*V'",
        hidden_vectors=30,
    )


@cache
def walker2d() -> Locomotion:
    """Observed: z, pitch, 3 joints of the right leg, 3 of the left, 2 velocities, 7 angular velocities."""
    pairs = [0, 3, 1, 4, 2, 5]
    order = [0, 1, *(2 + at for at in pairs), 8, 9, 10, *(11 + at for at in pairs)]
    return Locomotion(
        name="walker2d",
        identifier="Walker2d-v5",
        observation_size=17,
        state=(2 * Scalar + 3 * V + 3 * Scalar + 3 * V)(Z(2)),
        action=(3 * V)(Z(2)),
        spread=(3 * V)(Z(2)),
        read=SignedOrder.of(order).apply,
        action_order=SignedOrder.of(pairs),
        elements=_powers(2),
        printed_state="2 R + 3 V + 3 R + 3 V",
        hidden_vectors=60,
    )


# Legs 1 to 4 counterclockwise. The ankles of legs 2 and 3 are hinged the other way round: bent outwards is negative.
_ANT_JOINTS = SignedOrder.of([0, 2, 4, 6, 1, 3, 5, 7], negative=[3, 5])
_ANT_MOTORS = SignedOrder.of([2, 4, 6, 0, 3, 5, 7, 1], negative=[5, 7])


def read_ant(observations: Array) -> Array:
    """z, quaternion, 8 joints, velocity in the world, angular velocity in the body, 8 joint velocities
    -> z, rows of the rotation matrix, hips, ankles, the velocities, those of hips, of ankles: (..., 27) -> (..., 32)."""
    z, quaternion, joints, velocities, joint_velocities = np.split(observations, [1, 5, 13, 19], axis=-1)
    rows = rotation_matrix(quaternion).reshape(*observations.shape[:-1], 9)
    parts = [z, rows, _ANT_JOINTS.apply(joints), velocities, _ANT_JOINTS.apply(joint_velocities)]
    return np.concatenate(parts, axis=-1)


@cache
def ant() -> Locomotion:
    group = Z(4)
    quarter_turn = np.array([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    axes = Representation(group, [(1, (Atom("U", group, quarter_turn, np.zeros((0, 3, 3))),))])
    scalar, legs = Representation.scalar(group), Representation.vector(group)
    return Locomotion(
        name="ant",
        identifier="Ant-v5",
        observation_size=27,
        state=scalar + 3 * axes + 2 * legs + 3 * scalar + axes + 2 * legs,
        action=2 * legs,
        spread=2 * legs,
        read=read_ant,
        action_order=_ANT_MOTORS,
        elements=_powers(4),
        printed_state="5 R + 2 V + 6 R + 2 V",
        hidden_vectors=30,
        options={"include_cfrc_ext_in_observation": False},
    )


def read_humanoid(observations: Array) -> Array:
    """z, quaternion, 17 joints, velocity in the world, angular velocity in the body, 17 joint velocities
    -> z, the body's axes in the world, joints, both velocities in the world, joint velocities: (..., 45) -> (..., 50)."""
    z, quaternion, joints, velocity, turning, rest = np.split(observations, [1, 5, 22, 25, 28], axis=-1)
    matrix = rotation_matrix(quaternion)
    axes = matrix.swapaxes(-1, -2).reshape(*observations.shape[:-1], 9)
    turning_in_world = (matrix @ turning[..., None])[..., 0]
    return np.concatenate([z, axes, joints, velocity, turning_in_world, rest], axis=-1)


@cache
def humanoid() -> Locomotion:
    group = Embedded(SO(2), 1)
    turns = tuple(Element(((angle,),)) for angle in (0.5, 1.0, 2.0, 3.0))
    observed = ("cinert", "cvel", "qfrc_actuator", "cfrc_ext")
    return Locomotion(
        name="humanoid",
        identifier="Humanoid-v5",
        observation_size=45,
        state=(Scalar + 3 * V + 17 * Scalar + 2 * V + 17 * Scalar)(group),
        action=(17 * Scalar)(group),
        spread=(17 * Scalar)(group),
        read=read_humanoid,
        action_order=_unchanged(17),
        elements=turns,
        printed_state="R + V*V + 17 R + 2 V + 17 R",
        hidden_vectors=32,
        hidden_matrices=3,
        options={f"include_{name}_in_observation": False for name in observed},
    )


ENVIRONMENTS: Mapping[str, Callable[[], Locomotion]] = {
    "hopper": hopper,
    "swimmer": swimmer,
    "halfcheetah": halfcheetah,
    "walker2d": walker2d,
    "ant": ant,
    "humanoid": humanoid,
}


def locomotion(name: str) -> Locomotion:
    if name not in ENVIRONMENTS:
        raise ConfigError(f"environment={name!r} does not fit: give one of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]()

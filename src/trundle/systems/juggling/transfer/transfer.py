"""Transfer: an object on a hand goes from a start to a goal, within what the hand can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice, integer, number, positive
from trundle.errors import InputError
from trundle.models.hand_freedoms import hand_freedoms
from trundle.models.rigid_body import Hand
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.system import Start
from trundle.parameters import NonNegative, Positive, PositiveFraction, Range, check_parameters, parameter
from trundle.systems.juggling.arm.arm import Arm

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Rolled = Literal["nearest", "counter-clockwise", "clockwise"]


@dataclass(frozen=True)
class Goal:
    """Where the object should be at the end, and the hand.

    Parameters
    ----------
    contact_on_hand : (d,) m, optional
        Hand frame. In the plane, rolling ties it to the angle: one of the two is enough.
    object_quaternion : (w, x, y, z), optional
        World from body; space.
    object_angle : rad, optional
        Of the object in the world; plane. Whole turns count.
    hand_position : (d,) m, "start" or "free"
        World.
    hand_rpy : (3,) rad, "start" or "free"
        Space.
    hand_angle : rad, "start" or "free"
        Plane; whole turns count.
    rolled : "nearest", "counter-clockwise" or "clockwise"
        Plane: which way round the object rolls to the contact, where its angle does not say.
    relative_angular_velocity : (k,) rad/s, optional
        Of the object relative to the hand at the end, hand axes. Left out: rest, or free at a release.
    hand_at_rest : bool, optional
        Whether the hand's twist is zero at the end. Left out: it is, except at a release and in a periodic motion.
    release : bool
        Whether the hand lets go at the end: the contact force is zero, and a hand that accelerates away from there
        leaves the object in free flight. The pose may be left out.
    object_velocity, object_angular_velocity : (d,) m/s, (k,) rad/s, optional
        Of the object's frame at a release, world.
    periodic : bool
        Whether the hand's twist and the object's angular velocity relative to it, both in hand axes, are at the end
        what they are at the start. So is the pose if none is given; one that is given says how far a period goes on.

    Examples
    --------
    >>> quarter = [0.7071067811865476, 0.7071067811865476, 0, 0]  # +90 degrees about x
    >>> tr.juggling.Goal(contact_on_hand=[0, -0.033, 0], object_quaternion=quarter).contact_on_hand
    [0, -0.033, 0]
    """

    contact_on_hand: Sequence[float] | None = parameter(None, "m, hand frame, projected on the surface")
    object_quaternion: Sequence[float] | None = parameter(None, "(w, x, y, z), world from body")
    object_angle: float | None = parameter(None, "rad, counter-clockwise; planar objects")
    hand_position: ArrayLike = "start"
    hand_rpy: ArrayLike = "start"
    hand_angle: float | str = "start"
    rolled: Rolled = parameter("nearest", "which way round a planar object rolls, where its angle does not say")
    relative_angular_velocity: ArrayLike | None = parameter(None, "rad/s, object relative to hand, hand axes")
    hand_at_rest: bool | None = parameter(None, "left out: at rest, except at a release and in a period")
    release: bool = parameter(False, "whether the hand lets go at the end: no contact force")
    object_velocity: ArrayLike | None = parameter(None, "m/s, at a release, world")
    object_angular_velocity: ArrayLike | None = parameter(None, "rad/s, at a release, world")
    periodic: bool = parameter(False, "whether velocities, and the pose where none is given, are again the start's")

    def __post_init__(self) -> None:
        for name in ("object_velocity", "object_angular_velocity"):
            if getattr(self, name) is not None and not self.release:
                raise InputError(f"goal.{name}", getattr(self, name), "left out, or with release = true")
        if self.periodic:
            for name in ("release", "hand_at_rest"):
                if getattr(self, name):
                    raise InputError(f"goal.{name}", True, "false where the motion is periodic")
            if self.relative_angular_velocity is not None:
                given = self.relative_angular_velocity
                raise InputError("goal.relative_angular_velocity", given, "left out where the motion is periodic")
        if self.object_quaternion is not None and self.object_angle is not None:
            raise InputError("goal.object_angle", self.object_angle, "left out where object_quaternion is given")
        choice("goal.rolled", self.rolled, ("nearest", "counter-clockwise", "clockwise"))
        for name in ("hand_position", "hand_rpy", "hand_angle"):
            if isinstance(getattr(self, name), str):
                choice(f"goal.{name}", getattr(self, name), ("start", "free"))
        for name in ("object_angle", "hand_angle"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str):
                object.__setattr__(self, name, number(f"goal.{name}", getattr(self, name), unit="rad"))
        if isinstance(self.object_angle, str):
            raise InputError("goal.object_angle", self.object_angle, "a finite number (rad)")

    @property
    def posed(self) -> bool:
        """Whether the object's pose is given at least in part."""
        return not (self.contact_on_hand is None and self.object_quaternion is None and self.object_angle is None)

    @property
    def rests(self) -> bool:
        """Whether the hand is at rest at the end."""
        return not (self.release or self.periodic) if self.hand_at_rest is None else self.hand_at_rest


Tilt = Annotated[float, Range("an angle from 0 to pi (rad)", 0.0, np.pi)]


@dataclass(frozen=True)
class HandLimits:
    """What the hand may do.

    Parameters
    ----------
    freedoms : str or tuple
        Which components of the derivative of the hand's twist are inputs; the others stay zero: see
        `trundle.models.hand_freedoms.hand_freedoms`.
    angular_acceleration, linear_acceleration : rad/s2, m/s2
        Bound of each component.
    angular_velocity, velocity : rad/s, m/s, optional
        Bound of each component of the hand's twist, hand axes.
    tilt : rad, optional
        Largest angle of the hand from its orientation at the start; in space, of its z axis.
    position : (d,) m, optional
        Half the width of the box around the start that the hand's origin stays in.

    Examples
    --------
    >>> tr.juggling.HandLimits(freedoms="rotations", tilt=0.3).tilt
    0.3
    """

    freedoms: str | Sequence[int | str] = parameter("all", "components of the hand's twist that may change")
    angular_acceleration: Positive = parameter(50.0, "rad/s^2, each component")
    linear_acceleration: Positive = parameter(20.0, "m/s^2, each component")
    angular_velocity: Positive | None = parameter(None, "rad/s, each component")
    velocity: Positive | None = parameter(None, "m/s, each component")
    tilt: Tilt | None = parameter(None, "rad, of the hand from its orientation at the start")
    position: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_parameters(self, "hand_limits.")

    def components(self, d: int) -> tuple[int, ...]:
        """Return the numbers of the free components of the twist derivative, ascending."""
        return hand_freedoms(d, self.freedoms, "hand_limits.freedoms")

    def acceleration(self, d: int) -> FloatArray:
        """Return the bound of each component of the twist derivative, angular first."""
        k = {2: 1, 3: 3}[integer("d", d, minimum=2, maximum=3)]
        return np.array([self.angular_acceleration] * k + [self.linear_acceleration] * d)


@dataclass(frozen=True)
class ContactLimits:
    """What the contact must keep.

    Parameters
    ----------
    normal_force : float
        Least normal force as a fraction of the object's weight.
    friction_margin : float
        |f_t| <= friction_margin mu f_n, 0 < margin <= 1; the torsional moment alike.

    Examples
    --------
    >>> tr.juggling.ContactLimits(normal_force=0.1).friction_margin
    0.95
    """

    normal_force: NonNegative = parameter(0.05, "least normal force in a plan, in parts of the weight")
    friction_margin: PositiveFraction = parameter(0.95, "part of the friction cone a plan may use")

    def __post_init__(self) -> None:
        check_parameters(self, "contact_limits.")


@dataclass(frozen=True)
class Weights:
    """What a transfer costs: the mean over time of weighted squares, each over its own scale.

    Parameters
    ----------
    acceleration : float or (n_u,)
        Of the hand's acceleration over its limit.
    contact_speed : float
        Of the contact's speed over the hand, over body size / duration: short ways on the hand.
    hand_rate : float
        Of the hand's twist over body size (linear part) / duration.
    tilt : float
        Of the hand's turn away from the start (rad).
    duration : float
        Of the duration over the mean of its bounds, where it is free: least time.
    joint_acceleration : float
        Of an arm's joint accelerations over their largest rates / duration: what the hand's motion leaves free.

    Examples
    --------
    >>> tr.juggling.Weights(acceleration=1.0, tilt=0.1).tilt
    0.1
    """

    acceleration: ArrayLike = parameter(1.0, "the hand's acceleration over its limit")
    contact_speed: NonNegative = parameter(0.0, "speed of the contact over the hand")
    hand_rate: NonNegative = parameter(0.0, "the hand's twist")
    tilt: NonNegative = parameter(0.0, "turn of the hand away from its start")
    duration: NonNegative = parameter(0.0, "a free duration over the mean of its bounds")
    joint_acceleration: NonNegative = parameter(1e-3, "an arm's joint accelerations over largest rate / duration")

    def __post_init__(self) -> None:
        check_parameters(self, "weights.")


Part = TypeVar("Part", bound="DataclassInstance")


def _make_part(kind: type[Part], key: str, value: Part | Mapping[str, Any]) -> Part:
    """Return `value` as an instance of the dataclass `kind`; a mapping names its fields."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise InputError(key, value, f"a {kind.__name__} or a mapping of its fields")
    names = [f.name for f in fields(kind)]
    for name in value:
        if name not in names:
            raise InputError(f"{key}.{name}", value[name], "left out: there are " + ", ".join(names))
    return kind(**value)


_SHORTEST, _LONGEST = 1e-9, 2000.0  # s: a replay of a million samples


@dataclass(frozen=True, eq=False)
class Transfer:
    """Bring an object on a hand from a start to a goal, rolling all the way.

    Parameters
    ----------
    pair : RollingPair
        An object on a `Hand`, in the coordinates the user likes; planning uses its twin in rolling coordinates.
    start : Start or mapping
        From ``pair.place(...)``, or its keywords.
    goal : Goal or mapping
    duration : s, or (low, high)
        Fixed, or free between bounds.
    hand_limits, contact_limits, weights : or mappings of their fields
    start_velocities : "given" or "free"
        Free: what the hand's twist and the object's rolling are at the start is for the plan to say.
    arm : Arm, optional
        What carries the hand, in space: the ranges, rates and torques of its joints are limits of the plan.

    Raises
    ------
    InputError
        If a value is out of range or a name is not known.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line(), extent=0.4))
    >>> goal = {"contact_on_hand": (0.1, 0.0)}
    >>> task = tr.juggling.Transfer(pair, {}, goal, duration=(0.5, 1.0), hand_limits={"tilt": 0.3})
    >>> task.hand_limits.tilt, task.duration
    (0.3, (0.5, 1.0))
    """

    pair: RollingPair
    start: Start
    goal: Goal
    duration: Any
    hand_limits: HandLimits = field(default_factory=HandLimits)
    contact_limits: ContactLimits = field(default_factory=ContactLimits)
    weights: Weights = field(default_factory=Weights)
    start_velocities: Literal["given", "free"] = parameter("given", "whether the plan may choose those of the start")
    arm: Arm | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.pair, RollingPair) or not isinstance(self.pair.base, Hand):
            raise InputError("pair", self.pair, "a RollingPair of an object on a Hand")
        start = self.start
        if not isinstance(start, Start):
            if not isinstance(start, Mapping):
                raise InputError("start", start, "a Start from pair.place(...), or a mapping of its keywords")
            start = self.pair.place(**start)
        self.pair.system.check_start("start", start)
        array("start", start.x, (self.pair.system.model(start.atlas).x.shape[0],))
        object.__setattr__(self, "start", start)
        for name, kind in (
            ("goal", Goal),
            ("hand_limits", HandLimits),
            ("contact_limits", ContactLimits),
            ("weights", Weights),
        ):
            object.__setattr__(self, name, _make_part(kind, name, getattr(self, name)))
        if np.ndim(self.duration) == 0:
            low = high = positive("duration", self.duration, "s")
        else:
            low, high = array("duration", self.duration, (2,), above=0.0, unit="s")
            if low > high:
                raise InputError("duration", self.duration, "(low, high) with low <= high")
        if not _SHORTEST <= low <= high <= _LONGEST:
            raise InputError("duration", self.duration, f"from {_SHORTEST:g} to {_LONGEST:g} (s)")
        object.__setattr__(self, "duration", (float(low), float(high)))
        self.hand_limits.components(self.pair.d)
        choice("start_velocities", self.start_velocities, ("given", "free"))
        self._check_arm()

    def _check_arm(self) -> None:
        if self.arm is None:
            return
        if not isinstance(self.arm, Arm):
            raise InputError("arm", self.arm, "an Arm, or None")
        if self.pair.d == 2:
            raise InputError("arm", self.arm, "left out in the plane")
        if len(self.hand_limits.components(3)) < 6:
            allowed = "'all' where an arm carries the hand: its joints say how it moves"
            raise InputError("hand_limits.freedoms", self.hand_limits.freedoms, allowed)

    @property
    def d(self) -> int:
        """Dimension, 2 or 3."""
        return self.pair.d

"""The avatar: an anthropomorphic walker of 29 degrees of freedom with the body segments of Dumas et al. 2007."""

from __future__ import annotations

import copy
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TypedDict, cast

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice, positive
from trundle.errors import InputError
from trundle.geometry import Ellipsoid, Shape, Superellipsoid
from trundle.models.brief import brief
from trundle.models.urdf.description import JointDescription, LinkDescription, LinkInertia, RobotDescription, Vector
from trundle.systems.walking.robots.avatar_feet import RATE_LIMIT, TOE, AvatarFoot, Toes, smooth

SEXES = ("male", "female")

_AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Table axes (X anterior, Y superior, Z right) to the avatar's (x forward, y left, z up).
_FROM_TABLE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, repr=False)
class Avatar:
    """The walker: what it was made from, its bodies and joints, and its feet.

    Attributes
    ----------
    sex : str
    mass, height : float, kg, m
        Body mass; stature standing upright (sole to the top of the head).
    robot : RobotDescription
        Base ``pelvis`` with its origin at the joint L5-S1; x forward, y left, z up; zero angles: standing upright.
    foot : AvatarFoot
    right : AvatarFoot, optional
        The right foot, where it is another one than the left.
    toes : Toes, optional
        Of feet of two segments.
    base_height : float, m
        Height of the base's origin above the ground when it stands upright.
    """

    sex: str
    mass: float
    height: float
    robot: RobotDescription
    foot: AvatarFoot
    base_height: float
    right: AvatarFoot | None = None
    toes: Toes | None = None

    def __repr__(self) -> str:
        """Return sex, links and joints in one line."""
        return brief(self, self.sex, links=self.robot.links, joints=self.robot.joints)

    @property
    def feet(self) -> dict[str, AvatarFoot]:
        """What rolls, ``left`` and ``right``, between them the toes; each on the link <name>_foot."""
        toes = {} if self.toes is None else {f"{side}_{TOE}": self.toes.foot for side in ("left", "right")}
        return {"left": self.foot, **toes, "right": self.right or self.foot}

    @property
    def springs(self) -> tuple[dict[str, float], dict[str, float]]:
        """Stiffness (N m/rad) and damping (N m s/rad) of sprung joints, by the links they carry."""
        if self.toes is None:
            return {}, {}
        links = [f"{side}_{TOE}_foot" for side in ("left", "right")]
        return dict.fromkeys(links, self.toes.stiffness), dict.fromkeys(links, self.toes.damping)

    def with_toes(self, toes: Toes) -> Avatar:
        """Return the avatar on feet of two segments: `toes` on hinges, and the feet's soles behind them.

        Raises
        ------
        InputError
            If the toes' mass or inertia is more than the foot's.
        """
        links, joints = {link.name: link for link in self.robot.links}, list(self.robot.joints)
        for side in ("left", "right"):
            links[f"{side}_foot"], toe, joint = toes.split_foot(side, links[f"{side}_foot"])
            links[toe.name] = toe
            joints.append(joint)
        return replace(self, robot=RobotDescription(self.robot.name, tuple(links.values()), tuple(joints)), toes=toes)

    def on_foot(self, sole: Shape, center: ArrayLike, *, right: bool = False) -> Avatar:
        """Return the avatar on another smooth convex sole with its origin at `center` (3,) m in the frame of the ankle.

        It stands as upright; the flat sole for comparison keeps its outline at the new foot's depth below the ankle.
        With `right` the right foot alone is changed.

        Raises
        ------
        InputError
            If the sole is no smooth convex body in space, or its lowest point is not below the ankle.
        """
        smooth("sole", sole)
        at = array("center", center, (3,), unit="m")
        foot = AvatarFoot(sole, at, self.foot.flat)
        if foot.depth <= 0.0:
            allowed = f"a height below {foot.depth + at[2]:g} (m): a foot lowest below the ankle"
            raise InputError("center", at.tolist(), allowed)
        if right:
            return replace(self, right=foot)
        flat = np.column_stack([foot.flat[:, :2], np.full(len(foot.flat), -foot.depth)])
        lifted = self.base_height + foot.depth - self.foot.depth
        return replace(self, foot=replace(foot, flat=flat), base_height=lifted)

    def stretch_sole(self, factors: ArrayLike) -> Avatar:
        """Return the avatar with the rolling sole's semi-axes times `factors` (3,), as deep below the ankle."""
        s = array("factors", factors, (3,), above=0.0)
        sole = self.foot.sole
        if not isinstance(sole, Ellipsoid | Superellipsoid) or getattr(sole, "rounding", 0.0):
            raise InputError("sole", type(sole).__name__, "an ellipsoid, or a superellipsoid without rounding")
        x, y, _ = self.foot.center
        axes = (s * sole.semi_axes).tolist()
        return self.on_foot(replace(sole, semi_axes=axes), [x, y, axes[2] - self.foot.depth])


def build_avatar(
    sex: str = "male",
    mass: float | None = None,
    height: float | None = None,
    scales: Mapping[str, float] | None = None,
) -> Avatar:
    """Return the avatar of the given sex, body mass (kg) and stature (m).

    Every segment of length L and mass fraction f has mass f m / sum(f), its centre of mass at com L and the
    inertia m (r L)^2 about it; all lengths scale with the stature. The fractions of the table sum to .996 (men)
    and .999 (women): they are normalised, so that the avatar has the mass it is given. Segments of the middle are
    averaged with their mirror image, and left limbs mirror the right ones of the table: the avatar is symmetric.

    Joints (23 and a free base): trunk z, x, y at L5-S1; hip x, z, y, knee, ankle y, x; shoulder y, x, z, elbow.
    The head is part of the thorax, the hand of the forearm.

    Parameters
    ----------
    sex : "male" or "female"
    mass : float, optional
        Default: the mean of the sample, 80.5 or 63.9 kg.
    height : float, optional
        Default: the segments of the table as they are, 1.765 or 1.597 m.
    scales : mapping of str to float, optional
        Factors on lengths of segments (thorax, thigh, ...) and ``ankle_height``; the stature follows.

    Raises
    ------
    InputError
        If the sex has no table, there is no such segment, or mass, height or a scale is not positive.

    Notes
    -----
    Dumas, Cheze & Verriest 2007, J. Biomech. 40:543-553, tables 1 and 2. Places of shoulder, ankle and heel,
    torque and rate limits are assumed; ranges of motion: American Academy of Orthopaedic Surgeons 1965. All
    numbers stand in ``dumas2007.toml`` beside this file.

    Examples
    --------
    >>> avatar = tr.walking.build_avatar("female", mass=60.0, height=1.70)
    >>> round(sum(link.inertia.mass for link in avatar.robot.links if link.inertia), 6)  # kg
    60.0
    >>> len(avatar.robot.joints), avatar.robot.links[0].name
    (23, 'pelvis')
    >>> walker = tr.robot_from_urdf(avatar.robot)  # what `simulate` and controllers take
    """
    table = _tables()["male" if choice("sex", sex, SEXES) == "male" else "female"]
    body_mass = positive("mass", table["mass"] if mass is None else mass, "kg")
    scale = 1.0 if height is None else positive("height", height, "m") / _stature(table)
    table = _scale_lengths(table, scales or {})
    segments = _segments(table, body_mass, scale)
    foot = _foot(table, scale)
    links, joints = [LinkDescription("pelvis", segments["pelvis"])], []
    for chain in _chains(table, scale):
        _grow(chain, segments, links, joints)
    robot = RobotDescription(f"avatar_{sex}", tuple(links), tuple(joints))
    lengths = (table["segments"][name]["length"] for name in ("thigh", "shank"))
    base_height = scale * (sum(lengths) - table["places"]["hip"][2] + table["places"]["ankle_height"])
    return Avatar(sex, body_mass, scale * _stature(table), robot, foot, base_height)


@dataclass(frozen=True)
class _Chain:
    """Joints at one place: the link they end at, its parent, the place (parent's frame), the joints' names."""

    side: str
    parent: str
    child: str
    at: FloatArray
    joints: tuple[str, ...]


class _Row(TypedDict):
    """A segment; gyration: xx, yy, zz, xy, xz, yz."""

    length: float
    mass: float
    com: list[float]
    gyration: list[float]


class _Places(TypedDict):
    hip: list[float]
    shoulder: list[float]
    calcaneus: list[float]
    ankle_height: float


class _Table(TypedDict):
    mass: float
    segments: dict[str, _Row]
    places: _Places


class _Motion(TypedDict):
    name: str
    axis: str
    degrees: list[float]
    torque: float


class _Outline(TypedDict):
    length: float
    semi_axes: list[float]
    center: list[float]
    flat_x: list[float]
    flat_y: float


class _Tables(TypedDict):
    """What stands in ``dumas2007.toml``."""

    male: _Table
    female: _Table
    joints: list[_Motion]
    foot: _Outline


@cache
def _tables() -> _Tables:
    text = files("trundle.systems.walking.robots").joinpath("dumas2007.toml").read_text(encoding="utf-8")
    return cast("_Tables", tomllib.loads(text))


def _scale_lengths(table: _Table, scales: Mapping[str, float]) -> _Table:
    """Return a copy with single lengths scaled; shoulders go with the thorax."""
    changed = copy.deepcopy(table)
    places, segments = changed["places"], changed["segments"]
    for name, scale in scales.items():
        factor = positive(f"scales.{name}", scale)
        if choice("scales", name, ("ankle_height", *segments)) == "ankle_height":
            places["ankle_height"] *= factor
        else:
            segments[name]["length"] *= factor
    places["shoulder"][2] *= scales.get("thorax", 1.0)
    return changed


def _stature(table: _Table) -> float:
    """Sole to vertex, m: the segments stacked upright."""
    lengths = (table["segments"][name]["length"] for name in ("head", "thorax", "thigh", "shank"))
    return sum(lengths) - table["places"]["hip"][2] + table["places"]["ankle_height"]


def _inertia(row: _Row, fraction_mass: float, scale: float) -> LinkInertia:
    """A row of the table about its own origin, in the avatar's axes (a right limb)."""
    length = scale * row["length"]
    g = np.sign(row["gyration"]) * (np.array(row["gyration"]) * length) ** 2
    tensor = np.array([[g[0], g[3], g[4]], [g[3], g[1], g[5]], [g[4], g[5], g[2]]])
    mass = fraction_mass * row["mass"]
    turned = mass * _FROM_TABLE @ tensor @ _FROM_TABLE.T
    return LinkInertia(mass, _FROM_TABLE @ np.array(row["com"]) * length, turned)


def _symmetric(inertia: LinkInertia) -> LinkInertia:
    """The mean of a segment and its mirror image: no lateral offset, no products with y."""
    other = inertia.mirror()
    return LinkInertia(inertia.mass, (inertia.com + other.com) / 2, (inertia.tensor + other.tensor) / 2)


def _segments(table: _Table, body_mass: float, scale: float) -> dict[str, LinkInertia]:
    """The avatar's bodies by link name, each in the frame of its link."""
    rows, places = table["segments"], table["places"]
    pairs = ("arm", "forearm", "hand", "thigh", "shank", "foot")
    total = sum(row["mass"] * (2 if name in pairs else 1) for name, row in rows.items())
    raw = {name: _inertia(row, body_mass / total, scale) for name, row in rows.items()}
    up = np.array([0.0, 0.0, scale])
    neck = up * rows["thorax"]["length"]
    trunk = raw["thorax"].shift(neck).plus(raw["head"].shift(neck))
    right = {
        "thigh": raw["thigh"],
        "shank": raw["shank"],
        "foot": raw["foot"].shift(scale * np.array(places["calcaneus"])),
        "arm": raw["arm"],
        "forearm": raw["forearm"].plus(raw["hand"].shift(-up * rows["forearm"]["length"])),
    }
    segments = {"pelvis": _symmetric(raw["pelvis"]), "trunk": _symmetric(trunk)}
    for name, inertia in right.items():
        segments[f"left_{name}"], segments[f"right_{name}"] = inertia.mirror(), inertia
    return segments


def _chains(table: _Table, scale: float) -> list[_Chain]:
    """The joints from the pelvis outwards."""
    rows, places = table["segments"], table["places"]
    chains = [_Chain("", "pelvis", "trunk", np.zeros(3), ("trunk_yaw", "trunk_roll", "trunk_pitch"))]
    limbs = [
        ("pelvis", "thigh", places["hip"], ("hip_roll", "hip_yaw", "hip_pitch")),
        ("thigh", "shank", [0.0, 0.0, -rows["thigh"]["length"]], ("knee",)),
        ("shank", "foot", [0.0, 0.0, -rows["shank"]["length"]], ("ankle_pitch", "ankle_roll")),
        ("trunk", "arm", places["shoulder"], ("shoulder_pitch", "shoulder_roll", "shoulder_yaw")),
        ("arm", "forearm", [0.0, 0.0, -rows["arm"]["length"]], ("elbow",)),
    ]
    for side, sign in (("left_", 1.0), ("right_", -1.0)):
        for parent, child, at, joints in limbs:
            of = parent if parent in ("pelvis", "trunk") else side + parent
            place = scale * np.array(at) * np.array([1.0, sign, 1.0])
            chains.append(_Chain(side, of, side + child, place, joints))
    return chains


def _grow(
    chain: _Chain,
    segments: dict[str, LinkInertia],
    links: list[LinkDescription],
    joints: list[JointDescription],
) -> None:
    """Append the joints of one place; between them stand links without inertia."""
    rows = {row["name"]: row for row in _tables()["joints"]}
    parent, at = chain.parent, chain.at
    for i, name in enumerate(chain.joints):
        last = i == len(chain.joints) - 1
        child = chain.child if last else f"{chain.side}{name}_frame"
        row = rows[name]
        lower, upper = (math.radians(value) for value in row["degrees"])
        if chain.side == "right_" and row["axis"] != "y":
            lower, upper = -upper, -lower
        joints.append(
            JointDescription(
                name=chain.side + name,
                parent=parent,
                child=child,
                at=(float(at[0]), float(at[1]), float(at[2])),
                axis=_AXES[row["axis"]],
                lower=lower,
                upper=upper,
                torque=row["torque"],
                rate=RATE_LIMIT,
            )
        )
        links.append(LinkDescription(child, segments[child] if last else None))
        parent, at = child, np.zeros(3)


def _foot(table: _Table, scale: float) -> AvatarFoot:
    row = _tables()["foot"]
    size = scale * table["segments"]["foot"]["length"] / row["length"]
    axes, center = size * np.array(row["semi_axes"]), size * np.array(row["center"])
    # The table's ankle height is rounded: the ellipsoid ends exactly at the sole.
    center[2] = axes[2] - scale * table["places"]["ankle_height"]
    wide = size * row["flat_y"]
    flat: list[tuple[float, float, float]] = []
    for x in row["flat_x"]:
        flat += [(size * x, y, -scale * table["places"]["ankle_height"]) for y in (wide, -wide)]
    return AvatarFoot(Ellipsoid(axes.tolist()), array("center", center, (3,)), array("flat", flat, (4, 3)))

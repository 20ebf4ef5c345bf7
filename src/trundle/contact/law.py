"""Law: what a contact law is, its rows and forces, and the coefficients it reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import Annotated, NamedTuple

import casadi as ca

from trundle.contact.contact import Kinematics
from trundle.numerics.space import dot
from trundle.parameters import Checked, NonNegative, Positive, Range, parameter
from trundle.status import Status

_ZERO = 1e-30
"""Square of a rate without a direction."""


class Ending(Enum):
    """What ends a law: each margin of a law is of one kind, and simulations know what follows each kind."""

    SEPARATES = auto()
    SLIPS = auto()
    STICKS = auto()
    SPINS = auto()
    STOPS_SPINNING = auto()
    ROLLS = auto()
    STOPS_ROLLING = auto()
    LANDS = auto()
    OVERLAPS = auto()
    TOUCHES_BLUNTLY = auto()
    LOCKS = auto()
    IS_NO_POINT = auto()
    LEAVES_CHART = auto()
    LEAVES_FEATURE = auto()
    LEAVES_DATA = auto()
    LEAVES_HAND = auto()


@dataclass(frozen=True)
class Rows:
    """Rows of a contact: (LA J_A - LB J_B) nudot + b = 0, pushed along GA' and -GB' by the multipliers.

    J = [Jw; Jv] of each body's motion; b holds what the bodies' accelerations are without nudot.

    Attributes
    ----------
    LA, LB : (m, k + d)
        Act on the twists (angular first) of A and B and on their rates.
    b : (m,)
        Value at nudot = 0.
    velocity : (m,)
        The same rows one derivative lower: zero while the law holds.
    position : (m,)
        Two derivatives lower where that exists (a gap), else 0: what stabilisation may remove.
    GA, GB : (m, k + d), or None
        Directions of the push where they are not the constrained ones (sliding with friction).
    applied : (k + d,) N m, N, or None
        Moment and force on A at its contact point, and their opposite on B, that the state alone gives.
    stored : scalar J, or None
        Energy that the applied force gives back.
    """

    LA: ca.SX
    LB: ca.SX
    b: ca.SX
    velocity: ca.SX
    position: ca.SX
    GA: ca.SX | None = None
    GB: ca.SX | None = None
    applied: ca.SX | None = None
    stored: ca.SX | None = None


class Cone(NamedTuple):
    """What multipliers may be: ``load >= |across|``, both affine in them.

    Attributes
    ----------
    load : scalar
    across : (q,)
        Without entries: ``load >= 0``.
    """

    load: ca.SX
    across: ca.SX

    @property
    def margin(self) -> ca.SX:
        """How far inside its cone the load is."""
        return self.load - ca.norm_2(self.across) if self.across.shape[0] else self.load


def no_rows(k: Kinematics, applied: ca.SX | None = None, stored: ca.SX | None = None) -> Rows:
    """Return no rows: nothing, or the force `applied` alone."""
    m = k.LA.shape[1]
    return Rows(ca.SX(0, m), ca.SX(0, m), *(ca.SX(0, 1) for _ in range(3)), applied=applied, stored=stored)


Lever = Annotated[float, Range("a number from 0 to 1e12", minimum=0.0, unit="m")]


@dataclass(frozen=True)
class Friction(Checked):
    """Coefficients of a contact: bounds of its forces and moments, with the load N = f_n + adhesion.

        f_n >= -adhesion,  |f_t| <= mu N,  |m_t| <= rolling N,  |m_n| <= torsional N or drilling N.

    A rate that is not zero is resisted by the whole bound and the viscous part. ``torsional`` bounds the moment of
    pure rolling alone; a spin goes on without one unless ``drilling`` > 0, which is the bound where `torsional` is 0.

    Parameters
    ----------
    mu : float
        Coulomb coefficient, no unit.
    torsional : float, m
        Torsional coefficient; 0 leaves the moment of pure rolling unbounded (it is reported).
    rolling, drilling : float, m
        Coefficients of the moments against rolling (tangential, m_t) and against a spin about the normal (m_n).
    rolling_viscous, drilling_viscous : float, N m s
        Moments per rate of rolling and of spin.
    adhesion : float, N
        Pull that the contact can bear.
    stiffness : float, N/m^1.5
        Of the law ``"hunt-crossley"``.
    dissipation : float, s/m
        Of the same law.

    Examples
    --------
    >>> import trundle as tr
    >>> ball, ground = tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane())
    >>> pair = tr.RollingPair(ball, ground, on_slip="slide", rolling_friction=1e-3)  # m
    >>> run = tr.simulate(pair, pair.place(object_angular_velocity=(0.0, 1.0, 0.0)), duration=2.0)
    >>> round(float(run["object_position"][-1, 0]), 4)  # v^2/(2 a), a = (c/R) g/1.4
    0.0714
    """

    mu: NonNegative = parameter(1.0, "coefficient, tangential over normal force")
    torsional: Lever = parameter(0.0, "m, moment about the normal over normal force")
    rolling: Lever = parameter(0.0, "m, moment against rolling over normal force")
    drilling: Lever = parameter(0.0, "m, moment against a spin about the normal over normal force")
    rolling_viscous: NonNegative = parameter(0.0, "N m s, moment against rolling over its rate")
    drilling_viscous: NonNegative = parameter(0.0, "N m s, moment against a spin over its rate")
    adhesion: NonNegative = parameter(0.0, "N, pull that the contact can bear")
    stiffness: Positive = parameter(1e6, "N/m^1.5, of the law hunt-crossley")
    dissipation: NonNegative = parameter(0.1, "s/m, of the law hunt-crossley: restitution is about 1 - dissipation v")

    @property
    def frictionless(self) -> bool:
        """Whether nothing resists a slip: a coefficient of zero, and none that stands for a number yet to come."""
        return isinstance(self.mu, int | float) and self.mu == 0.0

    @property
    def spin_bound(self) -> float:
        """Bound (m) of the moment that holds a spin at zero; 0: unbounded."""
        return self.torsional or self.drilling

    @property
    def dissipates(self) -> bool:
        """Whether a contact that rolls loses energy."""
        return max(self.rolling, self.drilling, self.rolling_viscous, self.drilling_viscous) > 0


class Law(ABC):
    """A contact law.

    Contract for a subclass:

    1. ``rows(k)`` returns the `Rows` for the kinematics k.
    2. ``wrench(k, lam)`` returns (force on A (d,), torsional moment on A about n) of the multipliers and of what
       the rows apply.
    3. ``margins(k, lam, friction)`` returns named scalars that are positive inside the law and cross
       zero, from above and with a slope, where it ends.

    4. ``cones(k, lam, friction)``, where contacts may share what they push, returns the margins of forces as cones.

    Rows may be none, with a force alone (``Rows.applied``): then the law is known by what the state says of the touch.

    ``name`` is what files print; ``slipping`` tells the kinematics to count the slip in the motion of
    the contact points; ``touching`` is False where the bodies are apart; ``distant`` laws act at any gap, also a
    negative one, and the contact points are then the nearest ones. ``rolls``: the friction cone bounds what keeps the
    material points together; ``holds_spin`` and ``holds_rolling`` say which relative rotation the rows forbid. A law
    of your own is known by its name after `register`. ``endings`` says what a margin means to a simulation: an
    `Ending`, or the status with which the run ends; ``normal_force``, ``curvature`` and ``roundness`` end every law
    as they end rolling.

    Examples
    --------
    >>> import casadi as ca
    >>> from trundle.contact.laws import Law, Rows
    >>> class Greased(Law):  # no friction: one row along the normal
    ...     name, slipping = "greased", True
    ...
    ...     def rows(self, k, friction):
    ...         b, v = ca.dot(k.n, k.bias) + ca.dot(k.ndot, k.vrel), ca.dot(k.n, k.vrel)
    ...         return Rows(k.n.T @ k.LA, k.n.T @ k.LB, b, v, ca.dot(k.n, k.gap))
    ...
    ...     def wrench(self, k, lam, friction):
    ...         return k.n * lam, ca.SX(1, 1)
    ...
    ...     def margins(self, k, lam, friction):
    ...         return {"normal_force": lam}
    >>> Greased().touching
    True
    """

    name: str
    slipping: bool = False
    touching: bool = True
    distant: bool = False
    rolls: bool = False
    holds_spin: bool = False
    holds_rolling: bool = False
    endings: Mapping[str, Ending | Status] = MappingProxyType({"friction": Status.SLIPPED, "torsion": Status.SPUN})

    def ending(self, margin: str) -> Ending | Status:
        """Return what the margin `margin` of this law means."""
        family = margin.split("_")[0] if margin.startswith(("chart", "data", "extent")) else margin
        return COMMON_ENDINGS.get(family) or self.endings.get(family, Status.SLIPPED)

    @abstractmethod
    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return the rows of this law."""

    @abstractmethod
    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force (d,) N and the moment about n, N m, on A of the multipliers `lam` (m,)."""

    @abstractmethod
    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return the named margins of this law."""

    def cones(self, k: Kinematics, lam: ca.SX, friction: Friction) -> Mapping[str, Cone]:
        """Return the margins that bound multipliers, as cones; none: contacts that depend on it share nothing."""
        return {}


COMMON_ENDINGS: Mapping[str, Ending] = MappingProxyType(
    {
        "normal_force": Ending.SEPARATES,
        "curvature": Ending.LOCKS,
        "roundness": Ending.IS_NO_POINT,
        "chart": Ending.LEAVES_CHART,
        "feature": Ending.LEAVES_FEATURE,
        "within": Ending.LEAVES_FEATURE,
        "data": Ending.LEAVES_DATA,
        "extent": Ending.LEAVES_HAND,
    }
)
"""Of margins that every law has: how far the contact is from being none or another one."""


def normal_and_tangential(k: Kinematics, force: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return f_n = n'f and |f_t| of a force (d,)."""
    tangential = k.T.T @ force
    return dot(k.n, force), ca.norm_2(tangential)


def relative_turning(k: Kinematics) -> tuple[ca.SX, ca.SX]:
    """Return the tangential part (k,) of wrel, rolling, and the spin n'wrel; in the plane wrel and 0."""
    if k.wrel.shape[0] == 1:
        return k.wrel, ca.SX(1, 1)
    spin = dot(k.n, k.wrel)
    return k.wrel - k.n * spin, spin


def load_moment(k: Kinematics, friction: Friction, law: Law, smooth: float, onset: ca.SX | None = None) -> ca.SX | None:
    """Return the moment (k,) on A per load against the turning that `law` leaves free, m; None: there is none.

        -rolling w_t/|w_t| - drilling n w_n/|w_n|

    Parameters
    ----------
    smooth : float, rad/s
        Without `onset` w/|w| is w/sqrt(w^2 + smooth^2).
    onset : (k,), optional
        What stands for w/|w| while rates are zero, tangential and along n: unit vectors of what starts, less than that
        of a turning that other contacts hold, too. With it w/|w| is (w + smooth onset)/max(|w + smooth onset|, smooth).
    """
    turning, spin = relative_turning(k)
    rolling = 0.0 if law.holds_rolling else friction.rolling
    drilling = 0.0 if law.holds_spin or k.wrel.shape[0] == 1 else friction.drilling
    if not rolling and not drilling:
        return None
    if onset is None:
        t, s = turning / ca.sqrt(ca.sumsqr(turning) + smooth**2), spin / ca.sqrt(spin**2 + smooth**2)
    else:
        along = dot(k.n, onset) if drilling else ca.SX(1, 1)
        across = onset if k.wrel.shape[0] == 1 else onset - k.n * dot(k.n, onset)
        turning, spin = turning + smooth * across, spin + smooth * along
        t = turning / ca.fmax(ca.sqrt(ca.sumsqr(turning) + _ZERO), smooth)
        s = spin / ca.fmax(ca.fabs(spin), smooth)
    against = [-rolling * t] * bool(rolling) + [-drilling * s * k.n] * bool(drilling)
    return sum(against[1:], against[0])


def viscous_moment(k: Kinematics, friction: Friction) -> ca.SX | None:
    """Return the moment (k,) on A of the viscous parts, N m; None: there is none."""
    if not friction.rolling_viscous and not friction.drilling_viscous:
        return None
    turning, spin = relative_turning(k)
    moment = -friction.rolling_viscous * turning
    return moment if k.wrel.shape[0] == 1 else moment - friction.drilling_viscous * spin * k.n

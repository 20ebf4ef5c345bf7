"""Laws: what a touch forbids and what it can push. A mode is a tuple of laws, one a contact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import casadi as ca

from trundle.contact.contact import Kinematics
from trundle.errors import InputError
from trundle.numerics.space import about, dot
from trundle.status import Status

SLIP_END = "slip_end"
"""Name of the margin that ends a slip which integration errors keep from crossing zero."""

ARMED = 1e-9
"""Value over which a margin that waits to be armed is armed."""

_CLEARLY = 20.0


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
    """

    LA: ca.SX
    LB: ca.SX
    b: ca.SX
    velocity: ca.SX
    position: ca.SX
    GA: ca.SX | None = None
    GB: ca.SX | None = None


@dataclass(frozen=True)
class Friction:
    """Bounds of a contact: |f_t| <= mu f_n and, where `torsional` > 0, |moment| <= torsional f_n.

    Parameters
    ----------
    mu : float
        Coulomb coefficient, no unit.
    torsional : float, m
        Torsional coefficient; 0 leaves the moment of pure rolling unbounded (it is reported).
    """

    mu: float = 1.0
    torsional: float = 0.0


class Law(ABC):
    """A contact law.

    Contract for a subclass:

    1. ``rows(k)`` returns the `Rows` for the kinematics k.
    2. ``wrench(k, lam)`` returns (force on A (d,), torsional moment on A about n) of the multipliers.
    3. ``margins(k, lam, friction)`` returns named scalars that are positive inside the law and cross
       zero, from above and with a slope, where it ends.

    ``name`` is what files print; ``slipping`` tells the kinematics to count the slip in the motion of
    the contact points; ``touching`` is False where the bodies are apart. A law of your own is known by its name after
    `register`; in simulations its margins ``normal_force``, ``curvature`` and ``roundness`` end it as they end
    rolling, any other ends the run with the status that ``endings`` gives it.

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
    endings: Mapping[str, Status] = MappingProxyType({"friction": Status.SLIPPED, "torsion": Status.SPUN})

    @abstractmethod
    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return the rows of this law."""

    @abstractmethod
    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force (d,) N and the moment about n, N m, on A of the multipliers `lam` (m,)."""

    @abstractmethod
    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return the named margins of this law."""


def normal_and_tangential(k: Kinematics, force: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return f_n = n'f and |f_t| of a force (d,)."""
    tangential = k.T.T @ force
    return dot(k.n, force), ca.norm_2(tangential)


@dataclass(frozen=True)
class Rolling(Law):
    """Rolling: the material points do not slip; spinning about the normal is free. d rows."""

    name = "rolling"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return vrel' = 0 (theory, "What rolling forbids")."""
        return Rows(k.LA, k.LB, k.bias, k.vrel, k.gap)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the multipliers themselves; no moment."""
        return lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n and mu f_n - |f_t|."""
        f_n, f_t = normal_and_tangential(k, lam)
        return {"normal_force": f_n, "friction": friction.mu * f_n - f_t}


@dataclass(frozen=True)
class PureRolling(Law):
    """Rolling without spin about the normal; in the plane the same as `Rolling`. d + 1 rows in space."""

    name = "pure-rolling"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return vrel' = 0 and (n.wrel)' = n.alrel + n'.wrel = 0 (theory, "What rolling forbids")."""
        axis = about(k.n).T
        if axis.shape[0] == 0 or axis.shape[1] == 0:
            return Rows(k.LA, k.LB, k.bias, k.vrel, k.gap)
        spin_row = ca.horzcat(axis, ca.SX(1, 3))
        spin_bias = dot(k.n, k.alrel) + dot(k.ndot, k.wrel)
        return Rows(
            LA=ca.vertcat(k.LA, spin_row),
            LB=ca.vertcat(k.LB, spin_row),
            b=ca.vertcat(k.bias, spin_bias),
            velocity=ca.vertcat(k.vrel, dot(k.n, k.wrel)),
            position=ca.vertcat(k.gap, 0),
        )

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force lam[:d] and the torsional moment lam[d]."""
        d = k.n.shape[0]
        return lam[:d], (lam[d] if lam.shape[0] > d else ca.SX(1, 1))

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n, mu f_n - |f_t| and, with a torsional bound, torsional f_n - |moment|."""
        force, moment = self.wrench(k, lam, friction)
        f_n, f_t = normal_and_tangential(k, force)
        margins = {"normal_force": f_n, "friction": friction.mu * f_n - f_t}
        if friction.torsional > 0:
            margins["torsion"] = friction.torsional * f_n - ca.fabs(moment)
        return margins


@dataclass(frozen=True)
class Sliding(Law):
    """Sliding with Coulomb friction: one normal row; the push is n - mu e with e the slip's direction.

    Parameters
    ----------
    stick_speed : float, m/s
        The slip speed at which the mode ends. |v_t| alone touches zero without crossing it, so an event
        on it would be missed and the integrator would stall.
    onset : (d,), optional
        Unit vector, resolved: the direction of the slip while it is still zero. It is weighted with `stick_speed`, or
        a tenth of `end_speed`, so that the direction is defined from the first instant and soon the slip's own.
    end_speed : float, m/s
        Slip speed at which the mode ends, too, once the slip was 20 times faster; 0: there is no such end.
    """

    stick_speed: float = 1e-9
    onset: ca.SX | None = None
    end_speed: float = 0.0
    name = "sliding"
    slipping = True

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return (n.vrel)' = n.bias + ndot.vrel = 0, pushed along n - mu e."""
        push = self.direction(k, friction)
        return Rows(
            LA=k.n.T @ k.LA,
            LB=k.n.T @ k.LB,
            b=dot(k.n, k.bias) + dot(k.ndot, k.vrel),
            velocity=dot(k.n, k.vrel),
            position=dot(k.n, k.gap),
            GA=push.T @ k.LA,
            GB=push.T @ k.LB,
        )

    def direction(self, k: Kinematics, friction: Friction) -> ca.SX:
        """Return n - mu e, (d,)."""
        # The slip's direction turns as fast as the force over the slip: at round-off no explicit step can follow.
        smallest = max(self.stick_speed, self.end_speed / 10)
        slip = k.slip if self.onset is None else k.slip + smallest * self.onset
        return k.n - friction.mu * slip / ca.norm_2(slip)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return lam (n - mu e); no moment."""
        return self.direction(k, friction) * lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n and |v_t| - stick_speed."""
        speed = ca.norm_2(k.slip)
        margins = {"normal_force": lam, "slip_speed": speed - self.stick_speed}
        if self.end_speed > 0.0:
            # Scaled so that it waits until the slip is fast (`ARMED` is the value at which a waiting margin counts).
            margins[SLIP_END] = (speed / self.end_speed - 1.0) * (ARMED / _CLEARLY)
        return margins


@dataclass(frozen=True)
class Separated(Law):
    """The bodies are apart: no rows, no force."""

    name = "separated"
    touching = False

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return no rows."""
        m = k.LA.shape[1]
        return Rows(ca.SX(0, m), ca.SX(0, m), ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1))

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return zero."""
        return ca.SX(k.n.shape[0], 1), ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return the gap, where the contact knows it at a distance (a support on a flat)."""
        return {"gap": dot(k.n, k.gap)}


@dataclass(frozen=True)
class Fixed(Law):
    """A patch that neither slides nor turns: every velocity of A relative to B is zero. k + d rows."""

    name = "fixed"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return wrel' = 0 and vrel' = 0."""
        size_k, size_d = k.wrel.shape[0], k.n.shape[0]
        turn = ca.horzcat(ca.SX.eye(size_k), ca.SX(size_k, size_d))
        return Rows(
            LA=ca.vertcat(turn, k.LA),
            LB=ca.vertcat(turn, k.LB),
            b=ca.vertcat(k.alrel, k.bias),
            velocity=ca.vertcat(k.wrel, k.vrel),
            position=ca.vertcat(ca.SX(size_k, 1), k.gap),
        )

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force lam[k:] and the moment about the normal."""
        size_k = k.wrel.shape[0]
        moment = lam[0] if size_k == 1 else dot(k.n, lam[:3])
        return lam[size_k:], moment

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n and mu f_n - |f_t|."""
        force, _ = self.wrench(k, lam, friction)
        f_n, f_t = normal_and_tangential(k, force)
        return {"normal_force": f_n, "friction": friction.mu * f_n - f_t}


@dataclass(frozen=True)
class Stopped(Law):
    """A contact without friction, such as a joint at its stop: one row along the normal."""

    name = "stopped"

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return (n.vrel)' = n.bias + ndot.vrel = 0."""
        b = dot(k.n, k.bias) + dot(k.ndot, k.vrel)
        return Rows(k.n.T @ k.LA, k.n.T @ k.LB, b, dot(k.n, k.vrel), dot(k.n, k.gap))

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return lam n; no moment."""
        return k.n * lam, ca.SX(1, 1)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n."""
        return {"normal_force": lam}


ROLLING = Rolling()
PURE_ROLLING = PureRolling()
SLIDING = Sliding()
SEPARATED = Separated()
FIXED = Fixed()
STOPPED = Stopped()
LAWS: dict[str, Law] = {law.name: law for law in (ROLLING, PURE_ROLLING, SLIDING, SEPARATED, FIXED, STOPPED)}


RollingLaw = Literal["rolling", "pure-rolling"]
"""Laws of bodies that roll, by name."""


_BUILT_IN = frozenset(LAWS)
_LONGEST = 16  # what records hold of a mode


def register(law: Law) -> Law:
    """Make a law known by its name, to `law_named`, pairs, robots and feet, in this process; return it.

    Processes that run trials or sweeps know it if it is registered where their module is imported.

    Raises
    ------
    InputError
        If the name is one of trundle's laws or too long for a record.
    """
    if not isinstance(law, Law):
        raise InputError("law", law, "a Law, with rows, wrench and margins")
    name = getattr(law, "name", "")
    if name in _BUILT_IN or not 0 < len(name) <= _LONGEST:
        raise InputError("law", name, f"a name of at most {_LONGEST} characters that no law of trundle has")
    LAWS[name] = law
    return law


def is_own(name: str) -> bool:
    """Return whether a law is one of `register`, not one of trundle's."""
    return name not in _BUILT_IN


def start_laws() -> tuple[str, ...]:
    """Return the names of laws a contact may start with: those of rolling, and those of `register`."""
    return (ROLLING.name, PURE_ROLLING.name, *filter(is_own, LAWS))


def law_named(name: str) -> Law:
    """Return the law called `name`, or raise `InputError` with the names there are."""
    if name not in LAWS:
        raise InputError("law", name, "one of " + ", ".join(repr(key) for key in LAWS))
    return LAWS[name]

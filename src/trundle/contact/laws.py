"""Laws: what a touch forbids and what it can push. A mode is a tuple of laws, one a contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

import casadi as ca
import numpy as np

from trundle.checks import choice, instance
from trundle.contact.compliant import HuntCrossley
from trundle.contact.contact import Kinematics
from trundle.contact.law import (
    Cone,
    Ending,
    Friction,
    Law,
    Rows,
    load_moment,
    no_rows,
    normal_and_tangential,
    relative_turning,
    viscous_moment,
)
from trundle.errors import InputError
from trundle.numerics.space import dot

SLIP_END = "slip_end"
"""Name of the margin that ends a slip which integration errors keep from crossing zero."""

ARMED = 1e-9
"""Value over which a margin that waits to be armed is armed."""

_CLEARLY = 20.0  # end speeds by which a slip has to be faster before its end is watched

_LEAST_SLIP = 1e-300
"""m/s, in place of none."""

_SHARE = 0.1
"""Of the geometric mean of a coefficient and the length of the body: lever of the multiplier of the moment that holds.

Several contacts share what they hold by the least sum of squares. With this lever moments, which are within small
bounds, take what forces cannot, and rows stay well above round-off.
"""

_STILL_SPEED, _LENGTH = 1e-8, 0.1
"""m/s, m: a turning that is resisted has stopped when it moves what is a body's length away no faster; the length where
none is given. A speed, as that of a slip that has ended, and not a rate: rates of small bodies are large."""


def still_rate(length: float) -> float:
    """Return the rate (rad/s) at which a turning that is resisted has stopped, of a body of a length (m; 0: 0.1)."""
    return _STILL_SPEED / (length or _LENGTH)


def _resist_turning(k: Kinematics, law: Sticking, friction: Friction, onset: ca.SX | None, smooth: float) -> Rows:
    """Return the rows vrel' = 0 and what is held of the turning, pushed with the moments against the rest of it."""
    LA, LB, b, velocity, position = k.LA, k.LB, k.bias, k.vrel, k.gap
    for axes, turning, rate in _list_held_turnings(k, law, friction):
        row = ca.horzcat(axes, ca.SX(axes.shape[0], k.n.shape[0]))
        LA, LB = ca.vertcat(LA, row), ca.vertcat(LB, row)
        b, velocity = ca.vertcat(b, rate), ca.vertcat(velocity, turning)
        position = ca.vertcat(position, ca.SX(axes.shape[0], 1))
    moment = load_moment(k, friction, law, smooth, onset)
    viscous, GA, GB = viscous_moment(k, friction), None, None
    if moment is not None:
        more = ca.SX(*LA.shape)
        more[: k.n.shape[0], : k.wrel.shape[0]] = k.n @ moment.T
        GA, GB = LA + more, LB + more
        if friction.adhesion:
            viscous = friction.adhesion * moment + (0 if viscous is None else viscous)
    applied = None if viscous is None else ca.vertcat(viscous, ca.SX(k.n.shape[0], 1))
    return Rows(LA, LB, b, velocity, position, GA, GB, applied)


def _list_held_turnings(k: Kinematics, law: Sticking | Sliding, friction: Friction) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
    """Return (axes, turning, its rate at nudot = 0) of what is held: about the tangents, then about the normal.

    All times the lever of the moment that holds, so that its multiplier is a force.
    """
    across, about = _levers(law, friction)
    if k.wrel.shape[0] == 1:
        return [(across * ca.SX.eye(1), across * k.wrel, across * k.alrel)] if law.holds_rolling else []
    found = []
    if law.holds_rolling:
        # With w_t = 0 the rates of the tangents count only by the spin: (T'w)' = T'al + w_n T'n', n'n' = 0.
        spin, T = dot(k.n, k.wrel), across * k.T.T
        found.append((T, T @ k.wrel, T @ k.alrel - spin * (T @ k.ndot)))
    if law.holds_spin:
        found.append((about * k.n.T, about * dot(k.n, k.wrel), about * (dot(k.n, k.alrel) + dot(k.ndot, k.wrel))))
    return found


def _levers(law: Sticking | Sliding, friction: Friction) -> tuple[float, float]:
    """Return the levers (m) of the multipliers that hold rolling and spin; one where the moment has no bound."""

    def lever(bound: float) -> float:
        return _SHARE * (bound * law.length) ** 0.5 or 1.0

    return lever(friction.rolling), lever(friction.spin_bound if law.rolls else friction.drilling)


def _turning_cones(
    k: Kinematics, law: Sticking | Sliding, friction: Friction, load: ca.SX, lam: ca.SX
) -> dict[str, Cone]:
    """Return the cones of the multipliers `lam` of what does not turn, where they have bounds."""
    cones: dict[str, Cone] = {}
    across, about = _levers(law, friction)
    at = k.T.shape[1] if law.holds_rolling else 0
    if law.holds_rolling and friction.rolling > 0:
        cones["rolling"] = Cone(friction.rolling * load, across * lam[:at])
    bound = friction.spin_bound if law.rolls else friction.drilling
    if law.holds_spin and k.wrel.shape[0] == 3 and bound > 0:
        cones["torsion"] = Cone(bound * load, about * lam[at])
    return cones


def _turning_rates(k: Kinematics, law: Sticking | Sliding, friction: Friction) -> dict[str, ca.SX]:
    """Return the margins of what turns and is resisted."""
    margins: dict[str, ca.SX] = {}
    turning, spin = relative_turning(k)
    if not law.holds_rolling and friction.rolling > 0:
        margins["rolling_rate"] = ca.norm_2(turning) - still_rate(law.length)
    if not law.holds_spin and k.wrel.shape[0] == 3 and friction.drilling > 0:
        margins["spin_rate"] = ca.fabs(spin) - still_rate(law.length)
    return margins


def _cone_of_point(k: Kinematics, force: ca.SX, friction: Friction) -> dict[str, Cone]:
    """Return N >= 0 and, of a finite mu, mu N >= |f_t| of the force (d,) that sticks, N = f_n + adhesion."""
    load = dot(k.n, force)
    if friction.adhesion:
        load = load + friction.adhesion
    normal = {"normal_force": Cone(load, ca.SX(0, 1))}
    return normal if friction.mu == np.inf else normal | {"friction": Cone(friction.mu * load, k.T.T @ force)}


def _margins_of(cones: Mapping[str, Cone]) -> dict[str, ca.SX]:
    return {name: cone.margin for name, cone in cones.items()}


_TURNING_ENDINGS: Mapping[str, Ending] = MappingProxyType(
    {
        "torsion": Ending.SPINS,
        "spin_rate": Ending.STOPS_SPINNING,
        "rolling": Ending.ROLLS,
        "rolling_rate": Ending.STOPS_ROLLING,
    }
)
"""What margins of the turning mean, of contacts that slide and of those that do not."""


@dataclass(frozen=True)
class Sticking(Law):
    """A contact that does not slip: vrel' = 0, and the relative turning is free, resisted or held.

    Parameters
    ----------
    name : str
    holds_spin : bool
        No spin about the normal (space): (n.wrel)' = n.alrel + n'.wrel = 0.
    holds_rolling : bool
        No rolling: T'wrel = 0, in the plane wrel = 0.
    onset : (k,), optional
        The direction of a turning that is still zero, see `load_moment`; it is weighted with `still_rate`.
    length : float, m
        Of the body: multipliers of what is held have levers in proportion to its root; 0: they are moments. See also
        `still_rate`.
    """

    name: str
    holds_spin: bool = False
    holds_rolling: bool = False
    onset: ca.SX | None = None
    length: float = 0.0
    rolls = True
    endings = MappingProxyType({"friction": Ending.SLIPS, **_TURNING_ENDINGS})

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return vrel' = 0 and what is held of the turning (theory, "What rolling forbids")."""
        return _resist_turning(k, self, friction, self.onset, still_rate(self.length))

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return the force lam[:d] and the moment about the normal: the last multiplier, or what resists a spin."""
        d = k.n.shape[0]
        force, moment = lam[:d], ca.SX(1, 1)
        if k.wrel.shape[0] == 3 and self.holds_spin:
            return force, _levers(self, friction)[1] * lam[-1]
        resisting, viscous = (
            load_moment(k, friction, self, still_rate(self.length), self.onset),
            viscous_moment(k, friction),
        )
        if k.wrel.shape[0] == 3 and resisting is not None:
            moment = dot(k.n, resisting) * (dot(k.n, force) + friction.adhesion)
        return force, (moment if viscous is None or k.wrel.shape[0] == 1 else moment + dot(k.n, viscous))

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return N, mu N - |f_t|, and of each part of the turning its rate or the margin of the moment that holds."""
        margins = _margins_of(self.cones(k, lam, friction)) | _turning_rates(k, self, friction)
        return {"normal_force": margins["normal_force"], "friction": ca.SX(np.inf), **margins}

    def cones(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, Cone]:
        """Return the friction cone and the bounds of the moments that hold."""
        point = _cone_of_point(k, lam[: k.n.shape[0]], friction)
        return point | _turning_cones(k, self, friction, point["normal_force"].load, lam[k.n.shape[0] :])


@dataclass(frozen=True)
class Sliding(Law):
    """Sliding with Coulomb friction: one normal row; the push is n - mu e with e the slip's direction.

    The relative turning is free, resisted or held, whatever the slip does: a wheel may skid without turning.

    Parameters
    ----------
    name : str
    stick_speed : float, m/s
        The slip speed at which the mode ends. |v_t| alone touches zero without crossing it, so an event
        on it would be missed and the integrator would stall.
    onset : (d,), optional
        Unit vector, resolved: the direction of the slip while it is still zero. It is weighted with `stick_speed`, or
        a tenth of `end_speed`, so that the direction is defined from the first instant and soon the slip's own.
    end_speed : float, m/s
        Slip speed at which the mode ends, too, once the slip was 20 times faster; 0: there is no such end.
    holds_spin, holds_rolling, turning_onset, length
        Of the turning, as in `Sticking`.
    """

    name: str = "sliding"
    stick_speed: float = 1e-9
    onset: ca.SX | None = None
    end_speed: float = 0.0
    holds_spin: bool = False
    holds_rolling: bool = False
    turning_onset: ca.SX | None = None
    length: float = 0.0
    slipping = True
    endings = MappingProxyType({"slip_speed": Ending.STICKS, SLIP_END: Ending.STICKS, **_TURNING_ENDINGS})

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return (n.vrel)' = n.bias + ndot.vrel = 0, pushed along n - mu e, and what is held of the turning."""
        push = self.direction(k, friction)
        moment, applied = (
            load_moment(k, friction, self, still_rate(self.length), self.turning_onset),
            viscous_moment(k, friction),
        )
        LA, LB, GA, GB = k.n.T @ k.LA, k.n.T @ k.LB, push.T @ k.LA, push.T @ k.LB
        b, velocity, position = dot(k.n, k.bias) + dot(k.ndot, k.vrel), dot(k.n, k.vrel), dot(k.n, k.gap)
        if moment is not None:
            along = ca.horzcat(moment.T, ca.SX(1, k.n.shape[0]))
            GA, GB = GA + along, GB + along
        for axes, turning, rate in _list_held_turnings(k, self, friction):
            row = ca.horzcat(axes, ca.SX(axes.shape[0], k.n.shape[0]))
            LA, LB, GA, GB = (ca.vertcat(rows, row) for rows in (LA, LB, GA, GB))
            b, velocity = ca.vertcat(b, rate), ca.vertcat(velocity, turning)
            position = ca.vertcat(position, ca.SX(axes.shape[0], 1))
        if applied is not None:
            applied = ca.vertcat(applied, ca.SX(k.n.shape[0], 1))
        if friction.adhesion:
            pull = ca.vertcat(ca.SX(k.wrel.shape[0], 1) if moment is None else moment, push - k.n)
            applied = friction.adhesion * pull + (0 if applied is None else applied)
        return Rows(LA, LB, b, velocity, position, GA, GB, applied)

    def direction(self, k: Kinematics, friction: Friction) -> ca.SX:
        """Return n - mu e, (d,)."""
        if friction.frictionless:
            return k.n
        # The slip's direction turns as fast as the force over the slip: at round-off no explicit step can follow.
        smallest = max(self.stick_speed, self.end_speed / 10)
        slip = k.slip
        if self.onset is not None:
            # The plane of contact turns while the contact slides: only what lies in it is a direction of slip.
            slip = slip + smallest * (self.onset - k.n * dot(k.n, self.onset))
        # Where a slip ends at zero to the last bit it has no direction, and its friction none.
        return k.n - friction.mu * slip / ca.fmax(ca.norm_2(slip), _LEAST_SLIP)

    def wrench(self, k: Kinematics, lam: ca.SX, friction: Friction) -> tuple[ca.SX, ca.SX]:
        """Return lam (n - mu e) and the moment about the normal: the last multiplier, or what resists a spin."""
        push, (_, spin) = self.direction(k, friction), relative_turning(k)
        force = push * lam[0]
        load = lam[0] + friction.adhesion if friction.adhesion else lam[0]
        if friction.adhesion:
            force = force + friction.adhesion * (push - k.n)
        if k.wrel.shape[0] == 3 and self.holds_spin:
            return force, _levers(self, friction)[1] * lam[-1]
        moment = load_moment(k, friction, self, still_rate(self.length), self.turning_onset)
        about = ca.SX(1, 1) if moment is None or k.wrel.shape[0] == 1 else dot(k.n, moment) * load
        return force, (about - friction.drilling_viscous * spin if friction.drilling_viscous else about)

    def margins(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, ca.SX]:
        """Return f_n, |v_t| - stick_speed, and those of the turning. A slip without friction passes zero."""
        margins: dict[str, ca.SX] = {}
        if not friction.frictionless:
            speed = ca.norm_2(k.slip)
            margins["slip_speed"] = speed - self.stick_speed
            if self.end_speed > 0.0:
                # Scaled so that it waits until the slip is fast (`ARMED`: value at which a waiting margin counts).
                margins[SLIP_END] = (speed / self.end_speed - 1.0) * (ARMED / _CLEARLY)
        return _margins_of(self.cones(k, lam, friction)) | margins | _turning_rates(k, self, friction)

    def cones(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, Cone]:
        """Return N >= 0 and the bounds of the moments that hold."""
        load = lam[0] + friction.adhesion if friction.adhesion else lam[0]
        return {"normal_force": Cone(load, ca.SX(0, 1))} | _turning_cones(k, self, friction, load, lam[1:])


@dataclass(frozen=True)
class Separated(Law):
    """The bodies are apart: no rows, no force."""

    name = "separated"
    touching = False
    endings = MappingProxyType(
        {"gap": Ending.LANDS, "touch": Ending.LANDS, "overlap": Ending.OVERLAPS, "blunt": Ending.TOUCHES_BLUNTLY}
    )

    def rows(self, k: Kinematics, friction: Friction) -> Rows:
        """Return no rows."""
        return no_rows(k)

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
    holds_spin = True
    holds_rolling = True
    endings = MappingProxyType({"friction": Ending.SLIPS})

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
        return _margins_of(self.cones(k, lam, friction))

    def cones(self, k: Kinematics, lam: ca.SX, friction: Friction) -> dict[str, Cone]:
        """Return f_n >= 0."""
        return {"normal_force": Cone(lam, ca.SX(0, 1))}


ROLLING = Sticking("rolling")
PURE_ROLLING = Sticking("pure-rolling", holds_spin=True)
PIVOTING = Sticking("pivoting", holds_rolling=True)
RESTING = Sticking("resting", holds_spin=True, holds_rolling=True)
SLIDING = Sliding()
PURE_SLIDING = Sliding("pure-sliding", holds_spin=True)
SKIDDING = Sliding("skidding", holds_rolling=True)
DRAGGED = Sliding("dragged", holds_spin=True, holds_rolling=True)
SEPARATED = Separated()
FIXED = Fixed()
HUNT_CROSSLEY = HuntCrossley()
STOPPED = Stopped()
LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        *(ROLLING, PURE_ROLLING, SLIDING, SEPARATED, FIXED, PIVOTING, RESTING, HUNT_CROSSLEY, STOPPED),
        *(PURE_SLIDING, SKIDDING, DRAGGED),
    )
}


RollingLaw = Literal["rolling", "pure-rolling"]
"""Laws of bodies that roll, by name."""
StartLaw = Literal["rolling", "pure-rolling", "hunt-crossley"]
"""Laws that the contacts of a file may start with, by name."""


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
    instance("law", law, Law, "a Law, with rows, wrench and margins")
    name = getattr(law, "name", "")
    if name in _BUILT_IN or not 0 < len(name) <= _LONGEST:
        raise InputError("law", name, f"a name of at most {_LONGEST} characters that no law of trundle has")
    LAWS[name] = law
    return law


def is_own(name: str) -> bool:
    """Return whether a law is one of `register`, not one of trundle's."""
    return name not in _BUILT_IN


def start_laws() -> tuple[str, ...]:
    """Return the names of laws a contact may start with: rolling, compliant, and those of `register`."""
    return (ROLLING.name, PURE_ROLLING.name, *filter(is_own, LAWS), HUNT_CROSSLEY.name)


def rolling_law(holds_spin: bool, holds_rolling: bool) -> Law:
    """Return the law of a contact that does not slip with this part of the turning held."""
    return ((ROLLING, PIVOTING), (PURE_ROLLING, RESTING))[holds_spin][holds_rolling]


def sliding_law(holds_spin: bool, holds_rolling: bool) -> Law:
    """Return the law of a contact that slides with this part of the turning held."""
    return ((SLIDING, SKIDDING), (PURE_SLIDING, DRAGGED))[holds_spin][holds_rolling]


def slides(law: str) -> bool:
    """Return whether a law of this name is one of sliding with Coulomb friction."""
    return isinstance(LAWS[law], Sliding)


def law_named(law: str | Law) -> Law:
    """Return the law of this name, or the law itself; raise `InputError` with the names there are."""
    return law if isinstance(law, Law) else LAWS[choice("law", law, LAWS)]


class _Carried(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def carrier(self) -> str: ...


def laws_of(contacts: Sequence[_Carried], laws: str | Law | Sequence[str | Law]) -> Sequence[Law]:
    """Return one law a contact, of laws or their names: further points of a pair may be left out, and are apart then.

    They are on the same body as its first and called ``<name>-<k>``. One law stands for a sequence of itself.
    """
    mode = [law_named(law) for law in ([laws] if isinstance(laws, str | Law) else laws)]
    names = [contact.name for contact in contacts]
    carriers = {contact.name: contact.carrier for contact in contacts}
    split = [name.rpartition("-") for name in names]
    further = [
        k.isdigit() and carriers.get(first) == carriers[name] for name, (first, _, k) in zip(names, split, strict=True)
    ]
    if any(further) and len(mode) == further.count(False):
        given = iter(mode)
        return [SEPARATED if is_further else next(given) for is_further in further]
    if len(mode) != len(names):
        raise InputError("mode", [law.name for law in mode], f"{len(names)} laws, one a contact")
    return mode

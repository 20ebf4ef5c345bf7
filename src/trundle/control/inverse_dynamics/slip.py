"""Slip: which contacts slide, how much friction they have, and the program's rows for them, in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray, array, positive
from trundle.control.inverse_dynamics.tasks import MotionQuantity, Task
from trundle.errors import InputError
from trundle.models.tree.multibody import Terms
from trundle.numerics.compiled.buffered import BufferedCall
from trundle.numerics.compiled.compile import compile_function
from trundle.parameters import Checked, NonNegative, Positive, parameter

_LEAST = 0.01
"""Lowest estimate of a coefficient, as a part of the one believed."""
_LOADED = 1e-3
"""Part of the weight that a contact has to carry for its forces to say something about friction."""


@dataclass(frozen=True)
class SlipSensing(Checked):
    """How slip is sensed, and how the controller meets it."""

    speed: Positive = parameter(0.02, "m/s, slip from which on a contact counts as sliding, until it is half of that")
    gain: NonNegative = parameter(20.0, "1/s, with which slips are to decay")
    weight: NonNegative = parameter(1.0, "of that against the tasks of the first level")
    memory: Positive = parameter(0.03, "s, time constant of the estimates of friction")
    recovery: NonNegative = parameter(
        0.02, "1/s, growth of an estimate while its contact rolls, up to the coefficient believed"
    )


@final
@dataclass(frozen=True)
class Slipping:
    """Symbols of which contacts slide, with what coefficient, and their rows in the program.

    With the slip's direction s = sign(T'vrel), 0 while the contact rolls, and the coefficient mu, its two rows read

        (1 - |s| T T') (J nudot + b) + |s| c T (T' + s mu n') lam = 0:

    rolling, or nothing but the normal row and Coulomb's law of sliding (c = `scale`, 1/kg, sets units alone).

    Parameters
    ----------
    symbols : (2 contacts,) SX
        The directions s, then the coefficients mu.
    share : float
        Of the coefficients, in cones.
    scale : float, 1/kg
    """

    symbols: ca.SX
    share: float
    scale: float

    @property
    def direction(self) -> ca.SX:
        """The directions (contacts,): -1, 0 or 1."""
        return self.symbols[: self.symbols.shape[0] // 2]

    @property
    def friction(self) -> ca.SX:
        """The coefficients (contacts,)."""
        return self.symbols[self.symbols.shape[0] // 2 :]

    def rows(self, terms: Terms, b: ca.SX, on: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return J, b (m, nv), (m,) without the rows that slip, and their part D (m, m) of  J nudot + D lam + b = 0.

        ``on`` (contacts,): 1 where a contact touches.
        """
        count, m = len(terms.split), terms.J.shape[0]
        if self.symbols.shape != (2 * count, 1):
            raise InputError("slipping", self.symbols.shape, f"{2 * count} symbols, two a contact")
        kept, slid = ca.SX.eye(m), ca.SX(m, m)
        for i, (k, part) in enumerate(zip(terms.kin, terms.split, strict=True)):
            if k.frame.shape[0] != 2 or part.stop - part.start != 2:
                raise InputError("slipping", k.frame.shape, "contacts in the plane that roll")
            T, n, s = k.frame[:, 0], k.frame[:, 1], self.direction[i]
            kept[part, part] -= on[i] * ca.fabs(s) * T @ T.T
            slid[part, part] = on[i] * ca.fabs(s) * self.scale * T @ (T + s * self.friction[i] * n).T
        return kept @ terms.J, kept @ b, slid

    def tasks(self, names: Sequence[str], terms: Terms, settings: SlipSensing, level: int) -> list[Task]:
        """Return the tasks  T'(J nudot + b) = -gain T'vrel  of the contacts that slide, 0 of those that roll."""
        tasks = []
        for i, (name, k, part) in enumerate(zip(names, terms.kin, terms.split, strict=True)):
            T = k.frame[:, :1].T
            slip = MotionQuantity(T @ terms.J[part, :], T @ terms.b[part], ca.SX(1, 1), T @ k.vrel)
            weight = settings.weight * ca.fabs(self.direction[i])
            tasks.append(slip.tracking(f"{name}.slip", kd=settings.gain, weight=weight, level=level))
        return tasks


@final
class SlipMonitor:
    """Finds from measured states which contacts slide, and how much friction they have.

    A contact slides while its points' relative velocity along the ground, T'J nu, is beyond a threshold. What forces it
    had follows from how the velocities changed over a period (of the contacts that touch, by least squares):

        J'lam = M (nu - nu_before)/period + h - S u,

    and while it slides, their ratio |T'lam|/n'lam is the coefficient, filtered. An estimate that fell rises again
    slowly while its contact rolls.

    Parameters
    ----------
    x, nu : SX
        State and velocities of the model.
    terms : Terms
        With all contacts rolling.
    believed : (contacts,)
        Coefficients of friction to begin with; estimates stay below them.
    period : float, s
        Between two calls.
    settings : SlipSensing

    Attributes
    ----------
    direction, friction : (contacts,)
        What `Slipping` has symbols for.
    ticks : int
        Calls since `reset` that found a contact sliding.
    """

    def __init__(
        self, x: ca.SX, nu: ca.SX, terms: Terms, believed: FloatArray, period: float, settings: SlipSensing
    ) -> None:
        self._believed = array("believed", believed, (len(terms.split),), minimum=0.0)
        self._period, self._settings = positive("period", period, "s"), settings
        self._S, self._split = np.array(ca.DM(terms.S)), terms.split
        nv, m, count = terms.M.shape[0], terms.J.shape[0], len(terms.split)
        slip = ca.vertcat(ca.SX(0, 1), *(k.frame[:, 0].T @ k.vrel for k in terms.kin))
        frames = ca.horzcat(ca.SX(2, 0), *(k.frame for k in terms.kin))
        outputs = [ca.densify(out) for out in (nu, slip, terms.M, terms.h, terms.J.T, frames)]
        function = compile_function(ca.Function("slip", [x], ca.cse(outputs)))
        self._x, self._nu, self._slip = np.zeros(x.shape[0]), np.zeros(nv), np.zeros(count)
        # CasADi writes columns: what has been transposed has its rows in a row.
        self._M, self._h, self._J = np.zeros((nv, nv)), np.zeros(nv), np.zeros((m, nv))
        self._frames = np.zeros((count, 2, 2))  # a contact's T, then its n
        results = [self._nu, self._slip, self._M, self._h, self._J, self._frames]
        self._evaluate = BufferedCall(function, [self._x], results)
        self.reset()

    def reset(self) -> None:
        """Forget what was measured, and believe in the friction again."""
        self.direction, self.friction = np.zeros_like(self._believed), self._believed.copy()
        self.ticks = 0
        self._known = np.zeros(len(self._believed), dtype=bool)
        self._before: tuple[FloatArray, FloatArray] | None = None

    @property
    def symbols(self) -> FloatArray:
        """The numbers (2 contacts,) of `Slipping.symbols`."""
        return np.concatenate((self.direction, self.friction))

    def sense(self, state: FloatArray, touching: FloatArray, u: FloatArray) -> None:
        """Take in a measured state (n_x,), which contacts touch, and the model's inputs (n_u,) since the last call."""
        if not np.all(np.isfinite(state)):
            return
        self._x[:] = state
        self._evaluate()
        slid = np.where(touching > 0, self.direction, 0.0)
        least = np.where(slid == 0, 1.0, 0.5) * self._settings.speed
        now = np.where((np.abs(self._slip) > least) & (touching > 0), np.sign(self._slip), 0.0)
        same = (now != 0) & (now == slid)
        rolled = (now == 0) & (touching > 0)
        if self._before is not None and np.array_equal(self._before[1], touching) and np.any(same):
            self._estimate(np.flatnonzero(same), touching > 0, now, u)
        self._known &= same
        most = self.friction + self._settings.recovery * self._period
        self.friction = np.where(rolled, np.minimum(most, self._believed), self.friction)
        self.direction = now
        self.ticks += bool(np.any(now))
        self._before = self._nu.copy(), np.array(touching)

    def _estimate(
        self, sliding: NDArray[np.intp], touching: NDArray[np.bool_], direction: FloatArray, u: FloatArray
    ) -> None:
        """Filter the coefficients of the contacts `sliding` by the forces of the last period."""
        before = self._nu if self._before is None else self._before[0]
        pushed = self._M @ ((self._nu - before) / self._period) + self._h - self._S @ u
        on = np.repeat(touching, 2)
        lam = np.zeros(len(self._J))
        lam[on] = np.linalg.lstsq(self._J[on].T, pushed, rcond=None)[0]
        share = 1.0 - np.exp(-self._period / self._settings.memory)
        weight = np.abs(self._h).max()
        for i in sliding:
            tangential, normal = self._frames[i] @ lam[self._split[i]]
            if normal <= _LOADED * weight:
                continue
            ratio = -direction[i] * tangential / normal
            last = self.friction[i]
            # The first of a slip takes back at once what the estimate has grown too far.
            value = last + share * (ratio - last) if self._known[i] else min(last, ratio)
            self.friction[i] = np.clip(value, _LEAST * self._believed[i], self._believed[i])
            self._known[i] = True

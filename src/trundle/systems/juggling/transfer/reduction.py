"""Reduction: states that cannot change are constants, and a problem without them is smaller."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import PhaseLinkage


@dataclass(frozen=True, eq=False)
class Reduction:
    """A phase without its constants, and the way back.

    Attributes
    ----------
    phase : Phase
        Of the states and inputs that are left.
    states, inputs : (n,) int
        Which entries of the full x and u those are.
    x, u : (n_x,), (n_u,)
        Full state and input with the constants at their values, 0 elsewhere.
    start : (n,)
        The states that are left, at the start.
    """

    phase: Phase
    states: np.ndarray
    inputs: np.ndarray
    x: FloatArray
    u: FloatArray
    start: FloatArray

    def full(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return full states (N, n_x) and inputs (N, n_u) from reduced ones."""
        x, u = np.tile(self.x, (len(states), 1)), np.tile(self.u, (len(inputs), 1))
        x[:, self.states], u[:, self.inputs] = states, inputs
        return x, u

    def nodes(self, times: FloatArray, x: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return reduced states and inputs from full ones."""
        return x[:, self.states], u[:, self.inputs]

    def link(self, link: PhaseLinkage) -> PhaseLinkage | None:
        """Return a link of the full phase's ends in symbols of the reduced one, or None where it says nothing."""
        ends = [ca.SX.sym(name, len(self.states)) for name in ("x_end", "x_start")]
        filled = [_fill_constants(end, self.states, self.x) for end in ends]
        expression = ca.substitute([link.condition.expression], [link.x_end, link.x_start], filled)[0]
        condition = _without_constants(replace(link.condition, expression=expression))
        return None if condition is None else PhaseLinkage(link.before, link.after, ends[0], ends[1], condition)


def reduce_phase(
    phase: Phase, start: FloatArray, held: Mapping[int, float] | None = None, moving: Collection[int] = ()
) -> Reduction:
    """Return the phase without the inputs that are held and the states that are constant because of them.

    The largest set of states is left out whose rates are zero by structure once they and the held inputs have their
    values: each keeps the others constant. A hand that only turns has no position, a hand that only moves in
    a plane no rotation out of it.

    Parameters
    ----------
    phase : Phase
    start : (n_x,)
        Values at the start.
    held : mapping of int to float
        Entries of u that are constants.
    moving : collection of int
        Entries of x that are kept in any case, as velocities that are unknown at the start.
    """
    x0 = array("start", start, (phase.nx,))
    held = dict(held or {})
    u0 = np.array([held.get(i, 0.0) for i in range(phase.nu)])
    free_u = np.array([i for i in range(phase.nu) if i not in held], dtype=np.intp)
    constant = set(range(phase.nx)) - set(moving)
    while constant:
        rate = _with_constants(phase, sorted(constant), x0, held)
        moving = {i for i in constant if not rate[i].is_zero()}
        if not moving:
            break
        constant -= moving
    kept = np.array([i for i in range(phase.nx) if i not in constant], dtype=np.intp)
    x_fixed, u_fixed = np.array(x0), np.array(u0)
    x_fixed[kept], u_fixed[free_u] = 0.0, 0.0
    return Reduction(_reduce_phase(phase, kept, free_u, x_fixed, u_fixed), kept, free_u, x_fixed, u_fixed, x0[kept])


def _with_constants(phase: Phase, constant: Sequence[int], x0: FloatArray, held: Mapping[int, float]) -> ca.SX:
    x, u = ca.SX(phase.x), ca.SX(phase.u)
    for i in constant:
        x[i] = x0[i]
    for i, value in held.items():
        u[i] = value
    return ca.substitute([phase.rate], [phase.x, phase.u], [x, u])[0]


def _fill_constants(symbol: ca.SX, where: np.ndarray, values: FloatArray) -> ca.SX:
    full = ca.SX(ca.DM(values))
    for k, i in enumerate(where):
        full[int(i)] = symbol[k]
    return full


def _reduce_phase(
    phase: Phase, kept: np.ndarray, free_u: np.ndarray, x_fixed: FloatArray, u_fixed: FloatArray
) -> Phase:
    x, u = ca.SX.sym("x", len(kept)), ca.SX.sym("u", len(free_u))
    full_x, full_u = _fill_constants(x, kept, x_fixed), _fill_constants(u, free_u, u_fixed)

    def inside(value: ca.SX) -> ca.SX:
        return ca.substitute([value], [phase.x, phase.u], [full_x, full_u])[0]

    def all_inside(conditions: Sequence[Condition]) -> list[Condition]:
        found = [replace(c, expression=inside(c.expression)) for c in conditions]
        return [c for c in (_without_constants(c) for c in found) if c is not None]

    return Phase(
        name=phase.name,
        x=x,
        u=u,
        rate=inside(phase.rate)[[int(i) for i in kept]],
        duration=phase.duration,
        path=all_inside(phase.path),
        running=inside(phase.running),
        terminal=inside(phase.terminal),
        start=all_inside(phase.start),
        end=all_inside(phase.end),
        x_bounds=(phase.x_bounds[0][kept], phase.x_bounds[1][kept]),
        u_bounds=(phase.u_bounds[0][free_u], phase.u_bounds[1][free_u]),
        open_end=phase.open_end,
    )


def _without_constants(condition: Condition) -> Condition | None:
    """Rows that are constants and hold say nothing; one that does not hold stays, so that the solver can name it."""
    expression = ca.vec(condition.expression)
    keep = []
    for i in range(condition.size):
        entry = expression[i]
        if entry.is_constant() and condition.lower[i] - 1e-9 <= float(entry) <= condition.upper[i] + 1e-9:
            continue
        keep.append(i)
    if not keep:
        return None
    return Condition(condition.name, expression[keep], condition.lower[keep], condition.upper[keep])

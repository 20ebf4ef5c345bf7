"""Multiple shooting where equations fix accelerations and forces: the elements and rows of one phase."""

from __future__ import annotations

import casadi as ca
import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray
from trundle.numerics.nlp.nlp import ElementGroup
from trundle.optimal.phase import Phase
from trundle.optimal.transcription.assembly import (
    EntryPlaces,
    ProgramRows,
    path_rows,
    select,
    stack_parts,
    with_duration,
)
from trundle.optimal.transcription.midpoint import Make

_NEWTON = {"error_on_fail": False, "max_iter": 12, "abstol": 1e-11}
"""Where an interval has no solution, the program's rows do not hold: its solver turns back."""


def constrained_shooting(
    phase: Phase, mesh: FloatArray, places: EntryPlaces, total: int, rows: ProgramRows, size: int
) -> list[Make]:
    """Add the rows of `phase` and return its elements.

        x_{k+1} = x_k + h f(x_m, u_k, y),  0 = r(x_m, u_k, y),  x_m = (x_k + x_{k+1})/2,  cost += h L [/ T_total]

    y, what `phase.implied` names, and x_m are found in each interval and are no unknowns of the program. Path
    conditions are kept at x_m.
    """
    step, n = np.diff(mesh), phase.nx
    N, zero = len(step), np.zeros(len(step) * n)
    index = with_duration(with_duration(np.hstack([places.x[:-1], places.u_mid]), places.duration), total)
    function = _interval(phase, total >= 0)
    outputs = function.size1_out(0)
    where = rows.add(f"{phase.name}: dynamics", select(places.x[1:], size), zero, zero)
    taken = (np.arange(N)[:, None] * outputs + np.arange(n)).ravel()
    B = [(where, sp.csr_matrix((-np.ones(N * n), (np.arange(N * n), taken)), shape=(N * n, N * outputs)))]
    B.append(path_rows(phase.name, phase.path, rows, np.arange(N), (N, outputs), n + 1, size))
    b = np.zeros((N, outputs))
    b[:, n] = 1.0
    return [lambda count: ElementGroup(function, index, stack_parts(B, count, N * outputs), b.ravel(), step[:, None])]


def _interval(phase: Phase, mean: bool) -> ca.Function:
    """Return (w = (x, u[, T][, T_total]), dtau) -> (x after the step, cost, path conditions)."""
    n, m, y = phase.nx, phase.nu, phase.implied
    given, h = ca.vertcat(phase.x, phase.u), ca.SX.sym("h")
    rate = ca.Function("rate", [phase.x, phase.u, y], [phase.rate])
    middle = phase.x
    for _ in range(2):  # exact: coordinates change with velocities, velocities with y
        middle = phase.x + h / 2 * rate(middle, phase.u, y)
    kept = [ca.vec(c.expression) for c in phase.path]
    parts = [phase.residual, ca.densify(ca.vertcat(phase.rate, phase.running, *kept))]
    residual, along = ca.Function("at", [phase.x, phase.u, y], parts)(middle, phase.u, y)
    p = ca.vertcat(given, h)
    implied = ca.rootfinder("implied", "newton", {"x": y, "p": p, "g": residual}, _NEWTON)
    step = ca.Function("step", [p, y], [along], {"cse": True})
    w, dtau = ca.MX.sym("w", n + m + phase.free + mean), ca.MX.sym("dtau")
    T = w[n + m] if phase.free else ca.MX(phase.duration[0])
    whole = w[n + m + phase.free] if mean else ca.MX(1)
    at = ca.vertcat(w[: n + m], T * dtau)
    out = step(at, implied(x0=ca.DM.zeros(y.numel()), p=at)["x"])
    after = w[:n] + T * dtau * out[:n]
    return ca.Function("shot", [w, dtau], [ca.vertcat(after, T * dtau / whole * out[n], out[n + 1 :])])

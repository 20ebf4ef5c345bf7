"""Variational and adjoint equations of a system: what its solutions change by, as systems that integrate like it."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from trundle.numerics.ode.system import OdeSystem


def variational(system: OdeSystem, count: int, chosen: Sequence[int]) -> OdeSystem:
    """Return the system of (x, S), x' = f(t, x, p), S' = f_x S + f_q Q, q those parameters p that are `chosen`.

    S (n, count) = dx/dz is stacked by columns behind x, Q (chosen, count) = dq/dz behind p. The projection of x stays;
    there are no margins.
    """
    t, x, p = _symbols(system)
    S, Q = ca.SX.sym("S", system.size, count), ca.SX.sym("Q", len(chosen), count)
    rate = system.rate(t, x, p)
    columns = ca.jacobian(rate, x) @ S
    if len(chosen):
        columns += ca.jacobian(rate, p)[:, list(chosen)] @ Q
    arguments = [t, ca.vertcat(x, ca.vec(S)), ca.vertcat(p, ca.vec(Q))]
    return OdeSystem(
        rate=_function("variational", arguments, ca.vertcat(rate, ca.vec(columns))),
        projection=None
        if system.projection is None
        else _function("projection", arguments, ca.vertcat(system.projection(t, x, p), ca.vec(S))),
    )


def adjoint(system: OdeSystem, chosen: Sequence[int]) -> OdeSystem:
    """Return the system of (x, l, m) backwards: over s = t_end - t, x' = -f, l' = f_x'l, m' = f_q'l.

    With l(t_end) the gradient (n,) of a cost by x there, l(t) is that by x(t), and m gains that by the parameters q
    that are `chosen`. The parameters are (p, t_end).
    """
    s, x, p = _symbols(system)
    costate, gained, end = ca.SX.sym("l", system.size), ca.SX.sym("m", len(chosen)), ca.SX.sym("end")
    rate = system.rate(end - s, x, p)
    slopes = ca.jtimes(rate, ca.vertcat(x, p), costate, True)
    by_parameters = slopes[system.size :]
    whole = ca.vertcat(-rate, slopes[: system.size], *(by_parameters[i] for i in chosen))
    return OdeSystem(rate=_function("adjoint", [s, ca.vertcat(x, costate, gained), ca.vertcat(p, end)], whole))


def _symbols(system: OdeSystem) -> tuple[ca.SX, ca.SX, ca.SX]:
    return ca.SX.sym("t"), ca.SX.sym("x", system.size), ca.SX.sym("p", system.parameter_count)


def _function(name: str, arguments: list[ca.SX], value: ca.SX) -> ca.Function:
    return ca.Function(name, arguments, [ca.densify(value)], {"cse": True})

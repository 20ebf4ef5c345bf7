"""Stages of a discrete-time optimal control problem: dynamics, generalised Gauss-Newton costs, relaxed barriers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.compiled.symbols import check_symbols
from trundle.numerics.expressions import HoldsExpressions
from trundle.threads import cached_property

Scalar = ca.SX | FloatArray | float
"""A number, or as many as there are rows."""


def relaxed_barrier(h: Scalar, mu: Scalar, delta: Scalar, fade: Scalar = 0.0) -> ca.SX:
    """Return the relaxed logarithmic barrier of h >= 0, twice continuously differentiable.

        B(h) = -mu ln h                                             h > delta
             = mu / 2 (((h - 2 delta) / delta)^2 - 1) - mu ln delta    else

    A logarithm is felt at any distance: its slope falls as 1 / h only. With a range r = 1 / fade the barrier is

        B(h) + mu (ln r + 2 h / r - h^2 / (2 r^2) - 3/2)    h < r
        0                                                   else

    of slope -mu / h (1 - h / r)^2 and curvature mu (1 / h^2 - 1 / r^2) above delta: as steep near the limit, nothing
    beyond r, twice continuously differentiable there too.

    Parameters
    ----------
    h, mu, delta : scalar or (k,)
        Margin, weight > 0 and margin > 0 below which the barrier is a parabola.
    fade : scalar or (k,)
        1 / r, below 1 / delta; 0: without end.

    Notes
    -----
    Source: Feller and Ebenbauer, Relaxed logarithmic barrier function based model predictive control, eq. 9.
    """
    parabola = 0.5 * mu * (((h - 2 * delta) / delta) ** 2 - 1) - mu * ca.log(delta)
    endless = ca.if_else(h > delta, -mu * ca.log(ca.fmax(h, delta)), parabola)
    share = h * fade
    shift = ca.if_else(fade > 0, ca.log(ca.fmax(fade, 1e-12)) + 1.5, 0.0)
    return ca.if_else(share < 1, endless + mu * (share * (2 - 0.5 * share) - shift), 0.0)


def jacobian_forward(expression: ca.SX, z: ca.SX) -> ca.SX:
    """Return d expression / dz by forward differentiation, whose intermediate results the stages' parts share."""
    return ca.jacobian(expression, z, {"helper_options": {"enable_reverse": False}})


@dataclass(frozen=True, eq=False)
class MidpointJacobian(HoldsExpressions):
    """dx+ / d(x, u) of the explicit midpoint rule, in its factors (final).

        I + h (S_x (I + h/2 S_0) + [0 S_u])

    Parameters
    ----------
    first, middle : (n_x, n_x + n_u)
        S_0 and [S_x S_u]: the rate's derivatives by (x, u) at x and half a step later.
    step : scalar, s
        h.
    """

    first: ca.SX
    middle: ca.SX
    step: Scalar

    @property
    def shape(self) -> tuple[int, int]:
        """(n_x, n_x + n_u)."""
        return self.first.shape

    def whole(self) -> ca.SX:
        """Return the product, multiplied out."""
        (n, m), slope = self.shape, self.middle
        eye = ca.horzcat(ca.SX.eye(n), ca.SX(n, m - n))
        inner = eye + 0.5 * self.step * self.first
        by_u = ca.horzcat(ca.SX(n, n), slope[:, n:])
        return eye + self.step * (slope[:, :n] @ inner + by_u)


def midpoint(rate: ca.SX, x: ca.SX, u: ca.SX, step: Scalar) -> tuple[ca.SX, MidpointJacobian]:
    """Return the step of the explicit midpoint rule and its Jacobian by (x, u), the chain rule written out.

        x+ = x + h f(x + h/2 f(x, u), u)

    Parameters
    ----------
    rate : (n_x,)
        f(x, u).
    x, u : (n_x,), (n_u,)
        Symbols.
    step : scalar, s
        h.

    Examples
    --------
    >>> import trundle as tr
    >>> import casadi as ca
    >>> x, u = ca.SX.sym("x"), ca.SX.sym("u")
    >>> after, jacobian = tr.optimal.midpoint(u - x, x, u, 0.1)
    >>> jacobian.shape
    (1, 2)
    """
    slope = jacobian_forward(rate, ca.vertcat(x, u))
    middle = x + 0.5 * step * rate
    rate_m, slope_m = ca.substitute([rate, slope], [x], [middle])
    return x + step * rate_m, MidpointJacobian(slope, slope_m, step)


@dataclass(frozen=True, eq=False)
class Cost(HoldsExpressions):
    """A cost of (x, u, p) whose parts the optimiser treats by their structure (final).

        L = smooth + 1/2 sum_i weights_i residual_i^2 + sum_j B(inequality_j; mu_j, delta_j, fade_j)

    Weights, mu, delta and fade may depend on the parameters p, never on x and u. The Hessian is
    S'' + J_r' W J_r + J_h' B'' J_h: positive semidefinite as long as that of `smooth` is.

    Parameters
    ----------
    residual, weights : (m,)
    inequality : (k,)
        Kept >= 0 by `relaxed_barrier`.
    mu, delta : number or (k,)
        Of the barrier.
    fade : number or (k,)
        1 over the margin from which on the barrier is zero; 0: it is felt at any margin.
    smooth : scalar
        A twice differentiable part, with its exact Hessian.

    Examples
    --------
    >>> import trundle as tr
    >>> import casadi as ca
    >>> x = ca.SX.sym("x")
    >>> float(ca.evalf(ca.substitute(tr.optimal.Cost(residual=x, weights=2.0).value(), x, 3)))
    9.0
    """

    residual: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    weights: Scalar = 1.0
    inequality: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    mu: Scalar = 0.1
    delta: Scalar = 0.1
    fade: Scalar = 0.0
    smooth: ca.SX = field(default_factory=lambda: ca.SX(1, 1))

    def __post_init__(self) -> None:
        for name, size in (("weights", self.residual.numel()), *((n, self.rows) for n in ("mu", "delta", "fade"))):
            object.__setattr__(self, name, _column(name, getattr(self, name), size))
        if self.smooth.numel() != 1:
            raise InputError("smooth", self.smooth.shape, "a scalar expression")

    @property
    def rows(self) -> int:
        """Number of inequalities."""
        return self.inequality.numel()

    def value(self) -> ca.SX:
        """Return L."""
        total = self.smooth + 0.5 * ca.dot(self.weights, self.residual**2)
        return ca.densify(total + ca.sum1(relaxed_barrier(self.inequality, self.mu, self.delta, self.fade)))

    def by_rows(self, z: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return J (m + k, n), e and D (m + k,): without `smooth` the gradient is J' e, the Hessian J' diag(D) J."""
        h, residual, fade = self.inequality, self.residual, self.fade
        far, share = ca.fmax(h, self.delta), h * self.fade
        endless = ca.if_else(h > self.delta, -self.mu / far, self.mu * (h - 2 * self.delta) / self.delta**2)
        first = ca.if_else(share < 1, endless + self.mu * fade * (2 - share), 0)
        second = ca.if_else(share < 1, self.mu / far**2 - self.mu * fade**2, 0)
        J = jacobian_forward(ca.vertcat(residual, h), z)
        return J, ca.vertcat(self.weights * residual, first), ca.vertcat(self.weights, second)

    def derivatives(self, z: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the gradient (n,) and the generalised Gauss-Newton Hessian (n, n) by the symbols `z` (n,)."""
        hessian, gradient = ca.hessian(self.smooth, z)
        if self.residual.numel() + self.rows:
            J, e, D = self.by_rows(z)
            gradient += J.T @ e
            hessian += J.T @ (ca.diag(D) @ J)
        # One triangle, mirrored: the other one's products would be computed again.
        return gradient, ca.triu2symm(ca.triu(hessian))


@dataclass(frozen=True, eq=False)
class ControlProblem(HoldsExpressions):
    """Minimise sum_k L(x_k, u_k, p_k) + E(x_N, p_N) with x_(k+1) = F(x_k, u_k, p_k) and x_0 given (final).

    References, weights, barrier widths and the mode of each stage are parameters: changing them compiles nothing.

    Parameters
    ----------
    x, u, p : (n_x,), (n_u,), (n_p,)
        Symbols.
    step : (n_x,)
        F(x, u, p).
    stage, end : Cost
        L of (x, u, p) and E of (x, p).
    stages : int
        N.
    step_jacobian : (n_x, n_x + n_u) or MidpointJacobian, optional
        dF/d(x, u), where a chain rule is cheaper than differentiating `step`; see `midpoint`.

    Raises
    ------
    InputError
        If sizes do not fit or an expression depends on anything but its arguments.

    Examples
    --------
    >>> import casadi as ca
    >>> x, u, p = ca.SX.sym("x"), ca.SX.sym("u"), ca.SX.sym("p")  # p: where x should be
    >>> stage, end = tr.optimal.Cost(residual=u), tr.optimal.Cost(residual=x - p, weights=10.0)
    >>> problem = tr.optimal.ControlProblem(x, u, p, x + 0.1 * u, stage, end, stages=10)
    >>> problem.nx, problem.nu, problem.n_p
    (1, 1, 1)
    """

    x: ca.SX
    u: ca.SX
    p: ca.SX
    step: ca.SX
    stage: Cost
    end: Cost
    stages: int
    step_jacobian: ca.SX | MidpointJacobian | None = None

    def __post_init__(self) -> None:
        if self.stages < 1:
            raise InputError("stages", self.stages, "an integer >= 1")
        if self.step.numel() != self.nx:
            raise InputError("step", self.step.shape, f"{self.nx} entries, as x")
        if self.step_jacobian is not None and self.step_jacobian.shape != (self.nx, self.nx + self.nu):
            raise InputError("step_jacobian", self.step_jacobian.shape, f"a matrix {self.nx} x {self.nx + self.nu}")
        z, state = ca.vertcat(self.x, self.u, self.p), ca.vertcat(self.x, self.p)
        along = (("step", self.step), ("stage", self.stage.value()))
        check_symbols([*((*entry, z, "x, u and p") for entry in along), ("end", self.end.value(), state, "x and p")])

    @property
    def nx(self) -> int:
        """Number of states."""
        return self.x.numel()

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return self.u.numel()

    @property
    def n_p(self) -> int:
        """Number of parameters of a stage."""
        return self.p.numel()

    @cached_property
    def functions(self) -> Mapping[str, ca.Function]:
        """The functions the optimiser calls.

        ``step``: (x, u, p) -> F, L. ``slope``: (x, u, p) -> (dF/d(x, u))', gradient and Hessian of L by (x, u).
        ``end``: (x, p) -> E. ``end_slope``: (x, p) -> gradient and Hessian of E. All dense.
        """
        x, u, p = self.x, self.u, self.p
        z = ca.vertcat(x, u)
        given = self.step_jacobian
        jacobian = given.whole() if isinstance(given, MidpointJacobian) else given
        jacobian = jacobian_forward(self.step, z) if jacobian is None else jacobian
        made = {
            "step": ([x, u, p], [self.step, self.stage.value()]),
            "slope": ([x, u, p], [jacobian.T, *self.stage.derivatives(z)]),
            "end": ([x, p], [self.end.value()]),
            "end_slope": ([x, p], list(self.end.derivatives(x))),
        }
        functions: dict[str, ca.Function] = {}
        for name, (inputs, outputs) in made.items():
            functions[name] = ca.Function(f"ilqr_{name}", inputs, [ca.densify(e) for e in ca.cse(outputs)])
        return functions


def _column(name: str, value: Scalar, size: int) -> ca.SX:
    column = ca.SX(value) if isinstance(value, ca.SX | ca.DM) else ca.SX(ca.DM(np.asarray(value, dtype=np.float64)))
    if column.numel() == 1:
        column = ca.repmat(column, size, 1)
    if column.numel() != size:
        raise InputError(name, column.shape, f"a number or {size} of them")
    return ca.densify(ca.vec(column))

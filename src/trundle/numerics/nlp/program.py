"""Program: a nonlinear program made of repeated elements, with assembled sparse exact derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
import scipy.sparse as sp

from trundle.checks import FloatArray, array, integer
from trundle.errors import InputError
from trundle.numerics.nlp.elements import (
    ElementGroup,
    gradient_scatter,
    hessian_scatter,
    jacobian_scatter,
    pattern_of,
    to_casadi,
)
from trundle.threads import cached_property


@dataclass(frozen=True)
class Assembled:
    """A program as CasADi functions.

    Attributes
    ----------
    f, g : z -> cost; z -> c (m,)
    grad_f, jac_g : (z, p) -> (cost, gradient (n,)); (z, p) -> (c, Jacobian (m, n)); p is empty
    hess_lag : (z, p, sigma, lam) -> upper triangle (n, n) of the Hessian of sigma f + lam'c
    """

    f: ca.Function
    g: ca.Function
    grad_f: ca.Function
    jac_g: ca.Function
    hess_lag: ca.Function


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise f(z) with lower <= c(z) <= upper and z_lower <= z <= z_upper, where elements o enter linearly (final).

        c(z) = A z + sum_g B_g vec(o_g) + c0 ,   f(z) = a'z + sum_g b_g'vec(o_g) + f0

    Trapezoid, Hermite-Simpson (separated), multiple shooting and the implicit midpoint rule are of this form; a
    free duration is one more entry of every element's w. The derivatives are those of the elements, compiled, and
    constant sparse matrices: exact at the price of the elements.

    Parameters
    ----------
    size : int
        n, the number of unknowns.
    groups : tuple of ElementGroup
    A : sparse (m, n)
    lower, upper : (m,)
        Bounds of c; equal: an equation; infinite: none.
    c0 : (m,), optional
    z_lower, z_upper : (n,), optional
    a : (n,), optional
    f0 : float
    names : mapping of str to slice
        What rows of c mean, for messages.

    Raises
    ------
    InputError
        If shapes do not fit, a number is not finite or a lower bound is above the upper one.
    """

    size: int
    groups: tuple[ElementGroup, ...]
    A: sp.csc_matrix
    lower: FloatArray
    upper: FloatArray
    c0: FloatArray | None = None
    z_lower: FloatArray | None = None
    z_upper: FloatArray | None = None
    a: FloatArray | None = None
    f0: float = 0.0
    names: Mapping[str, slice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = integer("size", self.size, minimum=1)
        A = sp.csc_matrix(self.A, dtype=float)
        m = A.shape[0]
        if A.shape[1] != n or not np.all(np.isfinite(A.data)):
            raise InputError("A", A.shape, f"a matrix of m x {n} finite numbers")
        for group in self.groups:
            if group.B.shape[0] != m:
                raise InputError("B", group.B.shape, f"a matrix with {m} rows, as A")
            if group.index.max() >= n:
                raise InputError("index", int(group.index.max()), f"below {n}, the number of unknowns")
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "c0", array("c0", np.zeros(m) if self.c0 is None else self.c0, (m,)))
        object.__setattr__(self, "a", array("a", np.zeros(n) if self.a is None else self.a, (n,)))
        for low, high, count in (("lower", "upper", m), ("z_lower", "z_upper", n)):
            bounds = _bounds(getattr(self, low), getattr(self, high), count, low, high)
            for name, bound in zip((low, high), bounds, strict=True):
                object.__setattr__(self, name, bound)

    @property
    def rows(self) -> int:
        """Number of constraint rows m."""
        return self.A.shape[0]

    def evaluate(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Return the cost and c (m,) at z (n,)."""
        return float(self.assembled.f(z)), np.array(self.assembled.g(z)).ravel()

    def gradient(self, z: FloatArray) -> FloatArray:
        """Return the cost's gradient (n,)."""
        return np.array(self.assembled.grad_f(z, [])[1]).ravel()

    def jacobian(self, z: FloatArray) -> sp.csc_matrix:
        """Return dc/dz (m, n), sparse."""
        return _from_casadi(self.assembled.jac_g(z, [])[1])

    def hessian(self, z: FloatArray, sigma: float, lam: FloatArray) -> sp.csc_matrix:
        """Return the symmetric Hessian (n, n) of sigma f + lam'c, sparse, both triangles."""
        upper = _from_casadi(self.assembled.hess_lag(z, [], sigma, lam))
        return sp.csc_matrix(upper + sp.triu(upper, 1).T)

    def violation(self, z: FloatArray) -> FloatArray:
        """Return how far each c_i and then each z_i is outside its bounds, over max(1, |bound|), (m + n,).

        NaN counts as infinite.
        """
        return self.violation_of(z, self.evaluate(z)[1])

    def violation_of(self, z: FloatArray, c: FloatArray) -> FloatArray:
        """Return `violation` where c (m,) at z (n,) is known."""
        return np.concatenate([_outside(c, self.lower, self.upper), _outside(z, self.z_lower, self.z_upper)])

    def worst(self, z: FloatArray) -> str:
        """Return in words which bound is violated most."""
        violation = self.violation(z)
        i = int(np.argmax(violation))
        if not violation[i] > 0:
            return "no bound is violated"
        if i >= self.rows:
            return f"unknown {i - self.rows} is {violation[i]:.3g} outside its bounds"
        named = [(name, i - s.start) for name, s in self.names.items() if i in range(*s.indices(self.rows))]
        label = f"{named[0][0]}[{named[0][1]}]" if named else f"constraint {i}"
        return f"{label} is {violation[i]:.3g} outside its bounds"

    @cached_property
    def assembled(self) -> Assembled:
        """The program's functions; the first use compiles those of the elements."""
        z, p = ca.MX.sym("z", self.size), ca.MX.sym("p", 0)
        sigma, lam = ca.MX.sym("sigma"), ca.MX.sym("lam", self.rows)
        inputs = [ca.reshape(z[g.index.ravel().tolist()], g.index.shape[1], g.count) for g in self.groups]
        f, gradient = self._cost(z, inputs)
        c, jacobian = self._constraints(z, inputs)
        hessian = self._hessian(inputs, sigma, lam)
        # IPOPT asks for c alone much more often than with the Jacobian: two graphs, not one.
        return Assembled(
            f=ca.Function("f", [z], [f]),
            g=ca.Function("g", [z], [c]),
            grad_f=ca.Function("nlp_grad_f", [z, p], [f, gradient], ["x", "p"], ["f", "grad_f_x"]),
            jac_g=ca.Function("nlp_jac_g", [z, p], [c, jacobian], ["x", "p"], ["g", "jac_g_x"]),
            hess_lag=ca.Function(
                "nlp_hess_l", [z, p, sigma, lam], [hessian], ["x", "p", "lam_f", "lam_g"], ["triu_hess_gamma_x_x"]
            ),
        )

    def _cost(self, z: ca.MX, inputs: list[ca.MX]) -> tuple[ca.MX, ca.MX]:
        f, gradient = ca.dot(ca.DM(_read_only_array(self.a)), z) + self.f0, ca.MX(ca.DM(_read_only_array(self.a)))
        for group, w in zip(self.groups, inputs, strict=True):
            kernel, costs = group.kernel, group.kernel.costs
            if not costs:
                continue
            parameters = ca.DM(_read_only_array(group.parameters).T)
            (o,) = kernel.at("cost", group.count, w, parameters)
            f += ca.dot(ca.DM(group.weights[group.columns(costs)]), ca.vec(o))
            slope = kernel.at("gradient", group.count, w, parameters)[1]
            scatter = gradient_scatter(group, kernel.pattern("gradient", 1))
            gradient += scatter.matrix(np.arange(self.size)) @ _nonzeros(slope)
        return f, ca.densify(gradient)

    def _constraints(self, z: ca.MX, inputs: list[ca.MX]) -> tuple[ca.MX, ca.MX]:
        n, m = self.size, self.rows
        c = to_casadi(self.A) @ z + ca.DM(_read_only_array(self.c0))
        A = sp.coo_matrix(self.A)
        parts = []
        for group, w in zip(self.groups, inputs, strict=True):
            kernel, rows = group.kernel, group.kernel.rows
            if not rows:
                continue
            parameters = ca.DM(_read_only_array(group.parameters).T)
            (o,) = kernel.at("value", group.count, w, parameters)
            c += to_casadi(group.B[:, group.columns(rows)]) @ ca.vec(o)
            slope = kernel.at("jacobian", group.count, w, parameters)[1]
            parts.append((jacobian_scatter(group, kernel.pattern("jacobian", 1), m), _nonzeros(slope)))
        fixed = A.col.astype(np.intp) * m + A.row
        keys = np.unique(np.concatenate([fixed, *(s.key for s, _ in parts)]))
        constant = np.zeros(len(keys))
        np.add.at(constant, np.searchsorted(keys, fixed), A.data)
        return ca.densify(c), ca.MX(pattern_of(keys, m, n), _sum(constant, [s.matrix(keys) @ v for s, v in parts]))

    def _hessian(self, inputs: list[ca.MX], sigma: ca.MX, lam: ca.MX) -> ca.MX:
        parts = []
        for group, w in zip(self.groups, inputs, strict=True):
            kernel, used = group.kernel, group.kernel.used
            if not used or kernel.pattern("hessian").nnz() == 0:
                continue
            at = group.columns(used)
            nu = to_casadi(group.B[:, at].T) @ lam + sigma * ca.DM(group.weights[at])
            multipliers = ca.reshape(nu, -1, group.count)
            (bend,) = kernel.at("hessian", group.count, w, ca.DM(_read_only_array(group.parameters).T), multipliers)
            parts.append((hessian_scatter(group, kernel.pattern("hessian"), self.size), _nonzeros(bend)))
        keys = np.unique(np.concatenate([np.zeros(0, np.intp), *(s.key for s, _ in parts)]))
        values = _sum(np.zeros(len(keys)), [s.matrix(keys) @ v for s, v in parts])
        return ca.MX(pattern_of(keys, self.size, self.size), values)


def _read_only_array(value: FloatArray | None) -> FloatArray:
    return np.zeros(0) if value is None else value


def _nonzeros(matrix: ca.MX) -> ca.MX:
    return ca.sparsity_cast(matrix, ca.Sparsity.dense(matrix.nnz(), 1))


def _sum(constant: FloatArray, parts: list[ca.MX]) -> ca.MX:
    total = ca.MX(ca.DM(constant))
    for part in parts:
        total = total + part
    return ca.densify(total)


def _from_casadi(matrix: ca.DM) -> sp.csc_matrix:
    pattern = matrix.sparsity()
    return sp.csc_matrix((np.array(matrix.nonzeros()), pattern.row(), pattern.colind()), shape=matrix.shape)


def _outside(value: FloatArray, lower: FloatArray | None, upper: FloatArray | None) -> FloatArray:
    low, high = _read_only_array(lower), _read_only_array(upper)
    scale_low = np.maximum(1.0, np.abs(np.where(np.isfinite(low), low, 0.0)))
    scale_high = np.maximum(1.0, np.abs(np.where(np.isfinite(high), high, 0.0)))
    outside = np.maximum(np.maximum((low - value) / scale_low, (value - high) / scale_high), 0.0)
    return np.where(np.isfinite(value), outside, np.inf)


def _bounds(lower: FloatArray | None, upper: FloatArray | None, count: int, low: str, high: str) -> list[FloatArray]:
    bounds = []
    for name, given, default in ((low, lower, -np.inf), (high, upper, np.inf)):
        bound = np.full(count, default) if given is None else np.array(given, dtype=float)
        if bound.shape != (count,) or np.any(np.isnan(bound)) or np.any(bound == -default):
            raise InputError(name, given, f"an array of {count} numbers, {default:+g} for none")
        bound.setflags(write=False)
        bounds.append(bound)
    crossed = np.flatnonzero(bounds[0] > bounds[1])
    if len(crossed):
        i = int(crossed[0])
        raise InputError(f"{low}[{i}]", float(bounds[0][i]), f"<= {high}[{i}] = {bounds[1][i]:g}")
    return bounds

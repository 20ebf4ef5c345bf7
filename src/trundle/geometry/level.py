"""Level sets: boundaries given by one equation f(x) = 0; no charts, no singular points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.geometry.patch import Patch
from trundle.numerics.space import dot, tangents
from trundle.threads import cached_property


class Level(ABC):
    """A boundary f(x) = 0 with material where f < 0 (theory, "Surfaces").

    Contract for a subclass:

    1. ``d`` is 2 or 3.
    2. ``level(x)`` maps a point (d,), m, to a scalar that is negative inside the material, positive
       outside, with a gradient that does not vanish near the boundary (a container such as a dish is
       the material AROUND the hollow: f > 0 in the hollow).

    Derived: n = grad f/|grad f| points out of the material; the shape tensor is
    dn/dx = (I - n n') hess f (I - n n') / |grad f|.
    """

    d: int

    @abstractmethod
    def level(self, x: ca.SX) -> ca.SX:
        """Return f at `x` (d,): < 0 in the material, > 0 outside."""

    def patch(self, x: ca.SX) -> Patch:
        """Return the `Patch` at the boundary point `x` (d,), m; the tangents are `space.tangents(n)`."""
        n, T, K = self._derivatives.call([x])
        return Patch(x=x, n=n, T=T, K=K)

    def value_and_gradient(self, x: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return f and grad f (d,) at `x` (d,)."""
        f, gradient = self._value_and_gradient.call([x])
        return f, gradient

    @cached_property
    def bends(self) -> FloatArray | None:
        """Return the eigenvalues (d,) of the Hessian of a quadratic f; None of any other."""
        x = ca.SX.sym("x", self.d)
        hessian = ca.hessian(self.level(x), x)[0]
        if ca.depends_on(hessian, x):
            return None
        return np.asarray(np.linalg.eigvalsh(np.array(ca.evalf(ca.densify(hessian)))), dtype=np.float64)

    @cached_property
    def _value_and_gradient(self) -> ca.Function:
        x = ca.SX.sym("x", self.d)
        f = self.level(x)
        return ca.Function("value_and_gradient", [x], [f, ca.gradient(f, x)], {"allow_free": True})

    @cached_property
    def _derivatives(self) -> ca.Function:
        x = ca.SX.sym("x", self.d)
        hessian, gradient = ca.hessian(self.level(x), x)
        norm = ca.sqrt(dot(gradient, gradient))
        n = gradient / norm
        T = tangents(n)
        return ca.Function("level_derivatives", [x], [n, T, T.T @ hessian @ T / norm], {"allow_free": True})


@dataclass(frozen=True)
class ExpressionLevel(Level):
    """A level set given by a CasADi function x (d,) -> f, negative in the material."""

    function: ca.Function

    @property
    def d(self) -> int:  # type: ignore[override]
        """Dimension: the length of the function's input."""
        return int(self.function.size1_in(0))

    def level(self, x: ca.SX) -> ca.SX:
        """Return ``function(x)``."""
        return self.function(x)

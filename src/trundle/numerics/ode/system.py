"""A system of ordinary differential equations with margins and a projection, as CasADi functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from trundle.checks import FloatArray
from trundle.errors import InputError

if TYPE_CHECKING:
    from trundle.numerics.ode.native import Functions


@dataclass(frozen=True)
class OdeSystem:
    """``x' = rate(t, x, p)`` with margins that end the motion and a projection onto its constraints.

    Attributes
    ----------
    rate : casadi.Function
        (t, x (n,), p) -> x' (n,).
    margins : casadi.Function, optional
        (t, x, p) -> g (m,), each positive while the mode holds; a margin that reaches zero from above is an event.
    projection : casadi.Function, optional
        (t, x, p) -> x (n,), applied after every step and to every sampled state but the initial one.

    Raises
    ------
    InputError
        If a function has other arguments or shapes.
    """

    rate: ca.Function
    margins: ca.Function | None = None
    projection: ca.Function | None = None

    def __post_init__(self) -> None:
        for name, function in (("rate", self.rate), ("margins", self.margins), ("projection", self.projection)):
            if function is None:
                continue
            if function.n_in() != 3 or function.n_out() != 1 or function.size_in(0) != (1, 1):
                raise InputError(name, str(function), "a function (t, x, p) with one output and a scalar t")
            rows = self.margin_count if name == "margins" else self.size
            if function.size_out(0) != (rows, 1) or function.size_in(1) != (self.size, 1) or self.size == 0:
                raise InputError(name, str(function), f"a function with a state of {self.size} and {rows} results")
            if function.size_in(2) != self.rate.size_in(2) or function.size_in(2)[1] > 1:
                raise InputError(name, str(function), "a function with the parameters of the rate, as one column")

    @property
    def size(self) -> int:
        """Number of states n."""
        return self.rate.size1_out(0)

    @property
    def instructions(self) -> int:
        """Number of instructions of all functions together."""
        functions = (self.rate, self.margins, self.projection)
        return sum(function.n_instructions() for function in functions if function is not None)

    @property
    def parameter_count(self) -> int:
        """Number of parameters."""
        return self.rate.numel_in(2)

    @property
    def margin_count(self) -> int:
        """Number of margins m."""
        return self.margins.size1_out(0) if self.margins is not None else 0


class NativeSystem(ABC):
    """The same as functions of C that no expression stands behind.

    Contract for a subclass: ``size``, ``parameter_count`` and ``margin_count`` as of `OdeSystem`; `functions` returns
    rate, margins and projection (the last two may be None) with work memory that is used by one run at a time; the
    other methods call them.
    """

    size: int
    parameter_count: int
    margin_count: int

    @abstractmethod
    def functions(self) -> Functions:
        """Return rate, margins and projection with work memory of their own."""

    @abstractmethod
    def rate(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return x' (n,)."""

    @abstractmethod
    def margins(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the margins (m,)."""

    @abstractmethod
    def projection(self, t: float, x: FloatArray, p: FloatArray) -> FloatArray:
        """Return the state (n,) on its constraints."""

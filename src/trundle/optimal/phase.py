"""Phase: one mode of a model over one stretch of time, with what it costs and what it must keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, Converted, FloatArray, array, number, positive
from trundle.errors import InputError
from trundle.numerics.compiled.symbols import check_symbols
from trundle.numerics.expressions import HoldsExpressions


@dataclass(frozen=True, eq=False)
class Condition(HoldsExpressions):
    """lower <= expression <= upper, each entry.

    Parameters
    ----------
    name : str
        For messages and reports.
    expression : (m,)
        Of a phase's x and u; of two end states in a `Link`.
    lower, upper : number or (m,)
        Equal: an equation; infinite: no bound.
    inner : bool
        Among a phase's ``nodes``: whether its last node is left out.
    """

    name: str
    expression: ca.SX
    lower: ArrayField = ArrayField(0.0)
    upper: ArrayField = ArrayField(0.0)
    inner: bool = False

    def __post_init__(self) -> None:
        m = self.expression.numel()
        for side in ("lower", "upper"):
            bound = np.array(np.broadcast_to(np.asarray(getattr(self, side), dtype=np.float64), (m,)))
            if np.any(np.isnan(bound)):
                raise InputError(f"{self.name}.{side}", getattr(self, side), "a number or an infinity, not NaN")
            bound.setflags(write=False)
            object.__setattr__(self, side, bound)
        if np.any(self.lower > self.upper):
            raise InputError(f"{self.name}.lower", self.lower, f"not above upper = {self.upper}")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.expression.numel()


@dataclass(frozen=True, eq=False)
class Phase(HoldsExpressions):
    """x' = f(x, u) over a duration, with costs and constraints; what every back end of planning reads.

    Parameters
    ----------
    name : str
    x, u : (n_x,), (n_u,)
        CasADi symbols.
    rate : (n_x,)
        f(x, u).
    duration : float or (low, high), s
        Fixed, or free between bounds.
    path : sequence of Condition
        Of (x, u), kept at every node.
    running : scalar
        L(x, u); the cost is its integral over the phase.
    terminal : scalar
        Cost of the end state, an expression of x.
    start, end : sequence of Condition
        Of (x, u), at the ends.
    x_bounds, u_bounds : (lower, upper)
        Bounds of states and inputs, numbers or arrays.
    residual : (m,)
        Equations 0 = r(x, u) that fix those inputs the rate leaves open, as joint torques and contact forces that
        come with accelerations (inverse dynamics).
    implied : (m,) symbols
        What `residual` fixes where it is linear in further symbols, as accelerations and contact forces that come
        with torques; for multiple shooting.
    nodes : sequence of Condition
        Of x, kept at the end of every interval of the mesh.
    clock : symbol, optional
        The share of the phase that is over, 0 to 1, on which `path`, `nodes` and `running` may depend; below it
        (1 + m,) symbols of `signals`.
    signals : (N, m), optional
        Numbers that `running` may depend on, such as measurements, one row for each interval of the mesh.
    open_end : bool
        Whether `path` stops before the last node, where `end` alone says what holds: a contact let go.
    share : (low, high), optional
        Bounds of the duration over that of all phases.
    """

    name: str
    x: ca.SX
    u: ca.SX
    rate: ca.SX
    duration: Converted[float | Sequence[float], tuple[float, float]] = Converted()
    path: Sequence[Condition] = ()
    running: ca.SX = field(default_factory=lambda: ca.SX(1, 1))
    terminal: ca.SX = field(default_factory=lambda: ca.SX(1, 1))
    start: Sequence[Condition] = ()
    end: Sequence[Condition] = ()
    x_bounds: Converted[tuple[ArrayLike, ArrayLike], tuple[FloatArray, FloatArray]] = Converted((-np.inf, np.inf))
    u_bounds: Converted[tuple[ArrayLike, ArrayLike], tuple[FloatArray, FloatArray]] = Converted((-np.inf, np.inf))
    open_end: bool = False
    residual: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    implied: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    nodes: Sequence[Condition] = ()
    clock: ca.SX | None = None
    signals: FloatArray | None = None
    share: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.rate.numel() != self.nx:
            raise InputError(f"{self.name}.rate", self.rate.shape, f"{self.nx} entries, as x")
        if np.ndim(self.duration) == 0:
            length = positive(f"{self.name}.duration", self.duration, "s")
            object.__setattr__(self, "duration", (length, length))
        else:
            low = positive(f"{self.name}.duration", self.duration[0], "s")
            high = number(f"{self.name}.duration", self.duration[1], minimum=low, unit="s")
            object.__setattr__(self, "duration", (low, high))
        for name, size in (("x_bounds", self.nx), ("u_bounds", self.nu)):
            object.__setattr__(self, name, _bounds(f"{self.name}.{name}", getattr(self, name), size))
        if self.signals is not None:
            width = 0 if self.clock is None else self.clock.numel() - 1
            object.__setattr__(self, "signals", array(f"{self.name}.signals", self.signals, (None, width)))
        _check_symbols(self)

    @property
    def nx(self) -> int:
        """Number of states."""
        return self.x.numel()

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return self.u.numel()

    @property
    def free(self) -> bool:
        """Whether the duration is free."""
        return self.duration[0] < self.duration[1]


def _bounds(key: str, bounds: tuple[ArrayLike, ArrayLike], size: int) -> tuple[FloatArray, FloatArray]:
    low, high = (np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), (size,))) for b in bounds)
    if np.any(np.isnan(low)) or np.any(np.isnan(high)) or np.any(low > high):
        raise InputError(key, bounds, "lower <= upper, without NaN")
    return low, high


def _check_symbols(phase: Phase) -> None:
    both = ca.vertcat(phase.x, phase.u, phase.implied)
    timed = both if phase.clock is None else ca.vertcat(both, phase.clock)
    lasting = [("running", phase.running), *((c.name, c.expression) for c in (*phase.path, *phase.nodes))]
    ends = ((c.name, c.expression) for c in (*phase.start, *phase.end))
    along = [("rate", phase.rate), ("residual", phase.residual), *ends]
    entries = [(f"{phase.name}.{name}", expression, timed, "x and u") for name, expression in lasting]
    entries += [(f"{phase.name}.{name}", expression, both, "x and u") for name, expression in along]
    check_symbols([*entries, (f"{phase.name}.terminal", phase.terminal, phase.x, "x")])

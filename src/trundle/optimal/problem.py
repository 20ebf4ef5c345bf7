"""Problem: phases in sequence, tied at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.numerics.expressions import HoldsExpressions
from trundle.optimal.phase import Condition, Phase


@dataclass(frozen=True, eq=False)
class PhaseLinkage:
    """A condition between the end state of one phase and the start state of another.

    Parameters
    ----------
    before, after : int
        Numbers of the phases; for a periodic motion ``before`` is the last and ``after`` the first.
    x_end, x_start : (n_x,)
        The symbols the condition is written with.
    condition : Condition
    p : (n_p,)
        Symbols of further unknowns of the condition, such as the impulses of an impact.
    p_bounds : (lower, upper)
        Of these, numbers or arrays.
    cost : scalar
        Of the same symbols; added as it stands, also where the problem's cost is a mean over time.
    """

    before: int
    after: int
    x_end: ca.SX
    x_start: ca.SX
    condition: Condition
    p: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    p_bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf)
    cost: ca.SX = field(default_factory=lambda: ca.SX(1, 1))

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return the bounds of p, each (n_p,)."""
        low, high = (
            np.array(np.broadcast_to(np.asarray(b, dtype=np.float64), (self.p.numel(),))) for b in self.p_bounds
        )
        if np.any(np.isnan(low)) or np.any(np.isnan(high)) or np.any(low > high):
            raise InputError(f"{self.condition.name}.p_bounds", self.p_bounds, "lower <= upper, without NaN")
        return low, high


def continuous(before: Phase, after: Phase, number: int) -> PhaseLinkage:
    """Return the link that makes phase `number` + 1 start where phase `number` ends."""
    if before.nx != after.nx:
        raise InputError("links", (before.nx, after.nx), "phases with equal states, or links given by hand")
    a, b = ca.SX.sym("x_end", before.nx), ca.SX.sym("x_start", after.nx)
    return PhaseLinkage(number, number + 1, a, b, Condition(f"{before.name} to {after.name}", a - b))


@dataclass(frozen=True, eq=False)
class OptimalControlProblem(HoldsExpressions):
    """Phases in sequence. Costs add up; as a mean over the time of all phases where `mean` says so.

    Parameters
    ----------
    phases : sequence of Phase
    links : sequence of PhaseLinkage, optional
        Default: the state is continuous from each phase to the next.
    mean : bool
        Whether running costs are divided by the sum of all durations: an integral alone drives durations down.
    total : (low, high) s
        Of that sum, where `mean`.
    """

    phases: Sequence[Phase]
    links: Sequence[PhaseLinkage] | None = None
    mean: bool = False
    total: tuple[float, float] = (0.0, np.inf)

    def __post_init__(self) -> None:
        phases = tuple(self.phases)
        if not phases:
            raise InputError("phases", self.phases, "at least one phase")
        object.__setattr__(self, "phases", phases)
        if self.links is None:
            pairs = pairwise(phases)
            object.__setattr__(self, "links", tuple(continuous(a, b, i) for i, (a, b) in enumerate(pairs)))
        for link in self.links or ():
            if not (0 <= link.before < len(phases) and 0 <= link.after < len(phases)):
                raise InputError("links", (link.before, link.after), f"numbers of phases, 0 to {len(phases) - 1}")

    def __str__(self) -> str:
        """Return phases, sizes, durations and conditions, one a line."""
        lines = []
        for phase in self.phases:
            low, high = phase.duration
            length = f"{low:g} s" if low == high else f"{low:g} to {high:g} s"
            lines.append(f"{phase.name}: {phase.nx} states, {phase.nu} inputs, {length}")
            for where, conditions in (
                ("path", phase.path),
                ("nodes", phase.nodes),
                ("start", phase.start),
                ("end", phase.end),
            ):
                lines += [f"  {where}: {c.name} ({c.size})" for c in conditions]
        lines += [f"link: {link.condition.name} ({link.condition.size})" for link in self.links or ()]
        return "\n".join(lines)

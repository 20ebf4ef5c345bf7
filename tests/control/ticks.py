"""A controller's tick, run as an export runs it, with the solver of Python in place of the one in C."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.control.tick import ControlTick
from trundle.numerics.qp.qp import QpSolver
from trundle.status import Status


def answer(tick: ControlTick, arguments: Sequence[NDArray[np.float64]], solver: str = "daqp") -> NDArray[np.float64]:
    """What a first tick gives; its first attempt must succeed."""
    shapes = (argument.shape for argument in tick.arguments.values())
    given = [ca.reshape(ca.DM(part), *shape) for part, shape in zip(arguments, shapes, strict=True)]
    memory = ca.DM.zeros(tick.begin.size1_in("memory"))
    carry, z, good = tick.begin(*given, memory)
    assert good == 1
    for stage in tick.attempts[0]:
        H, g, A, low, high = (np.array(part) for part in stage.pose(carry, z))
        solution = QpSolver(solver).solve(H, g.ravel(), np.ascontiguousarray(A.T), low.ravel(), high.ravel())
        assert solution.status is Status.SUCCESS
        z = stage.take(carry, z, solution.x)
    return np.array(tick.end(carry, z, memory, 1.0)[0]).ravel()

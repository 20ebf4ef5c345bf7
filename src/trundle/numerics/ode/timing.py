"""The time a compiled function takes, by the timer of the stepping core."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from trundle.checks import FloatArray
from trundle.errors import CompileError, InputError
from trundle.numerics.compiled.compile import native_function
from trundle.numerics.ode.native import core_library


def time_function(function: ca.Function, inputs: Sequence[FloatArray | float], count: int = 100_000) -> float:
    """Return the seconds a call of a function takes, measured by a loop in C with no Python in it.

    Parameters
    ----------
    function : casadi.Function
        A function of the VM (it is compiled first) or one returned by `compile_function`.
    inputs : sequence of array-like
        One value for each input.
    count : int
        Number of calls.

    Raises
    ------
    CompileError
        If there is no C compiler.
    """
    core = core_library()
    if core is None:
        raise CompileError("timing a compiled function needs a C compiler")
    if len(inputs) != function.n_in():
        raise InputError("inputs", len(inputs), f"{function.n_in()} values")
    native = native_function(function)
    if native is None:
        raise CompileError("timing a compiled function needs a C compiler")
    return core.time_calls(native, function, inputs, count)

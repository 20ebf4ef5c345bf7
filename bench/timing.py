"""The time a compiled function takes, by the timer of the stepping core: a loop in C with no Python in it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.errors import CompileError, InputError
from trundle.numerics.compiled import cache
from trundle.numerics.compiled.compile import NativeFunction, compile_library, function_source
from trundle.numerics.ode.native import CallStruct, call_struct, core_library, work_memory


def time_function(function: ca.Function, inputs: Sequence[FloatArray | float], count: int = 100_000) -> float:
    """Return the seconds a call of a function takes.

    Parameters
    ----------
    function : casadi.Function
        One of `trundle.numerics.compiled.compile.compile_function`, or any other, which is compiled here.
    inputs : sequence
        A value an input: a number, or an array of its entries.
    count : int
        Calls that are timed, after a tenth as many that warm the caches.
    """
    core = core_library()
    if core is None:
        raise CompileError("timing a compiled function needs a C compiler")
    if len(inputs) != function.n_in():
        raise InputError("inputs", len(inputs), f"{function.n_in()} values")
    native = _native(function)
    values = [np.array(_nonzeros(function.sparsity_in(i), value)) for i, value in enumerate(inputs)]
    results = [np.zeros(max(function.nnz_out(i), 1)) for i in range(function.n_out())]
    arg, res = (np.array([one.ctypes.data for one in many], dtype=np.uintp) for many in (values, results))
    (work,) = work_memory([native])
    call = call_struct(native, work.ctypes.data)
    timer = core.library["trundle_time_calls"]
    timer.argtypes = [ctypes.POINTER(CallStruct), *[ctypes.c_void_p] * 2, *[ctypes.c_longlong] * 3]
    timer.restype = ctypes.c_double
    arguments = ctypes.byref(call), arg.ctypes.data, res.ctypes.data, len(values), len(results)
    timer(*arguments, max(count // 10, 1))
    return float(timer(*arguments, count))


def _native(function: ca.Function) -> NativeFunction:
    """Return the C function behind one of `compile_function`, or of another one, compiled here."""
    name = function.name()
    if function.class_name() == "External":
        return NativeFunction(next(path for path in cache.entries() if path.name.startswith(f"{name[:60]}-")), name)
    name, source = function_source(function)
    path = compile_library(name, source)
    if path is None:
        raise CompileError("timing a compiled function needs a C compiler")
    return NativeFunction(path, name)


def _nonzeros(sparsity: ca.Sparsity, value: FloatArray | float) -> list[float]:
    dense = ca.DM(value)
    if dense.is_scalar() and not sparsity.is_scalar():
        dense = ca.DM.ones(sparsity.shape) * dense
    return ca.project(ca.densify(dense), sparsity).nonzeros()

"""CasADi functions as data for an interpreter in C (`interpreter_core.c`), which C calls as it calls compiled ones.

Operations are reordered into runs of the same one, each as soon as its operands are there; every value has a place of
its own. The interpreter takes 0.6 ns an operation then: CasADi's virtual machine takes 10, code of a compiler 0.2 to
0.5 after seconds of compiling.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from trundle.checks import FloatArray
from trundle.errors import CompileError
from trundle.numerics.compiled.buffered import dense
from trundle.numerics.compiled.compile import check_layout, load_core
from trundle.numerics.compiled.tape import OPERATIONS

_KNOWN = {*OPERATIONS, ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT}
Operation = tuple[int, int, int]
"""Number in C, and the values it is of."""


def interpret_function(function: ca.Function) -> InterpretedFunction | None:
    """Return a function, its outputs in full, as C can call it; None without the core, or where it calls others."""
    library = load_core("trundle.numerics.compiled", "interpreter_core")
    if library is None or not function.is_a("SXFunction"):
        return None
    full = dense(function)
    operations = {full.instruction_id(k) for k in range(full.n_instructions())}
    return InterpretedFunction(_core(library), full) if operations <= _KNOWN else None


class ProgramStruct(ctypes.Structure):
    """Mirror of ``Program``."""

    _fields_ = [
        *((name, ctypes.c_longlong) for name in ("constants", "inputs", "outputs", "results")),
        *((name, ctypes.c_void_p) for name in ("in_size", "out_size", "constant", "code", "out")),
    ]


class InterpretedFunction:
    """A function of SX as C can call it without a compiler; attributes as of `NativeFunction` (final)."""

    def __init__(self, core: ctypes.CDLL, function: ca.Function) -> None:
        inputs = [function.nnz_in(i) for i in range(function.n_in())]
        outputs = [function.nnz_out(i) for i in range(function.n_out())]
        program = _program(function, inputs, outputs)
        sizes = [np.array(counts, dtype=np.int64) for counts in (inputs, outputs)]
        self._kept = *sizes, program.constants, program.code, program.out
        counts = len(program.constants), len(inputs), len(outputs), program.results
        self._rows, self._width, self._one = (
            core["interpreter_rows"],
            sum(outputs),
            (len(inputs), len(outputs)) == (1, 1),
        )
        self._rows.argtypes = [ctypes.c_longlong] * 2 + [ctypes.c_void_p] * 3
        self._struct = ProgramStruct(*counts, *(array.ctypes.data for array in self._kept))
        values = len(program.constants) + sum(inputs) + program.results
        self.work_sizes = (max(len(inputs), 3), max(len(outputs), 1), 1, values + 1)
        self.address = ctypes.cast(core["interpreter_run"], ctypes.c_void_p).value
        alone = ctypes.PyDLL(core._name)  # programs come and go one at a time
        self.memory = int(alone["interpreter_add"](ctypes.byref(self._struct)))
        if not self.memory:
            raise CompileError("the interpreter has no room for further functions")
        weakref.finalize(self, alone["interpreter_remove"], ctypes.c_longlong(self.memory)).atexit = False

    def rows(self, arguments: FloatArray) -> FloatArray:
        """Return the values (m, k) of a function of one input and one output at the rows of `arguments` (m, n)."""
        if not self._one:
            raise TypeError("a function of one input and one output has values at rows")
        given = np.ascontiguousarray(arguments, dtype=np.float64)
        found, work = np.empty((len(given), self._width)), np.empty(self.work_sizes[3])
        self._rows(self.memory, len(given), *(values.ctypes.data for values in (given, found, work)))
        return found


@lru_cache(maxsize=4)
def _core(library: ctypes.CDLL) -> ctypes.CDLL:
    check_layout(library, {"interpreter_program_size": ProgramStruct})
    return library


@dataclass(frozen=True)
class _Program:
    """What the interpreter reads; `results` is the number of operations."""

    constants: FloatArray
    code: NDArray[np.int32]
    out: NDArray[np.int32]
    results: int


def _program(function: ca.Function, inputs: Sequence[int], outputs: Sequence[int]) -> _Program:
    """Return a function as data; values are numbered constants first, then inputs, then what operations give."""
    kinds = [function.instruction_id(k) for k in range(function.n_instructions())]
    constants = [function.instruction_constant(k) for k, kind in enumerate(kinds) if kind == ca.OP_CONST]
    in_at = np.cumsum([len(constants), *inputs]).tolist()
    out_at = np.cumsum([0, *outputs]).tolist()
    known, value, out = in_at[-1], {}, [0] * out_at[-1]
    operations: list[Operation] = []
    seen = 0
    for k, kind in enumerate(kinds):
        to = function.instruction_output(k)
        of = function.instruction_input(k)
        if kind == ca.OP_CONST:
            value[to[0]] = seen
            seen += 1
        elif kind == ca.OP_INPUT:
            value[to[0]] = in_at[of[0]] + of[1]
        elif kind == ca.OP_OUTPUT:
            out[out_at[to[0]] + to[1]] = value[of[0]]
        else:
            operations.append((OPERATIONS[kind], value[of[0]], value[of[-1]]))
            value[to[0]] = known + len(operations) - 1
    code, place = _in_runs(operations, known)
    return _Program(
        constants=np.array(constants, dtype=np.float64),
        code=np.array(code, dtype=np.int32),
        out=np.array([place[one] for one in out], dtype=np.int32),
        results=len(operations),
    )


def _in_runs(operations: Sequence[Operation], known: int) -> tuple[list[int], list[int]]:
    """Return operations in runs of the same one, and the place of each value, of which the first `known` stay.

    Of those that are possible the most frequent one comes next.
    """
    users: list[list[int]] = [[] for _ in operations]
    missing = [0] * len(operations)
    possible: dict[int, list[int]] = {}
    for k, (kind, *of) in enumerate(operations):
        needed = {value - known for value in of if value >= known}
        missing[k] = len(needed)
        for one in needed:
            users[one].append(k)
        if not needed:
            possible.setdefault(kind, []).append(k)
    place = list(range(known + len(operations)))
    code, done = [], 0
    while possible:
        kind = max(possible, key=lambda one: len(possible[one]))
        run, begin = possible.pop(kind), len(code)
        code += [kind, 0]
        for k in run:  # grows on the way
            _, x, y = operations[k]
            code += [place[x], place[y]]
            place[known + k] = known + done
            done += 1
            for user in users[k]:
                missing[user] -= 1
                if not missing[user]:
                    its = operations[user][0]
                    (run if its == kind else possible.setdefault(its, [])).append(user)
        code[begin + 1] = len(run)
    return code, place

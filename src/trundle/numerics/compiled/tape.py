"""CasADi functions as tapes: their instructions as data for a small compiled loop, each done at eight points at once.

Straight-line C of 100 000 operations takes a compiler minutes, and runs no faster than its code is fetched; CasADi's
virtual machine spends most of its time on reading instructions. A tape compiles in half a second and takes a seventh
of the machine's time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import resources

import casadi as ca
import numpy as np

from trundle.errors import CompileError

POINTS = 8
"""Points at once: fewer read the tape more often, more do not fit the processor's cache."""
_HEADER = resources.files("trundle.numerics.compiled").joinpath("operations.h").read_text("utf-8")
OPERATIONS = {getattr(ca, f"OP_{name}"): number for number, name in enumerate(re.findall(r"EACH\((\w+), ", _HEADER))}
"""Numbers in C of operations, by CasADi's."""
_MOST = 2**19  # words: places of an instruction are smaller
_OCTAL = [f"\\{byte:03o}" for byte in range(256)]


def tape_sources(functions: Mapping[str, ca.Function]) -> dict[str, str]:
    """Return the C files, by name, of external functions with the names and values of `functions` at `POINTS` points.

    Input i of the external function is (n_i, POINTS) for an input of n_i entries, and its outputs stand side by side,
    as those of ``function.map(POINTS)``.

    Parameters
    ----------
    functions : mapping of str to casadi.Function
        Of SX expressions, by the C names of what is made of them.

    Raises
    ------
    CompileError
        If a function calls another one, or is too long.
    """
    parts = [_tape(name, function) for name, function in functions.items()]
    header = resources.files("trundle.numerics.compiled").joinpath("tape.h").read_text("utf-8")
    text = "\n".join([f"#define POINTS {POINTS}", '#include "tape.h"', *parts])
    return {"operations.h": _HEADER, "tape.h": header, "functions.c": text}


def _tape(name: str, function: ca.Function) -> str:
    """Return the C of one function."""
    code, constants = [], []
    of_input, of_output, of_constant = range(len(OPERATIONS), len(OPERATIONS) + 3)
    for k in range(function.n_instructions()):
        operation, to = function.instruction_id(k), function.instruction_output(k)
        of = function.instruction_input(k)
        if operation == ca.OP_CONST:
            code.append((of_constant, to[0], len(constants), 0))
            constants.append(function.instruction_constant(k))
        elif operation == ca.OP_OUTPUT:
            code.append((of_output, to[1], of[0], to[0]))
        elif operation == ca.OP_INPUT:
            code.append((of_input, to[0], of[0], of[1]))
        elif operation in OPERATIONS:
            code.append((OPERATIONS[operation], to[0], of[0], of[-1]))
        else:
            raise CompileError(f"operation {operation} of {function.name()} is none of a tape")
    words = np.array(code, dtype=np.uint64).reshape(-1, 4)
    if words.max(initial=0) >= _MOST:
        raise CompileError(f"{function.name()} is too long for a tape")
    written = words[:, 0] | words[:, 1] << 7 | words[:, 2] << 26 | words[:, 3] << 45
    inputs = [function.sparsity_in(i) for i in range(function.n_in())]
    outputs = [function.sparsity_out(i) for i in range(function.n_out())]
    # A compiler reads a string in a fifth of the time that numbers take.
    text = "".join(map(_OCTAL.__getitem__, written.tobytes()))
    lines = [
        f'static const char {name}_code[] = "{text}";',
        _array("double", f"{name}_constants", [_literal(value) for value in constants]),
    ]
    for kind, patterns in (("in", inputs), ("out", outputs)):
        lines.append(_array("int", f"{name}_{kind}_size", [str(pattern.nnz()) for pattern in patterns]))
        for i, pattern in enumerate(patterns):
            compressed = ca.repmat(pattern, 1, POINTS).compress()
            lines.append(_array("long long", f"{name}_{kind}_{i}", [str(word) for word in compressed]))
        lines.append(_array("long long *", f"{name}_{kind}", [f"{name}_{kind}_{i}" for i in range(len(patterns))]))
    ends = f"{name}_code, {name}_code + {written.nbytes}"
    lines.append(f"static const tape {name}_tape = {{{name}_in_size, {name}_out_size, {name}_constants, {ends}}};")
    return "\n".join([*lines, f"FUNCTION({name}, {function.sz_w()})"])


def _array(kind: str, name: str, values: Sequence[str]) -> str:
    # C has no empty arrays.
    return f"static const {kind} {name}[] = {{{', '.join(values) or '0'}}};"


def _literal(value: float) -> str:
    return value.hex() if np.isfinite(value) else {"inf": "INFINITY", "-inf": "-INFINITY"}.get(str(value), "NAN")

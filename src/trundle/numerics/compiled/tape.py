"""CasADi functions as tapes: their instructions as data for a small compiled loop, each done at eight points at once.

Straight-line C of 100 000 operations takes a compiler minutes, and runs no faster than its code is fetched; CasADi's
virtual machine spends most of its time on reading instructions. A tape compiles in half a second and takes a seventh
of the machine's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

import casadi as ca
import numpy as np

from trundle.errors import CompileError

POINTS = 8
"""Points at once: fewer read the tape more often, more do not fit the processor's cache."""
_TOGETHER = {
    ca.OP_ASSIGN: "w[a]", ca.OP_ADD: "w[a] + w[b]", ca.OP_SUB: "w[a] - w[b]", ca.OP_MUL: "w[a] * w[b]",
    ca.OP_DIV: "w[a] / w[b]", ca.OP_NEG: "-w[a]", ca.OP_SQ: "w[a] * w[a]", ca.OP_TWICE: "w[a] + w[a]",
    ca.OP_INV: "1.0 / w[a]", ca.OP_LIFT: "w[a]",
}  # fmt: skip
_APART = {
    **{getattr(ca, f"OP_{name.upper()}"): f"{name}(x)" for name in (
        "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "floor", "ceil", "fabs", "erf", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "expm1",
    )},
    **{getattr(ca, f"OP_{name.upper()}"): f"{name}(x, y)" for name in (
        "pow", "fmod", "copysign", "fmin", "fmax", "atan2", "hypot", "remainder",
    )},
    ca.OP_CONSTPOW: "pow(x, y)", ca.OP_LT: "x < y", ca.OP_LE: "x <= y", ca.OP_EQ: "x == y", ca.OP_NE: "x != y",
    ca.OP_NOT: "!x", ca.OP_AND: "x && y", ca.OP_OR: "x || y", ca.OP_SIGN: "x < 0 ? -1 : x > 0 ? 1 : x",
    ca.OP_IF_ELSE_ZERO: "x == 0 ? 0 : y",
}  # fmt: skip
_MOST = 2**19
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
    cases = [f"{kind}({code}, {text})" for kind, table in (("TOGETHER", _TOGETHER), ("APART", _APART))
             for code, text in table.items()]  # fmt: skip
    head = {"POINTS": POINTS, "INPUT": ca.OP_INPUT, "OUTPUT": ca.OP_OUTPUT, "CONSTANT": ca.OP_CONST}
    defined = [f"#define {key} {value}" for key, value in (*head.items(), ("OPERATIONS", " ".join(cases)))]
    header = resources.files("trundle.numerics.compiled").joinpath("tape.h").read_text("utf-8")
    return {"tape.h": header, "functions.c": "\n".join([*defined, '#include "tape.h"', *parts])}


def _tape(name: str, function: ca.Function) -> str:
    """Return the C of one function."""
    code, constants = [], []
    for k in range(function.n_instructions()):
        operation, to = function.instruction_id(k), function.instruction_output(k)
        of = function.instruction_input(k)
        if operation == ca.OP_CONST:
            code.append((operation, to[0], len(constants), 0))
            constants.append(function.instruction_constant(k))
        elif operation == ca.OP_OUTPUT:
            code.append((operation, to[1], of[0], to[0]))
        elif operation == ca.OP_INPUT or operation in _TOGETHER or operation in _APART:
            code.append((operation, to[0], of[0], of[-1]))
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

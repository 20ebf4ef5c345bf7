"""Constants of an expression as an argument: functions that differ in numbers alone are one function of one kind."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray

_STRUCTURAL = frozenset({0.0, 1.0, -1.0, 2.0, -2.0, 0.5})
"""Numbers that expressions have whatever sizes are; a size that equals one of them by chance is a kind of its own."""


@dataclass(frozen=True)
class Lifted:
    """A function whose last argument holds its constants.

    Attributes
    ----------
    function : casadi.Function
        (arguments..., numbers (n,)) -> one dense result.
    numbers : (n,)
        Its constants, with which it is the function it was made of.
    kind : str
        Digest of its instructions: the same for all functions that differ in their numbers alone.
    """

    function: ca.Function
    numbers: FloatArray
    kind: str


def lift_constants(function: ca.Function, given: int = 0) -> Lifted:
    """Return a function of SX with its constants as a last argument, read from its list of instructions.

    One that calls others, as measured surfaces do, keeps its constants.

    Parameters
    ----------
    function : casadi.Function
        Dense columns as inputs and one dense result.
    given : int
        Of numbers that are the last input already, if there are any: the constants come after them.
    """
    operations = [function.instruction_id(i) for i in range(function.n_instructions())]
    sizes = [function.size1_in(k) for k in range(function.n_in())]
    inputs = [ca.SX.sym(f"a{k}", size) for k, size in enumerate(sizes)]
    own = inputs[:-1] if given else inputs
    if ca.OP_CALL in operations:
        digest = hashlib.sha256(str(function.serialize()).encode()).hexdigest()
        numbers = inputs[-1] if given else ca.SX.sym("numbers", 0)
        return Lifted(_make_lifted(function, own, numbers, function.call(inputs)), np.zeros(0), digest[:16])
    constants: list[float] = []
    place: dict[int, int] = {}
    for i, operation in enumerate(operations):
        if operation == ca.OP_CONST and function.instruction_constant(i) not in _STRUCTURAL:
            place[i] = given + len(constants)
            constants.append(function.instruction_constant(i))
    symbol = ca.SX.sym("numbers", given + len(constants))
    inputs = [*own, symbol[:given]] if given else inputs
    work, result = [ca.SX(0)] * function.sz_w(), [ca.SX(0)] * function.nnz_out(0)
    digest = hashlib.sha256(repr(sizes).encode())
    for i, operation in enumerate(operations):
        out, of = function.instruction_output(i), function.instruction_input(i)
        told: object = (operation, out, of)
        if operation == ca.OP_CONST:
            told = (operation, out, i if i in place else function.instruction_constant(i))
            work[out[0]] = symbol[place[i]] if i in place else ca.SX(function.instruction_constant(i))
        elif operation == ca.OP_INPUT:
            work[out[0]] = inputs[of[0]][of[1]]
        elif operation == ca.OP_OUTPUT:
            result[out[1]] = work[of[0]]
        elif len(of) == 2:
            work[out[0]] = ca.SX.binary(operation, work[of[0]], work[of[1]])
        else:
            work[out[0]] = ca.SX.unary(operation, work[of[0]])
        digest.update(repr(told).encode())
    made = _make_lifted(function, own, symbol, [ca.vertcat(*result)] if result else [ca.SX(0, 1)])
    return Lifted(made, np.array(constants, dtype=np.float64), digest.hexdigest()[:16])


def _make_lifted(
    function: ca.Function, inputs: Sequence[ca.SX], numbers: ca.SX, results: Sequence[ca.SX]
) -> ca.Function:
    return ca.Function(function.name(), [*inputs, numbers], [ca.densify(result) for result in results])

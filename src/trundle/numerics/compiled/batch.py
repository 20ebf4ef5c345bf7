"""A CasADi function at many points at once without a compiler: each instruction of its once for all of them."""

from __future__ import annotations

import casadi as ca

from trundle.checks import integer


def batch_function(function: ca.Function, count: int) -> ca.Function:
    """Return the function of `count` points, whose every instruction works on all of them: bitwise the same values.

    CasADi's virtual machine spends most of its time on reading an instruction; over 25 points this is four times
    faster than ``function.map(25)``, which serves where a function calls another one (splines of measured shapes).

    Parameters
    ----------
    function : casadi.Function
        Of SX expressions.
    count : int

    Returns
    -------
    casadi.Function
        Input i is (count, entries of input i), column-major: in numpy an array (entries, count). Outputs alike; entries
        are the nonzeros of `function`.
    """
    n = integer("count", count, minimum=1)
    name, given = (
        f"{function.name()}_batch",
        [ca.MX.sym(f"i{i}", n, function.nnz_in(i)) for i in range(function.n_in())],
    )
    if any(function.instruction_id(k) == ca.OP_CALL for k in range(function.n_instructions())):
        of_points = _of_nonzeros(function).map(n).call([symbol.T for symbol in given])
        return ca.Function(name, given, [result.T for result in of_points])
    columns = [ca.horzsplit(symbol) if symbol.numel() else [] for symbol in given]
    found = [[ca.MX()] * function.nnz_out(i) for i in range(function.n_out())]
    work: dict[int, ca.MX] = {}
    for k in range(function.n_instructions()):
        code, of = function.instruction_id(k), function.instruction_input(k)
        to = function.instruction_output(k)
        if code == ca.OP_INPUT:
            work[to[0]] = columns[of[0]][of[1]]
        elif code == ca.OP_OUTPUT:
            found[to[0]][to[1]] = work[of[0]]
        elif code == ca.OP_CONST:
            work[to[0]] = ca.MX(function.instruction_constant(k))
        elif len(of) == 1:
            work[to[0]] = ca.MX.unary(code, work[of[0]])
        else:
            work[to[0]] = ca.MX.binary(code, work[of[0]], work[of[1]])
    results = [ca.horzcat(*(e if e.shape[0] == n else ca.repmat(e, n, 1) for e in part)) for part in found]
    return ca.Function(name, given, results)


def _of_nonzeros(function: ca.Function) -> ca.Function:
    """Return the function of the nonzeros of its inputs, as columns, to those of its outputs."""
    symbols = [ca.SX.sym(f"i{i}", function.nnz_in(i)) for i in range(function.n_in())]
    results = function.call([ca.SX(function.sparsity_in(i), symbol) for i, symbol in enumerate(symbols)])
    return ca.Function(function.name(), symbols, [result.nz[:] for result in results])

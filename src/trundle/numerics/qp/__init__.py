"""Quadratic programs: a sparse program, its solvers, and answers judged outside them.

`qp` holds the program and the verb `solve_qp`; `judging` the recomputed residuals; `repair` tries again where they are
too large; `backends` has one function a solver and `register` for one of your own; `proofs` tells why a program has no
solution.
"""

from trundle.numerics.qp.backends import Backend, ProgramBounds, RawSolution, WarmStart, register, solvers
from trundle.numerics.qp.judging import residuals, violations
from trundle.numerics.qp.qp import (
    TOLERANCE,
    QpError,
    QpSolution,
    QpSolver,
    QuadraticProgram,
    make_unsolved,
    solve_qp,
)

__all__ = [
    "TOLERANCE",
    "Backend",
    "ProgramBounds",
    "QpError",
    "QpSolution",
    "QpSolver",
    "QuadraticProgram",
    "RawSolution",
    "WarmStart",
    "make_unsolved",
    "register",
    "residuals",
    "solve_qp",
    "solvers",
    "violations",
]

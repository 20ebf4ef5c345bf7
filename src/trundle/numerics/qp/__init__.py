"""Quadratic programs: a sparse program, its solvers, and answers judged outside them.

`qp` holds the program and the verb `solve_qp`; `judging` the recomputed residuals; `repair` tries again where they are
too large; `backends` has one function a solver and `register` for one of your own; `proofs` tells why a program has no
solution; `persistent` keeps a program of one pattern set up between calls.
"""

from trundle.numerics.qp.backends import Backend, ProgramBounds, RawSolution, WarmStart, register, solvers
from trundle.numerics.qp.judging import residuals, violations
from trundle.numerics.qp.persistent import Entries, PersistentQp
from trundle.numerics.qp.qp import (
    TOLERANCE,
    QpError,
    QpSolution,
    QpSolver,
    QuadraticProgram,
    solve_qp,
    unsolved,
)

__all__ = [
    "TOLERANCE",
    "Backend",
    "Entries",
    "PersistentQp",
    "ProgramBounds",
    "QpError",
    "QpSolution",
    "QpSolver",
    "QuadraticProgram",
    "RawSolution",
    "WarmStart",
    "register",
    "residuals",
    "solve_qp",
    "solvers",
    "unsolved",
    "violations",
]

"""Nonlinear programs: assembled from element groups, solved by IPOPT, judged by recomputed residuals.

`program` holds the program, `elements` the functions that repeat and where their values go in the whole, `nlp` the
verb `solve` with its statuses and limits.
"""

from trundle.numerics.nlp.elements import ElementGroup
from trundle.numerics.nlp.nlp import Iterate, Multipliers, ProgramSolution, solve
from trundle.numerics.nlp.program import Program

__all__ = [
    "ElementGroup",
    "Iterate",
    "Multipliers",
    "Program",
    "ProgramSolution",
    "solve",
]

"""The real-time optimiser of nonlinear model predictive control.

`ilqr` holds the verb, `Optimiser.solve`; `stage` compiles a `ControlProblem` into stage functions; `native` runs the
passes in C and `python` in NumPy behind one interface, `backend`.
"""

from trundle.arguments import guard
from trundle.numerics.ilqr.ilqr import Optimiser
from trundle.numerics.ilqr.solution import ControlSolution, Guess, Limits, cheapest
from trundle.numerics.ilqr.stage import ControlProblem, Cost, midpoint, relaxed_barrier

__all__ = [
    "ControlProblem",
    "ControlSolution",
    "Cost",
    "Guess",
    "Limits",
    "Optimiser",
    "cheapest",
    "midpoint",
    "relaxed_barrier",
]

guard(__name__)

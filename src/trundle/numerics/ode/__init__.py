"""Ordinary differential equations: explicit Runge-Kutta integration with events, projection and dense output.

`system` holds the functions of a system, `ode` the integrator and its results, `tableaus` the methods; `native` steps
in C and `python` in NumPy with the same decisions, `events` finds zeros of margins; `step` is one step of rk4 for
expressions and numbers.
"""

from trundle.numerics.ode.ode import Integration, Integrator
from trundle.numerics.ode.step import rk4_step
from trundle.numerics.ode.system import OdeSystem

__all__ = [
    "Integration",
    "Integrator",
    "OdeSystem",
    "rk4_step",
]

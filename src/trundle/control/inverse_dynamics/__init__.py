"""Inverse dynamics: tasks and limits to torques by one quadratic program a call.

`tasks` holds what is asked for and what must hold, `assembly` makes the program of them (in the numbers or expressions
of `algebra`), `command` solves it level by level. `InverseDynamics` compiles all that for a model, `policy` calls it
once a period, with `contact_finder` for states that are measured.
"""

from trundle.control.inverse_dynamics.algebra import Numbers
from trundle.control.inverse_dynamics.assembly import ProgramLayout, assemble, program_layout
from trundle.control.inverse_dynamics.command import Command, Solvers, solve_program
from trundle.control.inverse_dynamics.integral import IntegralAction
from trundle.control.inverse_dynamics.inverse_dynamics import DAMPING, InverseDynamics
from trundle.control.inverse_dynamics.policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics.slip import SlipMonitor, Slipping, SlipSensing
from trundle.control.inverse_dynamics.tasks import Limit, MotionQuantity, Task

__all__ = [
    "DAMPING",
    "Command",
    "IntegralAction",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "MotionQuantity",
    "Numbers",
    "ProgramLayout",
    "SlipMonitor",
    "SlipSensing",
    "Slipping",
    "Solvers",
    "Task",
    "assemble",
    "program_layout",
    "solve_program",
]

"""Inverse dynamics: tasks and limits to torques by one quadratic program a call.

`tasks` holds what is asked for and what must hold, `assembly` makes the program of them (in the numbers or expressions
of `algebra`), `command` solves it level by level. `InverseDynamics` compiles all that for a model, `policy` calls it
once a period, with `contact_finder` and `state_adapter` for states that are measured, and `signals` to follow.
"""

from trundle.control.inverse_dynamics.algebra import Matrix, Numbers
from trundle.control.inverse_dynamics.assembly import ProgramLayout, assemble, program_layout
from trundle.control.inverse_dynamics.command import Command, Solvers, solve_program
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.control.inverse_dynamics.integral import IntegralAction
from trundle.control.inverse_dynamics.inverse_dynamics import DAMPING, InverseDynamics
from trundle.control.inverse_dynamics.policy import InverseDynamicsPolicy
from trundle.control.inverse_dynamics.signals import Constant, SecondOrder, Signal, signal
from trundle.control.inverse_dynamics.slip import SlipMonitor, Slipping, SlipSensing
from trundle.control.inverse_dynamics.state_adapter import ModelStateAdapter
from trundle.control.inverse_dynamics.tasks import Limit, MotionQuantity, Task

__all__ = [
    "DAMPING",
    "Command",
    "Constant",
    "ContactFinder",
    "IntegralAction",
    "InverseDynamics",
    "InverseDynamicsPolicy",
    "Limit",
    "Matrix",
    "ModelStateAdapter",
    "MotionQuantity",
    "Numbers",
    "ProgramLayout",
    "SecondOrder",
    "Signal",
    "SlipMonitor",
    "SlipSensing",
    "Slipping",
    "Solvers",
    "Task",
    "assemble",
    "program_layout",
    "signal",
    "solve_program",
]

"""Optimal control problems: phases with dynamics, costs, constraints and durations, and their transcription."""

from trundle.arguments import guard
from trundle.numerics.ilqr import ControlProblem, ControlSolution, Cost, Guess, Limits, Optimiser, midpoint
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem, PhaseLinkage, continuous
from trundle.optimal.stages import control_problem
from trundle.records.reference import Reference

__all__ = [
    "Condition",
    "ControlProblem",
    "ControlSolution",
    "Cost",
    "Guess",
    "Limits",
    "OptimalControlProblem",
    "Optimiser",
    "Phase",
    "PhaseLinkage",
    "Reference",
    "continuous",
    "control_problem",
    "midpoint",
]

guard(__name__)

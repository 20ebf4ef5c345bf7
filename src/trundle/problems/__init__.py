"""Optimal control problems: phases with dynamics, costs, constraints and durations."""

from trundle.arguments import guard
from trundle.problems.paths import PointPath
from trundle.problems.phase import Condition, Phase
from trundle.problems.problem import OptimalControlProblem, PhaseLinkage, continuous
from trundle.problems.robot_gait import RobotGait
from trundle.problems.stages import control_problem
from trundle.records.reference import Reference

__all__ = [
    "Condition",
    "OptimalControlProblem",
    "Phase",
    "PhaseLinkage",
    "PointPath",
    "Reference",
    "RobotGait",
    "continuous",
    "control_problem",
]

guard(__name__)

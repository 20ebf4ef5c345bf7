"""Optimal control problems: phases with dynamics, costs, constraints and durations."""

from trundle.problems.phase import Condition, Phase
from trundle.problems.problem import Link, Problem, continuous

__all__ = ["Condition", "Link", "Phase", "Problem", "continuous"]

"""Scenario files of kind `juggling` that are planned and controlled: tasks `transfer` and `balance`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trundle.scenarios.schema_control import (
    ControllerTable,
    CostTable,
    GoalTable,
    LimitsTable,
    NoiseTable,
    OffsetTable,
    PlanTable,
    TrialsTable,
)
from trundle.scenarios.schema_juggling import JugglingTable


class JugglingTransfer(JugglingTable):
    """Kind `juggling`, task `transfer`: a plan from rest to rest, then its motion under a controller, and trials."""

    task: Literal["transfer"]
    goal: GoalTable = GoalTable()
    limits: LimitsTable = LimitsTable()
    cost: CostTable = CostTable()
    plan: PlanTable = PlanTable()
    controller: ControllerTable = ControllerTable()
    offset: OffsetTable | None = Field(
        default=None, description="start of the main run, without noise; left out: the first trial is the main run"
    )
    noise: NoiseTable | None = Field(default=None, description="of trials; left out: the controller sees the state")
    trials: TrialsTable = TrialsTable()


class JugglingBalance(JugglingTable):
    """Kind `juggling`, task `balance`: a regulator about an equilibrium, beside the hand at rest."""

    task: Literal["balance"]
    goal: GoalTable = GoalTable()
    limits: LimitsTable = LimitsTable()
    controller: ControllerTable = ControllerTable()
    noise: NoiseTable | None = Field(default=None, description="left out: the controller sees the state")
    trials: TrialsTable = TrialsTable()

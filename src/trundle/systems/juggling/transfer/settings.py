"""Numbers of the verb `plan`, and what its progress callback gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from trundle.checks import choice, integer, positive
from trundle.optimal.transcription.transcription import METHODS


@dataclass(frozen=True)
class Progress:
    """Where planning is: what a progress callback gets.

    Attributes
    ----------
    stage : str
        ``solve`` or ``replay``.
    refinement, nodes, iteration : int
    cost, infeasibility : float
    goal_position_error, goal_rotation_error : float
        Of the last replay, m and rad; NaN before.
    """

    stage: str
    refinement: int
    nodes: int
    iteration: int
    cost: float
    infeasibility: float
    goal_position_error: float
    goal_rotation_error: float

    @property
    def share(self) -> float:
        """Estimated share of the work; iterations and meshes to come are unknown, so that it approaches 1."""
        return 1.0 - 0.5**self.refinement * 0.98**self.iteration

    def __str__(self) -> str:
        miss = f", {self.goal_position_error:.1e} m from the goal" if isfinite(self.goal_position_error) else ""
        where = f"{self.stage} on {self.nodes} nodes, iteration {self.iteration}"
        return f"{where}: cost {self.cost:.4g}, violation {self.infeasibility:.0e}{miss}"


@dataclass(frozen=True)
class Settings:
    """Numbers of `plan`; see there."""

    method: str
    position_tolerance: float
    rotation_tolerance: float
    velocity_tolerance: float
    angular_velocity_tolerance: float
    max_refinements: int
    max_iterations: int
    tolerance: float
    starts: int
    seed: int
    save: Path | None
    progress: Callable[[Progress], bool | None] | None
    time_limit: float | None
    compile: bool
    options: Mapping[str, str | float]

    def __post_init__(self) -> None:
        choice("method", self.method, METHODS)
        positive("position_tolerance", self.position_tolerance, "m")
        positive("rotation_tolerance", self.rotation_tolerance, "rad")
        positive("velocity_tolerance", self.velocity_tolerance, "m/s")
        positive("angular_velocity_tolerance", self.angular_velocity_tolerance, "rad/s")
        integer("max_refinements", self.max_refinements, minimum=0)
        integer("max_iterations", self.max_iterations, minimum=0)
        positive("tolerance", self.tolerance)
        integer("starts", self.starts, minimum=1)
        integer("seed", self.seed, minimum=0)
        if self.time_limit is not None:
            positive("time_limit", self.time_limit, "s")

    @property
    def tolerances(self) -> dict[str, float]:
        """What the replay may miss the goal by, by the names of residuals."""
        kinds = ("position", "rotation", "velocity", "angular_velocity")
        tolerances = {kind: getattr(self, f"{kind}_tolerance") for kind in kinds}
        of_object = {f"goal_{kind}_error": most for kind, most in tolerances.items()}
        return of_object | {f"goal_hand_{kind}_error": most for kind, most in tolerances.items()}

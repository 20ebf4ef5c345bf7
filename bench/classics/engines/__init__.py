"""One module an engine: `version`, `SETTINGS` (name -> time step and stiffness of contact) and `run`."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Setting:
    """How an engine is asked to run a scene."""

    name: str
    step: float  # s
    stiff: bool  # the house's stiffest useful contact (see bench/peers), or the engine's own defaults

    def fitted(self, spacing: float) -> tuple[Setting, int]:
        """Return the setting with the step that divides the time between samples, and how many steps that are."""
        count = max(1, round(spacing / self.step))
        return replace(self, step=spacing / count), count


ENGINES = ("mujoco", "pybullet", "drake")

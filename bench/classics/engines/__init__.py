"""One module an engine: `SETTINGS` and `run`."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Setting:
    """How an engine is asked to run a scene."""

    name: str
    step: float  # s, or the next that divides the time between samples
    stiff: bool  # the house's stiffest useful contact, or the engine's own defaults
    solver: str = ""  # of an engine that has several

    def fitted(self, spacing: float) -> tuple[Setting, int]:
        """Return the setting with the step that divides the time between samples, and how many steps that are."""
        count = max(1, round(spacing / self.step))
        return replace(self, step=spacing / count), count

    def label(self, spacing: float) -> str:
        """Return name and time step as text."""
        return f"{self.name}, {1e3 * self.fitted(spacing)[0].step:.3g} ms"


ENGINES = ("mujoco", "pybullet", "drake")

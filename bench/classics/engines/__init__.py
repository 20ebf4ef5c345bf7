"""One module an engine: `version`, `SETTINGS` (name -> time step and stiffness of contact) and `run`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """How an engine is asked to run a scene."""

    name: str
    step: float  # s
    stiff: bool  # the house's stiffest useful contact (see bench/peers), or the engine's own defaults


ENGINES = ("mujoco", "pybullet", "drake")

"""Planar: robots that roll on curved terrain in the plane (paper 4), and passive walkers.

`RollingEstimator` estimates the state of a robot on wheels, `PlantError` says how a plant differs from its model,
`signals` are what tasks follow; `limit_cycle` finds the periodic strides of a `PassiveWalker`. `scenario` has what
``trundle run`` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trundle.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    from trundle.systems.planar.limit_cycles import LimitCycle as LimitCycle
    from trundle.systems.planar.limit_cycles import StrideMap as StrideMap
    from trundle.systems.planar.limit_cycles import limit_cycle as limit_cycle
    from trundle.systems.planar.passive_walker import PassiveWalker as PassiveWalker
    from trundle.systems.planar.plant_error import PlantError as PlantError
    from trundle.systems.planar.rolling_estimator import Estimate as Estimate
    from trundle.systems.planar.rolling_estimator import RollingEstimator as RollingEstimator
    from trundle.systems.planar.rolling_estimator import RollingSensors as RollingSensors

_HOMES = {
    "limit_cycles": "LimitCycle StrideMap limit_cycle",
    "passive_walker": "PassiveWalker",
    "plant_error": "PlantError",
    "rolling_estimator": "Estimate RollingEstimator RollingSensors",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

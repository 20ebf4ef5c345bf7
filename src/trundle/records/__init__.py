"""Records: what a run leaves behind, and what a controller looks like. No physics."""

from __future__ import annotations

from trundle.records.files import load_trajectory
from trundle.records.policy import Policy
from trundle.records.scenebodies import SceneBody
from trundle.records.trajectory import Trajectory
from trundle.records.variables import Variable, make_dataset, table

__all__ = ["Policy", "SceneBody", "Trajectory", "Variable", "load_trajectory", "make_dataset", "table"]

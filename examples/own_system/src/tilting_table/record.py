"""The record of kind `tilting-table`: that of a pair, with two columns more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilting_table.schema import Balance
from trundle.records import PAIR, Trajectory, Variable, View, make_dataset

OWN = {
    "target_distance": Variable(("time",), "m", "hand", "distance of the contact from its target on the table"),
    "table_tilt": Variable(("time",), "rad", "world", "angle between the table's normal and the vertical"),
}
VIEW = View("tilting-table", {**PAIR.variables, **OWN})


def as_record(run: Trajectory, tables: Balance) -> Trajectory:
    """Return the run of a pair as a record of this kind."""
    arrays = {name: run[name] for name in PAIR.variables if name in run}
    _, x, y, _ = run["hand_quaternion"].T
    arrays["target_distance"] = np.linalg.norm(run["contact_on_hand"][:, :2] - tables.controller.target, axis=1)
    arrays["table_tilt"] = 2 * np.arcsin(np.minimum(np.hypot(x, y), 1.0))
    known = dict(run.metadata) | {"tolerance": tables.tolerance}
    return replace(run, dataset=make_dataset(VIEW, run.time, arrays), metadata=known)

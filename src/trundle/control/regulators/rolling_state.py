"""States of a pair from one kind of coordinates to the other."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray
from trundle.contact.choice import contact_coordinates
from trundle.control.regulators.local_error import rolling_twin
from trundle.models.rolling_pair import RollingPair
from trundle.models.tree.conversion import pose_of, rolling_values
from trundle.models.tree.system import Start
from trundle.models.tree.touching import contact_points


def in_rolling_coordinates(pair: RollingPair, start: Start) -> Start:
    """Return a state of `pair`, in whatever coordinates, in rolling coordinates.

    The contact found in `start` is named in the charts that suit it; velocities that do not roll are made to:
    the relative angular velocity is kept.

    Parameters
    ----------
    pair : RollingPair
    start : Start
        From ``pair.place(...)``, or a recorded state with its atlas.
    """
    twin = rolling_twin(pair)
    system = pair.system
    if len(start.x) == twin.system.model().x.shape[0]:
        return start  # sizes differ in every case
    contact_pair, model = system.contact_pairs[0], system.model(start.atlas)
    x_A, x_B, n_B = contact_points(system, start.atlas, start.x, 0)
    coordinates, charts = contact_coordinates(pair.body.shape, pair.base.shape, "chart", x_A, x_B, n_B)
    values: dict[str, FloatArray] = {f"{contact_pair.contact}.coordinates": coordinates}
    for name in ("position", "orientation", "twist"):
        key = f"{contact_pair.body_B}.{name}"
        if key in model.layout:
            values[key] = start.x[model.layout[key]]
    _, _, w, _ = pose_of(model, start.x, contact_pair.body_A)
    orientation = start.x[model.layout[f"{contact_pair.body_A}.orientation"]]
    target = twin.system.model((charts,))
    values |= rolling_values(target, values, orientation, w)
    x = np.zeros(target.x.shape[0])
    for name, value in values.items():
        x[target.layout[name]] = value
    x.setflags(write=False)
    return twin.system.start(x, (charts,))

"""A preview as expressions over the wrenches alone gives the plan of the sparse program."""

from __future__ import annotations

import numpy as np
import pytest

from tests.control.preview.test_preview import MASS, RIGHT, SOLE, STANDING, SWAY, TIP, walking
from tests.control.ticks import answer
from trundle.contact.patch import PlacedPatch
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights
from trundle.systems.multicontact.preview.ticking import preview_outputs, preview_tick, preview_values

MOVING = CentroidalState((0.01, -0.02, 0.7), (0.1, 0.05, -0.02), (0.3, -0.2, 0.1))


@pytest.mark.parametrize(
    ("forecast", "path", "least"),
    [(walking(), SWAY, 0.0), (Forecast([Held(RIGHT), Held(TIP)]), STANDING, 5.0)],
    ids=["walk", "leaning on a point"],
)
def test_the_plan_is_that_of_the_preview(forecast: Forecast, path: PointPath, least: float) -> None:
    weights = PreviewWeights(axes=(1.0, 1.3), momentum_axes=(0.8, 1.2))
    preview = Preview(Centroidal(MASS), [0.05, 0.1] * 3, weights=weights, least_normal_force=least, accuracy=1e-9)
    patches = {item.contact.name: item.contact.patch for item in forecast.contacts}
    ends = list(patches)
    tick = preview_tick(preview, patches, 0.04)
    plan = preview(0.2, MOVING, forecast, path)
    assert plan.usable
    found = answer(tick, preview_values(plan, path, ends))
    known = preview_outputs(plan, ends)
    motion = len(tick.outputs) - 6 * len(ends)
    assert found[:motion] == pytest.approx(known[:motion], abs=2e-5)
    assert found[motion:] == pytest.approx(known[motion:], abs=1e-3)  # N, of 324 N


def test_outputs_are_named() -> None:
    tick = preview_tick(Preview(Centroidal(MASS), [0.05, 0.1]), {"left": SOLE}, 0.04)
    names = [(entry.name, entry.unit) for entry in tick.outputs]
    assert names[0] == ("position.1.x", "m")
    assert names[9 + 8] == ("acceleration.2.z", "m/s^2")
    assert names[-1] == ("left.force.z", "N")
    assert len(names) == 2 * 9 + 6
    assert tick.arguments["axes"].shape == (9, 2)


def test_an_end_that_does_not_stand_bears_nothing() -> None:
    left = PlacedPatch("left", SOLE, (0.0, 0.1, 0.0))
    preview = Preview(Centroidal(MASS), [0.1, 0.1])
    tick = preview_tick(preview, {"left": SOLE, "tip": TIP.patch}, 0.04)
    plan = preview(0.0, MOVING, Forecast([Held(left)]), STANDING)
    found = answer(tick, preview_values(plan, STANDING, ["left", "tip"]))
    assert found[-6:] == pytest.approx(np.zeros(6), abs=1e-6)

"""What a state says of the impact at a contact."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.models.tree.touching import velocities_changed
from trundle.simulate.events.states import cone_margin, impact_at, slip_and_spin, slip_directions


@pytest.mark.parametrize(
    ("options", "law", "speed", "margin"),
    [
        ({}, "sliding", 0.9, 0.0),
        ({"sticky": True}, "rolling", 5 / 7, 0.1 - 2 / 7),
        ({"held": True}, "sliding", 0.9, 0.0),
    ],
    ids=["friction", "sticky", "held"],
)
def test_a_ball_thrown_at_a_slant_slides_on_unless_friction_has_no_limit_or_contacts_are_held(
    options: dict[str, bool], law: str, speed: float, margin: float
) -> None:
    """1 kg at 1 m/s along and down: L_n = 1 N s, and L_t = 0.1 L_n or the 2/7 N s that stop the slip."""
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 1.0, "solid"), tr.Hand(tr.Plane()), friction=0.1)
    system, x = pair.system, np.array(pair.place().x)
    atlas, velocity = system.first_atlas, system.model().layout["object.velocity"]
    x[velocity] = [1.0, 0.0, -1.0]
    impact = impact_at(system, atlas, x, 0, [], **options)
    after = velocities_changed(system, atlas, x, impact.jump)
    np.testing.assert_allclose(after[velocity], [speed, 0.0, 0.0], atol=1e-9)
    assert impact.laws == {0: law}
    assert cone_margin(impact.impulses, system, atlas, x) == pytest.approx(margin, abs=1e-9)
    slides = law == "sliding"
    np.testing.assert_allclose(slip_directions(impact, system, atlas, x), [[float(slides), 0.0, 0.0]], atol=1e-9)
    normal, slip, spin = slip_and_spin(system, atlas, after, 0)
    np.testing.assert_allclose(normal, [0.0, 0.0, 1.0])
    np.testing.assert_allclose(slip, [0.65 if slides else 0.0, 0.0, 0.0], atol=1e-9)
    assert spin == 0.0

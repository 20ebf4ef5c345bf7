"""Boxes and polytopes on waves: an edge on a crest and a corner beyond the hollow beside it touch at once."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.status import Status


def dropped(seed: int, waves: tuple[float, float]) -> tuple[tr.Trajectory, tr.Shape, tr.Sinusoid]:
    """Drop a random box or polygon of 1 kg onto waves of a random length between two."""
    random = np.random.default_rng([77, seed])
    size = random.uniform(0.05, 0.3)
    is_box = random.random() < 0.5
    shape = tr.Box([size, size * random.uniform(0.2, 1)]) if is_box else tr.Polytope(size * random.normal(size=(8, 2)))
    length = random.uniform(*waves)
    ground = tr.Sinusoid(length * random.uniform(0.03, 0.08), length)
    robot = tr.Robot(gravity=[0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body")
    robot.terrain(ground, random.uniform(0, 1.5))
    model = robot.finish()
    pose = [0.0, random.uniform(0.8, 1.0), random.uniform(-3, 3)]
    rates = {"body": [random.normal() * 2, random.normal(), 0.0]}
    return tr.simulate(model, model.place(contacts=[], body=pose, rates=rates), 1.2), shape, ground


LONG, SHORT = (1.5, 3.0), (0.5, 1.2)


@pytest.mark.parametrize(
    ("seed", "waves"),
    [(2, LONG), (8, LONG), (12, LONG), (0, SHORT), (2, SHORT), (5, SHORT), (8, SHORT), (23, SHORT), (27, SHORT)],
)
def test_corners_and_edges_touch_at_once_on_waves(seed: int, waves: tuple[float, float]) -> None:
    """What touches is checked by the distance of points all along the body's outline, which no contact knows."""
    run, shape, ground = dropped(seed, waves)
    assert run.status is Status.SUCCESS
    stays_outside(run, shape, ground)


@pytest.mark.parametrize(("x", "angle"), [(0.1, 0.0), (0.15, 0.0), (-0.15, 0.0), (0.0, -0.4), (0.225, 0.1)])
def test_a_plank_falls_onto_a_ridge_and_its_end_or_onto_two(x: float, angle: float) -> None:
    plank, ground = tr.Box([0.5, 0.05]), tr.Sinusoid(0.05, 0.6)
    robot = tr.Robot(gravity=[0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=plank, name="body")
    robot.terrain(ground, 1.0)
    model = robot.finish()
    run = tr.simulate(model, model.place(contacts=[], body=(x, 0.5, angle)), duration=1.2)
    assert run.status is Status.SUCCESS
    stays_outside(run, plank, ground)


def stays_outside(run: tr.Trajectory, shape: tr.Shape, ground: tr.Shape) -> None:
    """Check that the energy never grows and no point of the outline enters the ground."""
    made = run["energy"] - np.minimum.accumulate(run["energy"])
    assert float(made.max()) < 1e-6 * float(np.abs(run["energy"]).max())
    corners = np.array([f.at for f in shape.representations.features if not f.axes])
    order = np.argsort(np.arctan2(*(corners - corners.mean(axis=0)).T))
    parts = np.linspace(0, 1, 40)[:, None]
    outline = np.concatenate(
        [(1 - parts) * a + parts * b for a, b in zip(corners[order], corners[np.roll(order, -1)], strict=True)]
    )
    centre = np.asarray(tr.RigidBody(shape, 1.0, "solid").center_of_mass)
    deepest = 0.0
    for position, angle in zip(run["body_position"][::5, 0], run["body_angle"][::5, 0], strict=True):
        c, s = np.cos(angle), np.sin(angle)
        at = position + (outline - centre) @ np.array([[c, s], [-s, c]])
        deepest = min(deepest, float(ground.distance(at)[0].min()))
    assert deepest > -1e-6 * shape.reference_length

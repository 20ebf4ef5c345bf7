"""Bodies with faces and straight sides: contacts that pass from a cap to a side, starts on them, honest ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.slowly import slow_but
from trundle.status import Status

TURN = np.array([0.8, 0.55, 0.2, 0.1]) / np.linalg.norm([0.8, 0.55, 0.2, 0.1])
UP = np.array([0, 0, 9.81])
LYING = [np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]
X = np.linspace(-1, 1, 41)
HANDS: dict[str, tuple[Any, list[float]]] = {
    "sphere": (tr.Sphere(0.5), [0, 0.1, 0.48]),
    "cylinder": (tr.Cylinder(0.5), [0, 0.5, 0.1]),
    "torus": (tr.Torus(0.6, 0.2), [0.6, 0.05, 0.2]),
    "dish": (tr.Dish([1.0, 0.9, 0.8]), [0.1, 0, -0.79]),
    "tube": (tr.Tube(0.5), [0.5, 0, 0.1]),
    "heights": (tr.HeightMap(X, X, 0.2 * X[:, None] ** 2 + 0.15 * X**2 + 0.01 * np.sin(5 * X)[:, None]), [0.1, 0.1, 0]),
}
BODIES = {"capsule": tr.Capsule(0.03, 0.06), "torus": tr.Torus(0.05, 0.02)}


def roll(shape: Any, hand: Any, at: list[float], turn: Any = TURN, duration: float = 0.2, **how: Any) -> tr.Trajectory:
    body = tr.RigidBody(shape, mass=0.3, inertia=[4e-4, 4.2e-4, 5e-4])
    rules = {"friction": 5.0, "on_slip": "ignore", "on_separation": "ignore"}
    pair = tr.RollingPair(body, tr.Hand(hand), **(rules | how))
    start = pair.place(contact_on_hand=at, object_quaternion=turn, object_angular_velocity=[0.3, -0.2, 0.1])
    return tr.simulate(pair, start, duration, output_step=1e-3)


def away_from_transitions(run: tr.Trajectory) -> np.ndarray:
    """Return samples with even neighbours and no transition close by."""
    t = run.time
    i = np.arange(1, len(t) - 1)
    even = (np.abs(t[i + 1] - t[i] - 1e-3) < 1e-9) & (np.abs(t[i] - t[i - 1] - 1e-3) < 1e-9)
    far = np.all([np.abs(t[i] - event["time"]) > 1.5e-3 for event in run.metadata["transitions"]], axis=0)
    return i[even & far]


@pytest.mark.parametrize("hand", slow_but(HANDS, "sphere", "torus"))
@pytest.mark.parametrize("shape", BODIES)
def test_contact_forces_carry_the_body(shape: str, hand: str) -> None:
    run = roll(BODIES[shape], *HANDS[hand])
    assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
    i = away_from_transitions(run)
    v, force = run["object_velocity"], run["contact_force"]
    acceleration = (v[i + 1] - v[i - 1]) / 2e-3
    error = np.linalg.norm(0.3 * (acceleration + UP) - force[i], axis=1)
    assert len(i) > 150
    assert np.median(error) < 1e-3
    assert np.quantile(error, 0.9) < 0.05 * np.max(np.linalg.norm(force, axis=1))
    assert np.max(np.abs(run["gap"])) < 1e-12
    # A plastic impact loses energy; nothing makes any.
    assert np.max(np.diff(run["energy"])) < 1e-8
    steps = np.linalg.norm(np.diff(run["object_position"], axis=0), axis=1)
    assert np.max(steps) < 2e-3 * np.max(np.linalg.norm(v, axis=1)) + 1e-9


@pytest.mark.slow
def test_two_contacts_record_the_sum_of_their_forces() -> None:
    run = roll(BODIES["capsule"], *HANDS["dish"])
    both = run["mode"] == "rolling + rolling"
    assert np.any(both)
    i = np.intersect1d(np.flatnonzero(both), away_from_transitions(run))
    v = run["object_velocity"]
    acceleration = (v[i + 1] - v[i - 1]) / 2e-3
    np.testing.assert_allclose(0.3 * (acceleration + UP), run["contact_force"][i], atol=1e-4)
    assert run.dataset["contact_force"].attrs["contacts"] == "sum over the contacts that touch"
    assert run.dataset["contact_position"].attrs["contacts"] == "the first of the contacts that touch"


@pytest.mark.parametrize("hand", ["sphere", "torus", "cylinder"])
def test_a_capsule_rolls_over_its_seam_without_a_jump(hand: str) -> None:
    run = roll(BODIES["capsule"], *HANDS[hand])
    reasons = [event["reason"] for event in run.metadata["transitions"]]
    assert "the chart's edge was reached" in reasons
    assert np.ptp(run["energy"]) < 1e-8
    along = run["contact_on_object"]
    assert np.min(np.abs(along[:, 2])) < 0.03 - 1e-6 or hand == "cylinder"  # it was on its side
    ring = np.linalg.norm(along - np.clip(along * [0, 0, 1], -0.03, 0.03), axis=1)
    np.testing.assert_allclose(ring, 0.03, atol=1e-9)


def test_a_capsule_starts_on_its_side() -> None:
    run = roll(tr.Capsule(0.03, 0.1), tr.Sphere(0.3), [0.05, 0.0, 0.2958], LYING)
    assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
    assert abs(run["contact_on_object"][0, 2]) < 1e-9
    assert np.ptp(run["energy"]) < 1e-9
    assert run.time[-1] == pytest.approx(0.2)


@pytest.mark.parametrize("form", ["pair", "level"])
def test_a_form_without_sides_ends_at_the_seam(form: str) -> None:
    run = roll(BODIES["capsule"], *HANDS["sphere"], contact=form)
    assert run.status is Status.NOT_A_POINT_CONTACT
    assert np.ptp(run["energy"]) < 1e-8
    assert run["contact_on_object"][-1, 2] == pytest.approx(-0.03, abs=1e-6)


def test_a_capsule_on_a_plane_falls_on_its_side_and_rolls_on() -> None:
    run = roll(BODIES["capsule"], tr.Plane(), [0, 0, 0], duration=0.3)
    assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
    assert run["mode"][-1] == "rolling + rolling"
    assert np.max(np.diff(run["energy"])) < 1e-9
    assert run["object_position"][-1, 2] == pytest.approx(0.03, abs=1e-12)


@pytest.mark.parametrize("corner", [[1, 1, 1], [-1, 1, 1], [1, -1, 1], [1, 1, -1], [-1, -1, -1]])
def test_a_rounded_box_stands_on_any_corner(corner: list[float]) -> None:
    box = tr.Rounded(tr.Box([0.03, 0.04, 0.05]), 0.02)
    down = np.array(corner) / np.sqrt(3)
    quaternion = np.array([1 - down[2], *np.cross(down, [0, 0, -1.0])])
    run = roll(box, tr.Plane(), [0, 0, 0], quaternion / np.linalg.norm(quaternion), duration=0.02)
    assert run.status is Status.SUCCESS
    assert run.time[-1] == pytest.approx(0.02)


def test_a_ball_rolls_on_either_cap_of_a_capsule() -> None:
    for z in (0.7, -0.7):
        run = roll(tr.Sphere(0.05), tr.Capsule(0.3, 0.8), [0, 0, z], duration=0.02, contact="pair")
        assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
        assert run.time[-1] == pytest.approx(0.02)


def test_a_coin_on_a_dome_rolls_and_slides_over_its_rim_and_faces() -> None:
    turn = np.array([0.99, 0.1, 0.1, 0.0]) / np.linalg.norm([0.99, 0.1, 0.1, 0.0])
    how = {"on_slip": "slide", "on_separation": "fly", "friction": 0.5}
    run = roll(tr.Disc(0.05, 0.01), tr.Sphere(0.3), [0.05, 0.0, 0.2958], turn, duration=0.5, **how)
    reasons = {event["reason"] for event in run.metadata["transitions"]}
    assert {"the chart's edge was reached", "the contact force left the friction cone"} <= reasons
    assert run.status is Status.SUCCESS
    assert np.max(np.diff(run["energy"])) < 1e-10


def tumbled(length: float) -> tr.Trajectory:
    """Return the run of a capsule that tumbles down a ball, with all lengths `length` times as large."""
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    inertia = np.array([0.498735, 0.498735, 0.202472]) * length**5
    robot.free(43.0 * length**3, inertia, shape=tr.Capsule(0.107 * length, 0.182 * length), name="capsule")
    robot.terrain(tr.Sphere(4.3 * length), friction=0.794)
    tree = robot.finish()
    q = np.array([-0.35732631813856247, 0.24247143016545308, -0.7976033887021483, 0.4211345892347343])
    w, v = np.array([1.46, -0.00626, -2.64]) / np.sqrt(length), np.array([0.0665, 0.302, -0.0448]) * np.sqrt(length)
    pose = [0.334 * length, 0.315 * length, 4.67594 * length, *q]
    start = tree.place(capsule=pose, contacts=[], rates={"capsule": [*w, *v]})
    return tr.simulate(tree, start, 1.3 * np.sqrt(length))


def test_a_capsule_tumbles_over_its_seams_at_any_size() -> None:
    """A point that passes from the side onto a cap is that of the seam; friction may give way at the same instant."""
    large, small = tumbled(1.0), tumbled(1.0 / 256.0)
    assert large.status is Status.SUCCESS
    assert small.status is Status.SUCCESS
    reasons = [event["reason"] for event in large.metadata["transitions"]]
    assert reasons.count("the chart's edge was reached") >= 5
    assert reasons == [event["reason"] for event in small.metadata["transitions"]]
    ends = [run.dataset["body_position"].values[-1] for run in (large, small)]
    np.testing.assert_allclose(256.0 * ends[1], ends[0], rtol=0, atol=1e-6)

"""Boxes on boxes: they fall, rest, stack, hang over, tip and slide off as on any other ground."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr

G = 9.81
FREE = {"on_slip": "slide", "on_separation": "fly"}


def fallen(hand: tr.Shape, top: float, tilt: np.ndarray, twist: np.ndarray, e: float, mu: float) -> tr.Trajectory:
    """Return the run of a box that falls from 5 cm above a face at the height `top`."""
    body = tr.RigidBody(tr.Box([0.1, 0.08, 0.05]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(hand), friction=mu, restitution=e, **FREE)  # type: ignore[arg-type]
    start = pair.place(
        object_position=[0.03, 0.02, top + 0.19],
        object_quaternion=(tilt / np.linalg.norm(tilt)).tolist(),
        object_velocity=twist[3:].tolist(),
        object_angular_velocity=twist[:3].tolist(),
    )
    return tr.simulate(pair, start, 0.3)


@pytest.mark.parametrize("seed", range(4))
def test_on_the_face_of_a_wide_box_a_box_moves_as_on_a_plane(seed: int) -> None:
    """While it rattles, too: the corners that land are the same, one after the other."""
    random = np.random.default_rng(seed)
    tilt, e = np.append(1.0, 0.2 * random.normal(size=3)), 0.3 * (seed % 2)
    twist, mu = np.concatenate([random.normal(size=3), 0.3 * random.normal(size=3)]), random.uniform(0.0, 0.8)
    plane = fallen(tr.Plane(), 0.0, tilt, twist, e, mu)
    box = fallen(tr.Box([0.6, 0.5, 0.1]), 0.1, tilt, twist, e, mu)
    assert plane.status is tr.Status.SUCCESS
    assert box.status is tr.Status.SUCCESS
    assert [note["reason"] for note in box.transitions] == [note["reason"] for note in plane.transitions]
    for name in ("object_position", "object_quaternion"):
        moved = np.array(plane[name])[-1] + ([0, 0, 0.1] if name == "object_position" else 0.0)
        np.testing.assert_allclose(np.array(box[name])[-1], moved, atol=1e-9)


@pytest.mark.parametrize("count", [2, 3])
def test_boxes_stack_and_bear_what_is_above_them(count: int) -> None:
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    for i in range(count):
        robot.free(1.0, "solid", shape=tr.Box([0.1, 0.1, 0.05]), name=f"b{i}")
    robot.terrain(tr.Plane(), friction=0.6)
    for i in range(1, count):
        robot.contact(f"b{i}", f"b{i - 1}", friction=0.5)
    tree = robot.finish()
    places = {f"b{i}": (0.013 * i, 0.007 * i, 0.05 + 0.1 * i + 1e-3 * (i + 1)) for i in range(count)}
    run = tr.simulate(tree, tree.place(**places, contacts=[]), 0.15)
    assert run.status is tr.Status.SUCCESS
    assert run.feasible
    np.testing.assert_allclose(run["body_velocity"][-1], 0.0, atol=1e-9)
    heights = np.array(run["body_position"])[-1, :, 2]
    np.testing.assert_allclose(heights, 0.05 + 0.1 * np.arange(count), atol=1e-9)
    of = np.array([name.split("-")[0] for name in run.metadata["contacts"]])
    pushes = np.array(run["contact_force"])[-1]
    for i in range(count):  # what stands on body i - 1, or on the floor, bears all above it
        assert float(pushes[of == f"b{i}", 2].sum()) == pytest.approx((count - i) * G, rel=1e-9)


def test_a_box_tips_over_the_edge_of_another_one_that_it_hangs_over() -> None:
    """Its centre of mass is 1 cm beyond the edge: it turns about it, with the angular acceleration m g a / I."""
    body = tr.RigidBody(tr.Box([0.1, 0.05, 0.02]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Box([0.2, 0.2, 0.1])), friction=0.8, **FREE)  # type: ignore[arg-type]
    start = pair.place(object_position=[0.21, 0.03, 0.12 + 1e-9], object_velocity=[0, 0, 0])
    run = tr.simulate(pair, start, 0.06)
    assert run.status is tr.Status.SUCCESS
    t, w = np.array(run.time), np.array(run["object_angular_velocity"])
    inertia = (0.1**2 + 0.02**2) / 3 + 0.01**2 + 0.02**2
    early = (t > 0.002) & (t < 0.02)
    np.testing.assert_allclose(w[early, 1] / (t[early] * G * 0.01 / inertia), 1.0, atol=5e-3)
    np.testing.assert_allclose(w[early][:, [0, 2]], 0.0, atol=1e-9)


def test_a_box_slides_off_the_edge_of_another_one_and_falls() -> None:
    """On the way mu g slows it; then it flies, and all that it loses is what friction took."""
    body = tr.RigidBody(tr.Box([0.05, 0.05, 0.05]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Box([0.2, 0.2, 0.1])), friction=0.2, **FREE)  # type: ignore[arg-type]
    start = pair.place(object_position=[0.0, 0.02, 0.15], object_velocity=[1.5, 0.0, 0.0])
    run = tr.simulate(pair, start, 0.4)
    assert run.status is tr.Status.SUCCESS
    t, v = np.array(run.time), np.array(run["object_velocity"])
    on_face = t < 0.09
    np.testing.assert_allclose(v[on_face, 0], 1.5 - 0.2 * G * t[on_face], atol=1e-6)
    assert set(str(run["mode"][-1]).split(" + ")) == {"separated"}
    energy = np.ravel(run["energy"])
    assert float(np.max(energy - np.minimum.accumulate(energy))) < 1e-9


@pytest.mark.parametrize("rounded", [False, True])
def test_in_the_plane_too_a_box_lies_on_a_box(rounded: bool) -> None:
    def box(half: list[float]) -> tr.Shape:
        return tr.Rounded(tr.Box([h - 0.01 for h in half]), 0.01) if rounded else tr.Box(half)

    robot = tr.Robot(gravity=G, **FREE)  # type: ignore[arg-type]
    robot.free(2.0, 0.02, shape=box([0.2, 0.1]), name="low")
    robot.free(1.0, 0.005, shape=box([0.1, 0.05]), name="top")
    robot.terrain(tr.Line(), friction=0.6)
    robot.contact("top", "low", friction=0.5)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(low=(0, 0.1, 0), top=(0.05, 0.28, 0.2), contacts=["low"]), 0.4)
    assert run.status is tr.Status.SUCCESS
    assert run["body_position"][-1, 1, 1] == pytest.approx(0.25, abs=1e-6)
    assert run["body_angle"][-1, 1] == pytest.approx(0.0, abs=1e-6)


def test_a_box_that_falls_flat_on_another_one_bounces_and_comes_to_rest() -> None:
    """Its hops end, over edges of its own that stay level: none of its corners may be lost."""
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    robot.free(2.0, (0.01, 0.01, 0.01), shape=tr.Box([0.1, 0.1, 0.05]), name="low")
    robot.free(1.0, (0.01, 0.01, 0.01), shape=tr.Box([0.05, 0.06, 0.04]), name="high")
    robot.terrain(tr.Plane(), friction=0.5)
    robot.contact("low", "high", friction=0.3, restitution=0.4)
    tree = robot.finish()
    start = tree.place(low=(0, 0, 0.05), high=(0.03, 0.02, 0.2), contacts=["low"])
    run = tr.simulate(tree, start, 0.3)
    assert run.status is tr.Status.SUCCESS
    assert run["body_position"][-1, 1, 2] == pytest.approx(0.14, abs=1e-8)
    np.testing.assert_allclose(run["body_velocity"][-1], 0.0, atol=1e-7)


def test_cubes_without_weight_bounce_off_each_other_flat() -> None:
    """One strikes the other at 1 m/s on its whole face: with restitution .5 it keeps a quarter."""
    robot = tr.Robot(gravity=(0, 0, 0), **FREE)  # type: ignore[arg-type]
    for name in "ab":
        robot.free(1.0, "solid", shape=tr.Box([0.05, 0.05, 0.05]), name=name)
    robot.contact("a", "b", restitution=0.5, friction=0.0)
    tree = robot.finish()
    start = tree.place(contacts=[], a=(0, 0, 0.2), b=(0, 0, 0), rates={"a": (0, 0, 0, 0, 0, -1)})
    run = tr.simulate(tree, start, 0.2)
    assert run.status is tr.Status.SUCCESS
    np.testing.assert_allclose(run["body_velocity"][-1, :, 2], [-0.25, -0.75], atol=1e-9)
    np.testing.assert_allclose(run["body_angular_velocity"][-1], 0.0, atol=1e-9)

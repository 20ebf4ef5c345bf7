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


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_corner_that_slides_over_a_rim_flies_on(way: float) -> None:
    """Without friction nothing acts along a face: over its rim the body keeps its velocity and its turn."""
    turn = 0.4
    corners = np.array([[x, y] for x in (-0.1, 0.1) for y in (-0.1, 0.1)])
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    low = (corners @ R.T)[np.argmin((corners @ R.T)[:, 1])]
    robot = tr.Robot(gravity=(0, -G), **FREE)  # type: ignore[arg-type]
    robot.fixed(None, shape=tr.Box([0.2, 0.1]), name="table")
    robot.free(1.0, 1.0 / 150.0, shape=tr.Box([0.1, 0.1]), name="a")
    robot.contact("a", "table", friction=0.0)
    tree = robot.finish()
    place = np.array([0.19 * way, 0.1 + 1e-6]) - low
    run = tr.simulate(tree, tree.place(a=(*place, turn), contacts=[], rates={"a": (0, way, 0)}), 0.03)
    assert run.status is tr.Status.SUCCESS
    np.testing.assert_allclose(np.array(run["body_velocity"])[:, -1, 0], way, atol=1e-9)
    left = run.time > run.transitions[-1]["time"]
    assert run.transitions[-1]["to"] == "separated"
    assert np.ptp(np.array(run["body_angular_velocity"])[left, -1]) < 1e-12


def test_in_space_too_a_corner_flies_over_a_rim() -> None:
    a, b, c = 0.5, 0.45, 0.2
    rotations = [tr_rotation(axis, angle) for axis, angle in ((2, c), (1, b), (0, a))]
    R = rotations[0] @ rotations[1] @ rotations[2]
    q = quaternion_of(R)
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]) @ R.T
    low = corners[corners[:, 2].argmin()]
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    robot.fixed(None, shape=tr.Box([0.2, 0.2, 0.1]), name="table")
    robot.free(1.0, "solid", shape=tr.Box([0.1, 0.1, 0.1]), name="a")
    robot.contact("a", "table", friction=0.0)
    tree = robot.finish()
    place = np.array([0.19, 0.0, 0.1 + 1e-6]) - low
    run = tr.simulate(tree, tree.place(a=(*place, *q), contacts=[], rates={"a": (0, 0, 0, 1.0, 0, 0)}), 0.02)
    assert run.status is tr.Status.SUCCESS
    assert run.transitions[-1]["to"] == "separated"
    np.testing.assert_allclose(np.array(run["body_velocity"])[:, -1, 0], 1.0, atol=1e-9)


def tr_rotation(axis: int, angle: float) -> np.ndarray:
    """Return the rotation about an axis."""
    i, j = [k for k in range(3) if k != axis]
    R = np.eye(3)
    sine = np.sin(angle) * (1.0 if axis != 1 else -1.0)
    R[i, i] = R[j, j] = np.cos(angle)
    R[i, j], R[j, i] = -sine, sine
    return R


def quaternion_of(R: np.ndarray) -> np.ndarray:
    """Return (w, x, y, z) of a rotation with a positive w."""
    w = 0.5 * np.sqrt(1.0 + np.trace(R))
    return np.array([w, *(np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4.0 * w))])


@pytest.mark.parametrize("upper", [0.1, 0.09])
def test_boxes_whose_sides_are_flush_stand_as_quietly_as_others(upper: float) -> None:
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    robot.free(1.0, "solid", shape=tr.Box([0.1, 0.1, 0.1]), name="a")
    robot.free(1.0, "solid", shape=tr.Box([upper, upper, 0.1]), name="b")
    robot.terrain(tr.Plane(), friction=0.5)
    robot.contact("b", "a", friction=0.5)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(a=(0, 0, 0.1), b=(0, 0, 0.301), contacts=["a"]), 0.06)
    assert run.status is tr.Status.SUCCESS
    assert len(run.transitions) == 1
    np.testing.assert_allclose(run["body_velocity"][-1], 0.0, atol=1e-9)


def test_a_corner_does_not_pass_a_thin_plate() -> None:
    """A plate of a millimetre falls onto another one: corners of both land on the other's face."""
    q = np.array([1, 0.05, 0.03, 0.2]) / np.linalg.norm([1, 0.05, 0.03, 0.2])
    half = np.array([0.2, 0.2, 0.0005])
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    for name in "pq":
        robot.free(1.0, "solid", shape=tr.Box(half.tolist()), name=name)
    robot.terrain(tr.Plane(), friction=0.5)
    robot.contact("p", "q", friction=0.5)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(p=(0, 0, 0.01), q=(0.1, 0.05, 0.05, *q), contacts=[]), 0.15)
    assert run.status is tr.Status.SUCCESS
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    deepest = 0.0
    for place, turn in zip(run["body_position"], run["body_quaternion"], strict=True):
        w, v = turn[:, 0], turn[:, 1:]
        R = [np.eye(3) + 2 * a * skew(b) + 2 * skew(b) @ skew(b) for a, b in zip(w, v, strict=True)]
        for one, other in ((0, 1), (1, 0)):
            inside = half - np.abs((corners @ R[one].T + place[one] - place[other]) @ R[other])
            deepest = max(deepest, float(inside.min(axis=1).max()))
    assert deepest < 1e-8


def skew(v: np.ndarray) -> np.ndarray:
    """Return the matrix of v x."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def test_a_corner_that_was_hardly_open_lands_again() -> None:
    """Two corners of an edge that is nearly level strike within a ten millionth of a second."""
    q = np.array([0.94381872, -0.03993537, 0.26754397, 0.18981996])
    half = [0.14219896, 0.22387688, 0.19134662]
    robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
    robot.free(2.0, "solid", shape=tr.Box(half), name="b")
    robot.free(1.3434856867, "solid", shape=tr.Box([0.05565005, 0.08269156, 0.05498515]), name="a")
    robot.terrain(tr.Plane(), friction=0.5)
    robot.contact("b", "a", friction=0.20982957, restitution=0.4)
    tree = robot.finish()
    start = tree.place(
        b=(0, 0, half[2] + 0.002),
        a=(0.08431654, -0.01925932, 0.68269324, *(q / np.linalg.norm(q))),
        contacts=[],
        rates={"a": (-0.09928939, -0.40168455, 0.1049192, -0.02397905, 0.07628085, -0.49613597)},
    )
    assert tr.simulate(tree, start, 0.2).status is tr.Status.SUCCESS


def test_a_box_that_lands_flat_and_spins_needs_no_time_steps() -> None:
    """Edges that are parallel to each other cross nowhere; the box slides, turns and stops as on a plane."""
    ends = []
    for ground in ("box", "plane"):
        robot = tr.Robot(gravity=(0, 0, -G), **FREE)  # type: ignore[arg-type]
        if ground == "box":
            robot.fixed(None, shape=tr.Box([0.5, 0.5, 0.1]), at=(0, 0, -0.1), name="table")
        else:
            robot.terrain(tr.Plane(), friction=0.3)
        robot.free(1.0, "solid", shape=tr.Box([0.1, 0.08, 0.02]), name="a")
        if ground == "box":
            robot.contact("a", "table", friction=0.3)
        tree = robot.finish()
        turned = (np.cos(0.15), 0, 0, np.sin(0.15))
        start = tree.place(a=(0, 0, 0.02 + 1e-9, *turned), contacts=[], rates={"a": (0, 0, 5, 0.5, 0, 0)})
        run = tr.simulate(tree, start, 0.3)
        assert run.status is tr.Status.SUCCESS
        assert "time stepping" not in {note["to"] for note in run.transitions}
        ends.append(np.array(run["body_position"])[-1, -1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-12)

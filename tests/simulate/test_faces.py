"""Bodies on lines and faces: blocks that rest, rock, tip and slide, cylinders that roll, discs that settle."""

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.choice import pieces_of
from trundle.models.tree.touching import face_below, may_touch

G = 9.81
CUBE = [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]


def on_flat(shape: tr.Shape, friction: float = 0.6, slope: float = 0.0, **given) -> tr.RollingTree:
    """Return one body of 1 kg above a flat; gravity leans by `slope` (rad) towards +x."""
    g = [G * np.sin(slope), -G * np.cos(slope)]
    robot = tr.Robot(gravity=g if shape.d == 2 else [g[0], 0.0, g[1]], on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body", **given)
    robot.terrain(tr.Line() if shape.d == 2 else tr.Plane(), friction=friction)
    return robot.finish()


def about(axis: int, angle: float) -> list[float]:
    """Return the quaternion of a turn about x, y or z."""
    q = [np.cos(angle / 2), 0.0, 0.0, 0.0]
    q[1 + axis] = np.sin(angle / 2)
    return q


def loses(run: tr.Trajectory) -> bool:
    energy = run["energy"]
    return bool(np.max(np.diff(energy), initial=0.0) < 1e-8 * np.ptp(energy) + 1e-12)


@pytest.mark.parametrize(
    "shape",
    [
        tr.Box([0.1, 0.2]),
        tr.Box([0.1, 0.2, 0.3]),
        tr.Polytope(CUBE),
        tr.Rounded(tr.Box([0.1, 0.2, 0.3]), 0.02),
        tr.Capsule(0.1, 0.3),
        tr.Cylinder(0.1, 0.3),
        tr.Disc(0.1),
        tr.Disc(0.1, 0.02),
    ],
    ids=repr,
)
def test_a_shape_is_the_hull_of_its_pieces(shape: tr.Shape) -> None:
    bundle, random = shape.representations, np.random.default_rng(3)
    assert len(pieces_of(shape, "support")) == len(bundle.pieces) > 1
    for u in random.normal(size=(20, shape.d)):
        n = u / np.linalg.norm(u)
        heights = [float(p.shape.representations.support.support(n)) + n @ np.array(p.at) for p in bundle.pieces]
        assert max(heights) == pytest.approx(float(bundle.support.support(n)), rel=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_a_block_that_rocks_loses_what_housner_says(d: int) -> None:
    b, h, tilt = 0.1, 0.3, 0.1
    if d == 2:
        tree = on_flat(tr.Box([b, h]), friction=3.0)
        start = tree.place(body=(0.0, b * np.sin(tilt) + h * np.cos(tilt), tilt))
    else:
        tree = on_flat(tr.Box([b, 0.2, h]), friction=3.0)
        start = tree.place(body=(0.0, 0.0, b * np.sin(tilt) + h * np.cos(tilt), *about(1, tilt)))
    run = tr.simulate(tree, start, duration=0.3, output_step=1e-3)
    (impact,) = run.metadata["transitions"]
    # From rest at `tilt` it turns about its corner: w^2 = 2 m g dz / I_corner, with dz of the centre.
    alpha, size = np.arctan2(b, h), np.hypot(b, h)
    inertia = (b * b + h * h) / 3 + size**2
    before = np.sqrt(2 * G * size * (np.cos(alpha - tilt) - np.cos(alpha)) / inertia)
    after = before * (1 - 1.5 * np.sin(alpha) ** 2)
    k = np.flatnonzero(run.time == impact["time"])[-1]
    w = np.linalg.norm(np.atleast_2d(run["body_angular_velocity"].reshape(len(run.time), -1)), axis=1)
    assert w[k] == pytest.approx(before, rel=1e-8) or w[k] == pytest.approx(after, rel=1e-8)
    lost = (before**2 - after**2) * inertia / 2
    energy = run["energy"]
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-8)
    assert loses(run)


@pytest.mark.parametrize("d", [2, 3])
def test_a_block_dropped_on_its_face_rests_there(d: int) -> None:
    if d == 2:
        tree = on_flat(tr.Box([0.1, 0.2]))
        start = tree.place(contacts=[], body=(0.0, 0.3, 0.0))
    else:
        tree = on_flat(tr.Box([0.1, 0.15, 0.2]))
        start = tree.place(contacts=[], body=(0.0, 0.0, 0.3))
    run = tr.simulate(tree, start, duration=0.5)
    (landing,) = run.metadata["transitions"]
    assert landing["time"] == pytest.approx(np.sqrt(2 * 0.1 / G), rel=1e-9)
    assert run.status is tr.Status.SUCCESS
    assert run["body_position"][-1, 0, -1] == pytest.approx(0.2, abs=1e-12)
    assert np.sum(run["contact_force"][-1, :, -1]) == pytest.approx(G, rel=1e-9)
    assert loses(run)


def lever(p: np.ndarray) -> np.ndarray:
    """Return the matrix of p x."""
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def test_loads_of_a_face_carry_the_weight_at_the_centre_of_pressure() -> None:
    slope = 0.3
    tree = on_flat(tr.Box([0.1, 0.15, 0.2]), friction=1.0, slope=slope)
    run = tr.simulate(tree, tree.place(body=(0.0, 0.0, 0.2)), duration=0.05)
    force, at = run["contact_force"][-1], run["contact_position"][-1]
    assert run.status is tr.Status.SUCCESS
    assert not run.metadata["transitions"]
    assert np.all(force[:, 2] > 0)
    pressed = force[:, 2] @ at[:, 0] / np.sum(force[:, 2])
    assert pressed == pytest.approx(0.2 * np.tan(slope), rel=1e-9)
    np.testing.assert_allclose(np.sum(force, axis=0), [-G * np.sin(slope), 0.0, G * np.cos(slope)], atol=1e-9)
    # Of all forces with this resultant, here inside all cones, those with the least sum of squares.
    assert np.all(np.linalg.norm(force[:, :2], axis=1) < force[:, 2])
    rows = np.hstack([np.vstack([np.eye(3), lever(p)]) for p in at])
    np.testing.assert_allclose(force.ravel(), np.linalg.pinv(rows) @ rows @ force.ravel(), atol=1e-8)


@pytest.mark.parametrize(("slope", "stays"), [(0.30, True), (0.35, False)])
def test_a_block_tips_where_its_weight_leaves_the_edge(slope: float, stays: bool) -> None:
    tree = on_flat(tr.Box([0.1, 0.3]), friction=2.0, slope=slope)  # tan = 1/3 at 0.3217
    run = tr.simulate(tree, tree.place(body=(0.0, 0.3, 0.0)), duration=0.3)
    turned = run["body_angle"][-1, 0]
    assert (abs(turned) < 1e-12) if stays else turned < -0.01
    assert loses(run)


def test_a_block_in_the_plane_slides_down() -> None:
    slope, mu = 0.5, 0.2
    tree = on_flat(tr.Box([0.2, 0.1]), friction=mu, slope=slope)
    run = tr.simulate(tree, tree.place(body=(0.0, 0.1, 0.0)), duration=0.5)
    assert run.status is tr.Status.SUCCESS
    expected = G * (np.sin(slope) - mu * np.cos(slope)) * 0.5**2 / 2
    assert run["body_position"][-1, 0, 0] == pytest.approx(expected, rel=1e-8)


def test_a_capsule_lands_on_its_side_and_rolls() -> None:
    tree = on_flat(tr.Capsule(0.1, 0.3), slope=0.2)
    start = tree.place(body=(0.0, 0.0, 0.1, *about(0, np.pi / 2)))
    run = tr.simulate(tree, start, duration=0.5)
    shape = tr.RigidBody(tr.Capsule(0.1, 0.3), 1.0, "solid")
    moment = float(
        np.linalg.eigvalsh(np.diag(np.ravel(shape.moments)) if np.ndim(shape.moments) == 1 else shape.moments)[0]
    )
    expected = G * np.sin(0.2) / (1 + moment / 0.1**2) * 0.5**2 / 2
    assert run["body_position"][-1, 0, 0] == pytest.approx(expected, rel=1e-8)


def test_a_cylinder_rolls_on_its_side() -> None:
    tree = on_flat(tr.Cylinder(0.1, 0.3), slope=0.2)
    run = tr.simulate(tree, tree.place(body=(0.0, 0.0, 0.1, *about(0, np.pi / 2))), duration=0.5)
    assert run["body_position"][-1, 0, 0] == pytest.approx(G * np.sin(0.2) / 1.5 * 0.5**2 / 2, rel=1e-6)


@pytest.mark.slow
def test_a_cylinder_stands_on_its_end() -> None:
    tree = on_flat(tr.Cylinder(0.1, 0.3), slope=0.2)
    start = tree.place(body=(0.0, 0.0, 0.15))
    assert start.laws.count("rolling") == 8
    standing = tr.simulate(tree, start, duration=0.2)
    assert not standing.metadata["transitions"]
    assert np.all(standing["contact_force"][-1, :, 2] > -1e-9)


def test_of_a_rim_and_its_face_only_one_may_touch() -> None:
    tree = on_flat(tr.Cylinder(0.1, 0.3))
    system, count = tree.system, 9
    for angle, rim in ((0.0, False), (1e-4, False), (0.1, True), (np.pi / 2, True)):
        x = tree.given_state(body=(0.0, 0.0, 1.0, *about(0, angle)))
        assert [may_touch(system, x, i) for i in range(2 * count)] == 2 * [rim, *[not rim] * (count - 1)]
    assert len(face_below(system, tree.given_state(body=(0.0, 0.0, 0.15)), 0)) == count - 1


@pytest.mark.slow
def test_a_cylinder_on_end_topples_over_its_rim() -> None:
    tree = on_flat(tr.Cylinder(0.05, 0.4), friction=2.0, slope=0.3)  # tan(0.3) > r / (h / 2)
    run = tr.simulate(tree, tree.place(body=(0.0, 0.0, 0.2)), duration=0.3, output_step=1e-3)
    assert run["body_position"][-1, 0, 0] > 0.005
    assert loses(run)


@pytest.mark.parametrize("flat", [1e-3, pytest.param(1e-2, marks=pytest.mark.slow)])
def test_a_disc_that_falls_lands_on_its_face(flat: float) -> None:
    tree = on_flat(tr.Disc(0.1, 0.002, flat=flat), friction=2.0)
    start = tree.place(body=(0.0, 0.0, 0.012, *about(0, 0.1)), tolerance=0.1)
    run = tr.simulate(tree, start, duration=0.3, output_step=1e-3)
    assert run.status is tr.Status.SUCCESS
    landing = run.metadata["transitions"][-1]
    assert landing["reason"] == "the contact is no longer a point"
    upright = 1 - 2 * np.sum(run["body_quaternion"][:, 0, 1:3] ** 2, axis=1)
    tilt = np.arccos(np.clip(upright, -1, 1))
    assert np.min(tilt[run.time < landing["time"]]) >= 0.99 * flat
    assert tilt[-1] < 1e-7
    assert run["body_position"][-1, 0, 2] == pytest.approx(0.002, abs=1e-9)
    assert loses(run)


@pytest.mark.parametrize("rounding", [0.0, pytest.param(0.01, marks=pytest.mark.slow)])
def test_a_wheel_from_an_expression_ends_as_a_disc(rounding: float) -> None:
    def support(x, y, z):
        return 0.1 * ca.sqrt(x**2 + y**2) + rounding * ca.sqrt(x**2 + y**2 + z**2)

    runs = []
    for shape in (tr.geometry.ExpressionBody(support), tr.Disc(0.1, rounding)):
        robot = tr.Robot(gravity=[0.0, 0.0, -G], on_slip="slide", on_separation="fly")
        robot.free(1.0, [0.0025, 0.0025, 0.005], shape=shape, name="body")
        robot.terrain(tr.Plane(), friction=2.0)
        tree = robot.finish()
        start = tree.place(body=(0.0, 0.0, 0.01 + rounding, *about(0, 0.1)), tolerance=0.1)
        runs.append(tr.simulate(tree, start, duration=0.1))
    wheel, disc = runs
    assert wheel.status is disc.status is tr.Status.SUCCESS
    ends = [[(one["reason"], one["to"]) for one in run.metadata["transitions"]] for run in runs]
    assert ends[0] == ends[1]
    np.testing.assert_allclose(wheel["body_position"][-1], disc["body_position"][-1], atol=1e-9)


def test_smooth_bodies_have_no_faces() -> None:
    assert not tr.geometry.ExpressionBody(lambda x, y, z: ca.sqrt(x**2 + y**2 + 2 * z**2)).representations.pieces


def test_a_pair_with_a_box_lies_on_a_hand_that_tilts_it_off() -> None:
    body = tr.RigidBody(tr.Box([0.1, 0.3]), 1.0, "solid")
    hand = tr.Hand(tr.Line(), motion=tr.SinusoidMotion([0.0, 6.0, 0.0], [1.0, 1.0, 1.0], [0.0, np.pi / 2, 0.0]))
    pair = tr.RollingPair(body, hand, friction=2.0, on_slip="slide", on_separation="fly")
    start = pair.place()
    assert start.laws.count("rolling") == 2
    run = tr.simulate(pair, start, duration=0.1)  # 6 m/s2 > g b / h = 3.3 m/s2: it tips
    assert len(run.metadata["transitions"]) >= 1
    assert np.ptp(run["object_quaternion"]) > 1e-3

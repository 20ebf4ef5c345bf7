"""Boxes, sharp and rounded, on ground that is known by a level set alone: hills, waves, dishes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr

ROUNDED = tr.Rounded(tr.Box([0.09, 0.07, 0.04]), 0.02)


def turned(w: float, x: float, y: float, z: float) -> tuple[float, ...]:
    """Return a unit quaternion."""
    return tuple(np.array([w, x, y, z]) / np.linalg.norm([w, x, y, z]))


def on(floor: tr.Shape, shape: tr.Shape, friction: float, restitution: float = 0.0) -> tr.RollingTree:
    """Return one body of 1 kg above a ground."""
    robot = tr.Robot(gravity=[0.0] * (shape.d - 1) + [-9.81], on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body")
    robot.terrain(floor, friction=friction, restitution=restitution)
    return robot.finish()


def least(run: tr.Trajectory, shape: tr.Shape, floor: tr.Shape) -> float:
    """Return the least signed distance (m) of points all over the body from the ground, over a run."""
    points, _ = shape.sample(400)
    found = np.inf
    for k in range(0, len(run.time), 20):
        R = Rotation.from_quat(np.roll(run["body_quaternion"][k, 0], -1)).as_matrix()
        found = min(found, float(floor.distance(points @ R.T + run["body_position"][k, 0])[0].min()))
    return found


@pytest.mark.slow
def test_a_rounded_box_moves_on_a_ball_as_on_the_level_set_of_one():
    R = 0.5
    place = (0.02, -0.01, R + 0.1, *turned(0.98, 0.1, 0.15, 0.05))
    ends = []
    for floor in (tr.Sphere(R), tr.geometry.ExpressionLevelSurface(lambda x, y, z: x**2 + y**2 + z**2 - R**2, R)):
        tree = on(floor, ROUNDED, friction=0.4)
        run = tr.simulate(tree, tree.place(body=place, contacts=[]), 0.25)
        assert len(run.transitions) > 0
        ends.append((run["body_position"][-1], run["body_quaternion"][-1], [one["to"] for one in run.transitions]))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-7)
    np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-6)
    assert ends[0][2] == ends[1][2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "floor",
    [
        tr.Extrusion(tr.Sinusoid(0.02, 0.5, 1.6)),
        tr.Dish([0.6, 0.6, 0.45]),
        tr.geometry.ExpressionLevelSurface(lambda x, y, z: z + 0.4 * x**2 - 0.3 * y**2, 0.5),
    ],
)
def test_a_rounded_box_lands_on_faces_edges_and_corners_and_never_sinks_in(floor):
    tree = on(floor, ROUNDED, friction=0.3)
    bottom = float(floor.closest([[0.02, 0.01, -0.4 if isinstance(floor, tr.Dish) else 0.0]])[0][2])
    start = tree.place(body=(0.02, 0.01, bottom + 0.15, *turned(0.96, 0.05, 0.25, 0.1)), contacts=[])
    run = tr.simulate(tree, start, 0.4)
    assert run.status in (tr.Status.SUCCESS, tr.Status.REST)
    assert any(one["reason"] == "the gap closed" for one in run.transitions)
    # Distances without a closed form are right to some 1e-10 sizes.
    assert least(run, ROUNDED, floor) > -1e-8


@pytest.mark.slow
def test_edges_along_which_the_ground_is_straight_have_numbers():
    # On waves no edge along the crests touches in a point: where its nearest one is no formula says.
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(2.06, [0.00528599, 0.00528892, 0.0100712], shape=tr.Disc(0.0989, 0.0), name="disc")
    inertia, center = [0.00443328, 0.00183476, 0.00357793], [-0.00559, -0.00648, -0.00562]
    robot.free(1.07, inertia, center_of_mass=center, shape=tr.Box([0.0356, 0.0894, 0.059]), name="box")
    robot.terrain(tr.Extrusion(tr.Sinusoid(0.0408, 0.903, 2.76)), friction=0.0)
    tree = robot.finish()
    turn = (0.308307346688418, -0.012332293867536722, 0.9495866278003277, -0.05549532240391525)
    start = tree.place(
        disc=(0.0249, -0.0973, 0.182842, 1.0, 0.0, 0.0, 0.0),
        box=(0.0899, 0.0822, 0.211132, *turn),
        rates={
            "disc": (0.0, 0.0, 0.0, -0.151, 0.0519, 0.0239),
            "box": (-0.0247, -1.69, 9.86, -0.145, 0.187, -0.00592),
        },
        contacts=[],
    )
    run = tr.simulate(tree, start, 0.17)
    assert run.status is tr.Status.SUCCESS
    # Energy comes from nowhere.
    energy = np.ravel(run["energy"])
    assert np.max(energy - np.minimum.accumulate(energy)) < 1e-6 * np.max(np.abs(energy))

"""Bodies with corners on curved ground: blocks that rock on a ball, lie in a dish, tip over their edges."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.models.tree.touching import feature_margin, gap_of
from trundle.status import Status

G = 9.81


def on(floor: tr.Shape, shape: tr.Shape, friction: float) -> tr.RollingTree:
    """Return one body of 1 kg above a ground."""
    gravity = [0.0] * (shape.d - 1) + [-G]
    robot = tr.Robot(gravity=gravity, on_slip="slide", on_separation="fly")
    robot.free(1.0, "solid", shape=shape, name="body")
    robot.terrain(floor, friction=friction)
    return robot.finish()


def depth(run: tr.Trajectory, shape: tr.Shape, floor: tr.Shape) -> float:
    """Return the least signed distance of corners and 500 boundary points over a run."""
    points = np.vstack([shape.sample(500)[0], [f.at for f in shape.representations.features if not f.axes]])
    least = np.inf
    for k in range(0, len(run.time), 10):
        if shape.d == 2:
            a = float(np.ravel(run["body_angle"][k])[0])
            R = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
        else:
            R = Rotation.from_quat(np.roll(run["body_quaternion"][k, 0], -1)).as_matrix()
        least = min(least, float(floor.distance(points @ R.T + run["body_position"][k, 0])[0].min()))
    return least


def creates(run: tr.Trajectory) -> float:
    energy = run["energy"].ravel()
    return float(np.max(energy - np.minimum.accumulate(energy))) / float(np.max(np.abs(energy)))


def rocked(R: float, h: float, k2: float, tilt: float, times: np.ndarray) -> np.ndarray:
    """Return the tilt of a block of half height h, radius of gyration k, that rolls with its face on a ball.

    Lagrange's equation of T = ((k^2 + h^2 + R^2 q^2) q'^2)/2, V = g ((R + h) cos q + R q sin q).
    """

    def rate(_: float, y: np.ndarray) -> list[float]:
        q, w = y
        pull = (R + h) * np.sin(q) - R * np.sin(q) - R * q * np.cos(q)
        return [w, (G * pull - R * R * q * w * w) / (k2 + h * h + R * R * q * q)]

    return solve_ivp(rate, (0, times[-1]), [tilt, 0.0], t_eval=times, rtol=1e-11, atol=1e-12).y[0]


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("R", [0.5, 0.1])
def test_a_block_rocks_on_a_ball_that_is_larger_than_its_half_height(d: int, R: float) -> None:
    a, h, tilt = 0.25, 0.2, 0.05
    shape, floor = (tr.Box([a, h]), tr.Circle(R)) if d == 2 else (tr.Box([a, 0.25, h]), tr.Sphere(R))
    tree = on(floor, shape, 5.0)
    x, z = (R + h) * np.sin(tilt) - R * tilt * np.cos(tilt), (R + h) * np.cos(tilt) + R * tilt * np.sin(tilt)
    pose = (x, z, -tilt) if d == 2 else (x, 0.0, z, np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0)
    start = tree.place(body=pose)
    assert start.laws.count("rolling") == 1
    run = tr.simulate(tree, start, duration=0.4, output_step=0.01)
    assert run.status is tr.Status.SUCCESS
    found = -run["body_angle"][:, 0].ravel() if d == 2 else 2 * np.arcsin(run["body_quaternion"][:, 0, 2])
    expected = rocked(R, h, (a * a + h * h) / 3, tilt, run.time)
    rolls = np.abs(R * expected) < a  # beyond, its corner touches
    np.testing.assert_allclose(found[rolls], expected[rolls], atol=2e-7)
    assert bool(np.all(np.abs(expected) < 1.01 * tilt)) == (R > h)


def test_a_block_swings_in_a_dish_like_a_pendulum() -> None:
    half, R = np.array([0.1, 0.15, 0.05]), 0.6
    length = np.sqrt(R**2 - half[0] ** 2 - half[1] ** 2) - half[2]
    shape, floor, tilt = tr.Box(half.tolist()), tr.Dish([R, R, R]), 0.02
    tree = on(floor, shape, 0.0)
    pose = (length * np.sin(tilt), 0.0, -length * np.cos(tilt), np.cos(tilt / 2), 0.0, -np.sin(tilt / 2), 0.0)
    start = tree.place(body=pose)
    assert sum(law != "separated" for law in start.laws) == 4
    inertia = (half[0] ** 2 + half[2] ** 2) / 3
    period = 2 * np.pi * np.sqrt((inertia + length**2) / (G * length)) * (1 + tilt**2 / 16)
    run = tr.simulate(tree, start, duration=period)
    np.testing.assert_allclose(run["body_position"][-1, 0], run["body_position"][0, 0], atol=1e-6)
    assert creates(run) < 1e-9


def test_the_gap_of_a_rounded_body_is_its_distance() -> None:
    half, random = np.array([0.1, 0.15, 0.2]), np.random.default_rng(2)
    shape = tr.Rounded(tr.Box(half.tolist()), 0.04)
    grid = half * np.stack(np.meshgrid(*3 * [np.linspace(-1, 1, 41)]), axis=-1).reshape(-1, 3)
    for floor, far in ((tr.Sphere(0.5), 1.0), (tr.Dish([2.0, 2.0, 2.0]), 0.9), (tr.Cylinder(0.5), 1.1)):
        tree = on(floor, shape, 0.5)
        numbers = range(len(tree.system.contact_pairs))
        for R in Rotation.random(4, random_state=random):
            p = far * np.array([0.6, 0.0, 0.8]) if far > 0.95 else random.uniform(-0.3, 0.3, 3)
            x = tree.given_state(body=(*p, *np.roll(R.as_quat(), 1)))
            least = min(gap_of(tree.system, x, i) for i in numbers if feature_margin(tree.system, x, i) > 0)
            brute = float(floor.distance(grid @ R.as_matrix().T + p)[0].min()) - 0.04
            assert brute - 2e-4 < least <= brute + 1e-12


def test_a_plank_that_rolls_off_its_face_goes_on_about_its_corner() -> None:
    shape, floor = tr.Box([0.1, 0.02]), tr.Circle(0.5)
    tree = on(floor, shape, 20.0)
    start = tree.place(body=(0.0, 0.52, 0.0), rates={"body": (-8.0, None, None)})
    run = tr.simulate(tree, start, duration=0.2)
    first = run.transitions[0]
    assert (first["from"], first["to"]) == ("rolling", "rolling")
    assert first["reason"] == "the contact left its corner, edge or face"
    assert creates(run) < 1e-8
    assert depth(run, shape, floor) > -1e-12


@pytest.mark.parametrize(
    ("shape", "floor", "height"),
    [
        (tr.Box([0.1, 0.2]), tr.Circle(1.0), 1.3),
        (tr.Polytope([[0.1, 0.0], [-0.1, 0.05], [0.0, -0.15], [0.12, -0.1]]), tr.Parabola(0.4), 0.4),
        (tr.Box([0.1, 0.15, 0.2]), tr.Dish([1.0, 1.0, 1.0]), -0.5),
        (tr.Rounded(tr.Box([0.1, 0.2]), 0.03), tr.Circle(1.0), 1.35),
        pytest.param(
            tr.Rounded(tr.Box([0.1, 0.15, 0.2]), 0.03), tr.Dish([1.0, 1.0, 1.0]), -0.5, marks=pytest.mark.slow
        ),
        pytest.param(tr.Rounded(tr.Box([0.1, 0.15, 0.2]), 0.03), tr.Sphere(1.0), 1.4, marks=pytest.mark.slow),
        pytest.param(tr.Box([0.1, 0.15, 0.2]), tr.Sphere(1.0), 1.4, marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_a_body_that_falls_never_sinks_in_and_gains_no_energy(shape: tr.Shape, floor: tr.Shape, height: float) -> None:
    tree = on(floor, shape, 0.4)
    turned = (0.5,) if shape.d == 2 else tuple(np.array([0.9, 0.1, 0.2, 0.3]) / np.linalg.norm([0.9, 0.1, 0.2, 0.3]))
    start = tree.place(contacts=[], body=(0.03, *(shape.d - 2) * [0.02], height, *turned))
    run = tr.simulate(tree, start, duration=0.6)
    assert run.status is tr.Status.SUCCESS
    assert run.transitions
    assert depth(run, shape, floor) > -1e-7
    assert creates(run) < 1e-6


@pytest.mark.parametrize(("base", "top"), [(tr.Plane(), 0.0), (tr.Sphere(1.0), 1.0)])
def test_a_block_in_the_air_may_not_start_inside_the_ground(base: tr.Shape, top: float) -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Box([0.1, 0.1, 0.1]), 1.0, "solid"), tr.Hand(base), friction=0.5)
    assert set(pair.place(object_position=[0.0, 0.0, top + 0.11]).laws) == {"separated"}
    with pytest.raises(tr.TrundleError, match="clear of the base"):
        pair.place(object_position=[0.0, 0.0, top + 0.05])


def test_a_side_that_comes_onto_the_hollow_of_a_wave_ends_its_contact_before_it_pulls() -> None:
    """There the relative curvature reaches zero like the root of time, and forces grow like its inverse."""
    corners = [[0.0776, -0.0154], [0.0427, 0.0575], [0.0487, 0.0653], [0.0594, -0.0593], [0.0954, 0.0115],
               [0.0589, -0.0494], [-0.0666, 0.0429]]  # fmt: skip
    robot = tr.Robot(gravity=[0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(0.38, 0.00167, shape=tr.Rounded(tr.Polytope(corners), 0.0156), name="stone")
    robot.terrain(tr.Sinusoid(0.048, 1.07, 5.85), friction=0.578, restitution=0.361)
    tree = robot.finish()
    start = tree.place(stone=[-0.0528, 0.178832, -2.66], contacts=[], rates={"stone": [0.0, 0.989, 0.0888]})
    run = tr.simulate(tree, start, 0.67)
    assert run.status is Status.SUCCESS
    assert any(t["reason"] == "the relative curvature reached zero" for t in run.transitions)

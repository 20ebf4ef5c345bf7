"""Touches of one instant: what a blow reaches, what it leaves alone, and what it cannot take."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.contact.restitution import Restitution
from trundle.simulate.events.impact import Candidate, islands_of, resolve_impact

G = 9.81
R = 0.05


def balls_on_a_floor(
    places: list[tuple[float, float, float]],
    velocities: list[tuple[float, float, float]],
    friction: float = 0.0,
    restitution: float = 0.0,
    between: bool = True,
    order: int = 1,
) -> tuple[tr.RollingTree, tr.Start]:
    """Balls of 1 kg at places (x, y, height of the gap) above a floor; ``order`` -1 names them the other way round."""
    robot = tr.Robot(gravity=(0, 0, -G), on_slip="slide", on_separation="fly")
    names = [f"ball{i}" for i in range(len(places))]
    for name in names[::order]:
        robot.free(1.0, shape=tr.Sphere(R), name=name)
    robot.terrain(tr.Plane(), friction=friction, restitution=restitution)
    for i, name in enumerate(names if between else []):
        for other in names[:i]:
            robot.contact(*(other, name)[::order], friction=friction, restitution=restitution)
    tree = robot.finish()
    resting = [name for name, (_, _, gap) in zip(names, places, strict=True) if gap == 0.0]
    start = tree.place(
        **{name: (x, y, R + gap, 1, 0, 0, 0) for name, (x, y, gap) in zip(names, places, strict=True)},
        rates={name: (0, 0, 0, *v) for name, v in zip(names, velocities, strict=True)},
        contacts=resting,
        slips={name: v for name, v in zip(names, velocities, strict=True) if name in resting},
    )
    return tree, start


def body_of(run: tr.Trajectory, name: str) -> int:
    return list(map(str, run.dataset["body"].values)).index(name)


@pytest.mark.slow
def test_a_gentle_touch_on_a_floor_without_friction_keeps_the_momentum() -> None:
    tree, start = balls_on_a_floor([(0, 0, 0), (0.10000001, 0, 0)], [(0.005, 1.0, 0), (0, 1.0, 0)])
    run = tr.simulate(tree, start, 0.1)
    assert run.status is tr.Status.SUCCESS
    momentum = run["body_velocity"].sum(axis=1)
    np.testing.assert_allclose(momentum, np.broadcast_to([0.005, 2.0, 0.0], momentum.shape), atol=1e-12)


@pytest.mark.slow
def test_a_ball_that_slides_does_not_stop_where_two_others_touch() -> None:
    """A metre away two balls touch at 5 mm/s; the third slides on with the friction that it has."""
    mu, v = 0.1, 2.0
    tree, start = balls_on_a_floor(
        [(0, 0, 0), (0.1001, 0, 0), (1.0, 0, 0)], [(0.005, 0, 0), (0, 0, 0), (0, v, 0)], friction=mu
    )
    run = tr.simulate(tree, start, 0.05)
    sliding = run["body_velocity"][:, body_of(run, "ball2"), 1]
    np.testing.assert_allclose(sliding, v - mu * G * run.time, atol=1e-9)


@pytest.mark.parametrize("gaps", [(0.1, 0.13), (0.01, 0.3), (0.1, 0.1)])
def test_two_balls_bounce_as_each_does_alone(gaps: tuple[float, float]) -> None:
    e = 0.5
    tree, start = balls_on_a_floor([(0.3 * i, 0, gap) for i, gap in enumerate(gaps)], [(0, 0, 0)] * 2, 0.3, e, False)
    run = tr.simulate(tree, start, 0.5)
    for i, gap in enumerate(gaps):
        heights = run["body_position"][:, body_of(run, f"ball{i}"), 2] - R
        np.testing.assert_allclose(heights, [bouncing_height(gap, e, t) for t in run.time], atol=1e-9)


def bouncing_height(gap: float, e: float, t: float, slow: float = 1e-3) -> float:
    """Height (m) at a time of a ball dropped from `gap`, without air; blows slower than `slow` (m/s) end it."""
    v, begin = np.sqrt(2 * G * gap), np.sqrt(2 * gap / G)
    if t < begin:
        return gap - G * t**2 / 2
    while v >= slow:
        v *= e
        if t < begin + 2 * v / G:
            return v * (t - begin) - G * (t - begin) ** 2 / 2
        begin += 2 * v / G
    return 0.0


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_stool_lands_on_all_feet_at_once_and_drifts_on(friction: float) -> None:
    """What friction takes off is at most mu times the blow."""
    robot = tr.Robot(gravity=(0, 0, -G), on_slip="slide", on_separation="fly")
    body = robot.free(1.0, (0.01, 0.01, 0.01), shape=tr.Sphere(R), shape_at=(0.3, 0, 0), name="foot0")
    for i, at in enumerate(((0, 0.3, 0), (-0.3, 0, 0), (0, -0.3, 0)), 1):
        robot.attach(body, tr.Sphere(R), at=at, name=f"foot{i}")
    robot.terrain(tr.Plane(), friction=friction)
    tree, h, v = robot.finish(), 1e-4, 1.0
    start = tree.place(foot0=(0, 0, R + h, 1, 0, 0, 0), rates={"foot0": (0, 0, 0, v, 0, 0)}, contacts=[])
    run = tr.simulate(tree, start, 0.01)
    assert run.status is tr.Status.SUCCESS
    assert run.transitions[0]["to"] == " + ".join(["sliding"] * 4)
    lands = np.sqrt(2 * h / G)
    after = v - friction * np.sqrt(2 * G * h) - friction * G * (0.01 - lands)
    assert run["body_velocity"][-1, 0, 0] == pytest.approx(after, abs=1e-7)


def test_a_body_on_two_feet_in_the_plane_drifts_on() -> None:
    robot = tr.Robot(gravity=G, on_slip="slide", on_separation="fly")
    body = robot.free(1.0, 0.2, shape=tr.Circle(R), shape_at=(-0.3, 0), name="a")
    robot.attach(body, tr.Circle(R), at=(0.3, 0), name="b")
    robot.terrain(tr.Line(), friction=0.0)
    tree = robot.finish()
    run = tr.simulate(
        tree, tree.place(a=(0, R + 1e-4 + 0.3 * np.sin(0.05), 0.05), rates={"a": (0, 1, 0)}, contacts=[]), 0.3
    )
    np.testing.assert_allclose(run["body_velocity"][:, 0, 0], 1.0, atol=1e-12)
    assert np.diff(run["energy"]).max() < 1e-9


def test_a_spin_goes_on_where_a_second_foot_is_put_down() -> None:
    """Two welded balls come down by 1 um: friction takes at most mu J a / I off the spin, J the impulse of landing."""
    a, mu, spin, h = 0.1, 0.2, 30.0, 1e-6
    robot = tr.Robot(gravity=(0, 0, -G), on_slip="slide", on_separation="fly")
    inertia = a * a * np.array([14 / 5, 14 / 5, 4 / 5])
    body = robot.free(2.0, inertia, shape=tr.Sphere(a), shape_at=(0, 0, -a), name="low")
    robot.attach(body, tr.Sphere(a), at=(0, 0, a), name="high")
    robot.terrain(tr.Plane(), friction=mu)
    tree = robot.finish()
    lying = (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    run = tr.simulate(
        tree, tree.place(low=(0, 0, a + h, *lying), rates={"low": (0, 0, spin, 0, 0, 0)}, contacts=[]), 1e-3
    )
    landed = np.sqrt(2 * h / G)
    taken = mu * 2.0 * a * (np.sqrt(2 * G * h) + G * (1e-3 - landed)) / inertia[0]
    assert run["body_angular_velocity"][-1, 0, 2] == pytest.approx(spin - taken, rel=1e-6)


TUMBLES = [
    (0.8, 0.0, [-0.0077, -0.429, -0.629, -0.6483], [-1.85, 18.22, 2.22], [0.026, -0.578, -0.682]),
    (0.1, 0.5, [0.4567, 0.6032, -0.4763, -0.4481], [-9.138, 10.375, -2.765], [-0.884, -0.482, -1.553]),
]


@pytest.mark.parametrize(("mu", "e", "q", "w", "v"), TUMBLES)
def test_a_dumbbell_stays_above_the_floor_and_gains_no_energy(
    mu: float, e: float, q: list[float], w: list[float], v: list[float]
) -> None:
    a = 0.1
    robot = tr.Robot(gravity=(0, 0, -G), on_slip="slide", on_separation="fly")
    body = robot.free(2.0, np.array([2.8, 2.8, 0.8]) * a * a, shape=tr.Sphere(a), shape_at=(0, 0, -a), name="low")
    robot.attach(body, tr.Sphere(a), at=(0, 0, a), name="high")
    robot.terrain(tr.Plane(), friction=mu, restitution=e)
    tree = robot.finish()
    turned = np.array(q) / np.linalg.norm(q)
    run = tr.simulate(tree, tree.place(low=(0, 0, 0.35, *turned), rates={"low": (*w, *v)}, contacts=[]), 0.6)
    assert run.status is tr.Status.SUCCESS
    x, y = run["body_quaternion"][:, 0, 1:3].T
    lowest = run["body_position"][:, 0, 2] - a * np.abs(1 - 2 * (x**2 + y**2)) - a
    assert lowest.min() > -1e-9
    assert np.diff(run["energy"]).max() < 1e-9 * run["energy"][0]


@pytest.mark.parametrize("friction", [0.0, 0.05])
def test_a_box_that_rattles_keeps_what_friction_cannot_take(friction: float) -> None:
    box = tr.RigidBody(tr.Box([0.1, 0.06, 0.04]), 1.0, "solid")
    rules = {"friction": friction, "on_slip": "slide", "on_separation": "fly"}
    pair = tr.RollingPair(box, tr.Hand(tr.Plane()), **rules)  # type: ignore[arg-type]
    tilted = [np.cos(0.15), np.sin(0.15), 0, 0]
    start = pair.place(object_position=[0, 0, 0.12], object_quaternion=tilted, object_velocity=[1, 0.5, 0])
    run = tr.simulate(pair, start, 0.5)
    v = run["object_velocity"]
    taken, pushed = np.linalg.norm(np.diff(v[:, :2], axis=0), axis=1), np.diff(v[:, 2]) + G * np.diff(run.time)
    assert np.max(taken - friction * pushed) < 1e-5
    if friction == 0.0:
        np.testing.assert_allclose(v[:, :2], np.broadcast_to([1.0, 0.5], v[:, :2].shape), atol=1e-9)


# Random impacts: rigid bodies that touch each other and the ground in random places


def random_contacts(
    rng: np.random.Generator, bodies: int, count: int, e: float
) -> tuple[np.ndarray, dict[int, Candidate]]:
    """Inertia (6 bodies) and contacts at random places of random bodies, with each other or with the ground."""
    masses = np.exp(rng.uniform(-2, 2, bodies))
    M = np.diag(np.concatenate([[m, m, m, *(m * rng.uniform(0.1, 0.3, 3))] for m in masses]))
    nu, contacts = rng.normal(size=6 * bodies), {}
    for i in range(count):
        J = np.zeros((3, 6 * bodies))
        pair = rng.choice(bodies, 2, replace=False) if bodies > 1 and rng.random() < 0.5 else rng.choice(bodies, 1)
        for sign, b in zip((1.0, -1.0), pair, strict=False):
            x, y, z = rng.normal(size=3)
            J[:, 6 * b : 6 * b + 6] = sign * np.hstack([np.eye(3), [[0, z, -y], [-z, 0, x], [y, -x, 0]]])
        n, velocity = rng.normal(size=3), J @ nu
        if rng.random() < 0.4:  # it touches and does not approach
            n -= velocity * float(n @ velocity) / float(velocity @ velocity)
        n /= np.linalg.norm(n)
        mu = float(rng.choice([0.0, 0.2, 1.0]))
        contacts[i] = Candidate(J, velocity, n, mu, restitution=Restitution(e))
    return M, contacts


@pytest.mark.parametrize("e", [0.0, 0.6])
@pytest.mark.parametrize("seed", range(15))
def test_an_impact_is_one_whatever_the_order_and_obeys_the_laws_of_friction(seed: int, e: float) -> None:
    rng = np.random.default_rng([seed, int(10 * e)])
    M, contacts = random_contacts(rng, int(rng.integers(1, 4)), int(rng.integers(1, 6)), e)
    order = list(rng.permutation(list(contacts)))
    for island in islands_of(M, contacts):
        found = resolve_impact(M, island)
        assert found.decided
        again = resolve_impact(M, {i: island[i] for i in order if i in island})
        np.testing.assert_allclose(again.jump, found.jump, atol=1e-7 * (1.0 + np.abs(found.jump).max()))
        gain = sum(
            float(found.impulses[i] @ (c.velocity + c.after(found.jump).velocity)) / 2 for i, c in island.items()
        )
        assert gain <= 1e-9
        for i, c in island.items():
            push, after = found.impulses[i], c.after(found.jump)
            normal = float(c.n @ push)
            assert normal >= -1e-9
            assert np.linalg.norm(push - normal * c.n) <= c.mu * normal + 1e-8
            assert after.opening >= -1e-8
        if len(island) == 1 and e > 0.0:
            (c,) = island.values()
            if c.opening < -1e-3:
                assert c.after(found.jump).opening == pytest.approx(-e * c.opening, rel=1e-6)


def test_what_no_body_couples_with_a_blow_is_of_another_island() -> None:
    M, contacts = random_contacts(np.random.default_rng(5), 3, 6, 0.0)
    for island in islands_of(M, contacts):
        reached = {int(b) for c in island.values() for b in np.flatnonzero(np.abs(c.J).max(axis=0)) // 6}
        for other in islands_of(M, contacts):
            touched = {int(b) for c in other.values() for b in np.flatnonzero(np.abs(c.J).max(axis=0)) // 6}
            assert island.keys() == other.keys() or not reached & touched


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
def test_a_row_of_balls_at_rest_passes_a_blow_on(e: float) -> None:
    """Equal balls: each strikes the next with (1 + e) / 2 of its speed; without restitution all move together."""
    count, n = 4, np.array([1.0, 0.0])
    J = [np.zeros((2, count)) for _ in range(count - 1)]
    for i, row in enumerate(J):
        row[0, i], row[0, i + 1] = -1.0, 1.0  # A is the ball ahead
    nu = np.array([1.0, 0.0, 0.0, 0.0])
    contacts = {i: Candidate(row, row @ nu, n, 0.0, restitution=Restitution(e)) for i, row in enumerate(J)}
    after = nu + resolve_impact(np.eye(count), contacts).jump
    if e == 0.0:
        np.testing.assert_allclose(after, 1 / count, atol=1e-12)
    else:
        last = ((1 + e) / 2) ** (count - 1)
        assert after[-1] == pytest.approx(last, rel=1e-9)
        assert after.sum() == pytest.approx(1.0, rel=1e-12)
        assert np.all(np.diff(after) >= -1e-12)

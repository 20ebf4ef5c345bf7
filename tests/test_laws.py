"""The judge of recorded runs, judged: motions in closed form are right, and each planted fault is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from tests.oracles.laws import (
    Contact,
    Joint,
    Link,
    Motion,
    Pair,
    Pushes,
    Scene,
    Shape,
    grounds,
    judge,
    measure,
    shapes,
)
from tests.oracles.laws.gaps import Placed, between, over

G = 9.81
UP = np.array([0.0, 0.0, 1.0])


def ball_scene(mu: float = 0.0, count: int = 1, ground: grounds.Ground | None = None, **more) -> Scene:
    """Balls of 1 kg and 0.1 m."""
    links = [Link(f"b{i}", 1.0, 0.004 * np.eye(3)) for i in range(count)]
    parts = [Shape(f"b{i}", f"b{i}", shapes.ball(0.1), np.zeros(3), np.eye(3), mu) for i in range(count)]
    floor = grounds.flat(UP) if ground is None else ground
    return Scene(3, -G * UP, links, parts, ground=more.pop("floor", floor), **more)


def motion(time, position, velocity, omega, R=None, **more) -> Motion:
    """One body's motion; it does not turn unless R is given."""
    n = len(time)
    R = np.tile(np.eye(3), (n, 1, 1)) if R is None else R
    omega = np.broadcast_to(omega, (n, 3))
    return Motion(time, position[:, None], R[:, None], velocity[:, None], omega[:, None], **more)


def laws(scene: Scene, run: Motion) -> set[str]:
    """Return the names of the laws that a run breaks."""
    return {finding.law for finding in judge(scene, run)}


def changed(run: Motion, name: str, rows, by) -> Motion:
    """Return a run of which an array differs in some rows by a number or vector."""
    values = np.array(getattr(run, name))
    values[rows] += by
    return replace(run, **{name: values})


# A ball that bounces --------------------------------------------------------------------------------------------------


def bouncing(restitution: float = 0.6) -> Motion:
    """Falls from 0.5 m, drifts at 1 m/s and spins: no friction. Samples at impacts are those before them."""
    t0, drop = np.sqrt(2 * 0.4 / G), np.sqrt(2 * G * 0.4)
    impacts = [t0]
    speed = restitution * drop
    while len(impacts) < 4:
        impacts.append(impacts[-1] + 2 * speed / G)
        speed *= restitution
    time = np.unique(np.concatenate([np.arange(0, 1.0, 0.004), impacts[:4]]))
    position, velocity = np.zeros((len(time), 3)), np.zeros((len(time), 3))
    for k, t in enumerate(time):
        last = int(np.searchsorted(impacts, t, side="left"))
        since = t if last == 0 else t - impacts[last - 1]
        up = 0.0 if last == 0 else drop * restitution**last
        z = 0.5 if last == 0 else 0.1
        position[k] = [t, 0.0, z + up * since - G * since**2 / 2]
        velocity[k] = [1.0, 0.0, up - G * since]
    omega = np.array([0.0, 3.0, 5.0])
    R = Rotation.from_rotvec(time[:, None] * omega).as_matrix()
    return motion(time, position, velocity, omega, R)


def test_a_bouncing_ball_breaks_no_law():
    assert judge(ball_scene(), bouncing()) == []
    assert judge(ball_scene(0.5), bouncing()) == []


@pytest.mark.parametrize(
    ("name", "rows", "by", "law"),
    [
        ("position", (slice(120, None), 0, 2), -1e-5, "overlap"),
        ("position", (slice(120, None), 0, 0), 1e-3, "jump"),
        ("velocity", (slice(150, None), 0, 0), -0.01, "friction impulse"),
        ("velocity", (slice(50, None), 0, 1), 1e-4, "untouched"),
        ("omega", (slice(50, None), 0, 1), 1e-3, "untouched"),
        ("omega", (slice(150, None), 0, 2), -1.0, "impulse"),
        ("velocity", (slice(150, None), 0, 0), 1e-3, "energy"),
    ],
)
def test_faults_of_a_bouncing_ball_are_found(name, rows, by, law):
    assert law in laws(ball_scene(), changed(bouncing(), name, rows, by))


def test_too_much_friction_in_an_impact_is_found_and_enough_is_not():
    run = bouncing()
    first = int(np.argmin(np.abs(run.time - np.sqrt(0.8 / G)))) + 1
    normal = 1.6 * np.sqrt(2 * G * 0.4)  # of 1 kg
    for share, found in ((0.9, False), (1.1, True)):
        impulse = -0.05 * share * normal  # along x, at the lowest point
        run_ = changed(run, "velocity", (slice(first, None), 0, 0), impulse)
        run_ = changed(run_, "omega", (slice(first, None), 0, 1), -0.1 * impulse / 0.004)
        position = np.array(run.position)
        position[first:, 0, 0] += impulse * (run.time[first:] - run.time[first - 1])
        R = run.R[:, 0].copy()
        after = Rotation.from_rotvec((run.time[first:, None] - run.time[first - 1]) * run_.omega[first, 0])
        R[first:] = after.as_matrix() @ R[first - 1]
        run_ = replace(run_, position=position, R=R[:, None])
        assert bool({"impulse", "friction impulse"} & laws(ball_scene(0.05), run_)) is found


def test_a_ball_that_loses_its_spin_in_an_impact_without_friction_is_found():
    run = bouncing()
    first = int(np.argmin(np.abs(run.time - np.sqrt(0.8 / G)))) + 1
    assert "impulse" in laws(ball_scene(), changed(run, "omega", (slice(first, None), 0, 1), -0.5))


# A block that slides, a ball that rolls -------------------------------------------------------------------------------


def sliding(mu: float = 0.3, n: int = 201) -> tuple[Scene, Motion]:
    """A block 0.2 x 0.2 x 0.1 m slides at 1 m/s and is braked; the pressure's centre lies ahead."""
    block = shapes.box([0.1, 0.1, 0.05])
    moments = np.diag([0.2**2 + 0.1**2, 0.2**2 + 0.1**2, 0.2**2 + 0.2**2]) / 12
    scene = Scene(3, -G * UP, [Link("block", 1.0, moments)],
                  [Shape("block", "block", block, np.zeros(3), np.eye(3), mu)], ground=grounds.flat(UP))  # fmt: skip
    time = np.linspace(0, 0.8 / (mu * G), n)
    zero = np.zeros(n)
    position = np.stack([time - mu * G * time**2 / 2, zero, zero + 0.05], axis=1)
    velocity = np.stack([1 - mu * G * time, zero, zero], axis=1)
    force = np.tile([-mu * G, 0.0, G], (n, 1))
    point = position + np.array([mu * 0.05, 0.0, -0.05])
    contact = Contact("block", "block", None, point, np.tile(UP, (n, 1)), force, gap=zero)
    return scene, motion(time, position, velocity, np.zeros(3), contacts=[contact])


def test_a_sliding_block_breaks_no_law():
    assert judge(*sliding()) == []


def stepped(step: float = 0.004) -> tuple[Scene, Motion]:
    """The sliding block by an engine of fixed steps: each gives one impulse, and no force at an instant."""
    scene, _ = sliding(n=0)
    mu, n = 0.3, 40
    time = step * np.arange(n + 1)
    speed = 1 - mu * G * time
    path = np.concatenate([[0.0], step * np.cumsum(speed[1:])])  # with the later velocity of each step
    zero, ones = np.zeros(n + 1), np.ones((n, 3))
    position = np.stack([path, zero, zero + 0.05], axis=1)
    velocity = np.stack([speed, zero, zero], axis=1)
    none = np.zeros(n, dtype=int)
    given = Pushes(
        np.arange(n), none, none - 1, ones * UP, ones * [-mu * G * step, 0.0, G * step], ones * [mu * 0.05, 0.0, -0.05],
        ones, 0.0 * ones, step,
    )  # fmt: skip
    return scene, motion(time, position, velocity, np.zeros(3), pushes=given)


def test_an_engine_of_fixed_steps_breaks_no_law_where_its_impulses_are_right():
    scene, run = stepped()
    assert judge(scene, run) == []
    amounts = measure(scene, run)
    assert amounts.overlap < 1e-12
    assert max(amounts.momentum, amounts.energy, amounts.cone) < 1e-12


@pytest.mark.parametrize(
    ("name", "change", "law"),
    [
        ("impulse", lambda J: 1.001 * J, "force balance"),
        ("impulse", lambda J: J * [1.0, 1.0, -1.0], "pull"),
        ("impulse", lambda J: J * [1.001, 1.0, 1.0], "cone"),
        ("arm_A", lambda r: np.add(r, [1e-3, 0.0, 0.0]), "force balance"),
        ("couple", lambda c: np.add(c, [0.0, 0.0, 1e-5]), "force balance"),
        ("normal", lambda n: np.add(n, [1e-3, 0.0, 0.0]), "cone"),
        ("A", lambda a: a - 1, "force balance"),
    ],
)
def test_wrong_impulses_of_steps_are_found(name, change, law):
    scene, run = stepped()
    pushes = replace(run.pushes, **{name: change(getattr(run.pushes, name))})
    assert law in laws(scene, replace(run, pushes=pushes))


def test_a_bar_that_lies_on_its_side_stands_on_both_its_rims():
    """Its lowest points are between the corners that are known of them, whatever its turn about its own axis."""
    scene = Scene(3, -G * UP, [Link("bar", 1.0, np.diag([0.002, 0.002, 0.001]))],
                  [Shape("bar", "bar", shapes.cylinder(0.05, 0.2), np.zeros(3), np.eye(3), 0.5)],
                  ground=grounds.flat(UP))  # fmt: skip
    time = np.linspace(0.0, 0.1, 21)
    position, still = np.tile([0.0, 0.0, 0.05], (21, 1)), np.zeros((21, 3))
    for angle in (0.0, 0.02, 0.4, 1.0):
        R = np.tile(Rotation.from_euler("zx", [angle, np.pi / 2]).as_matrix(), (21, 1, 1))
        assert judge(scene, motion(time, position, still, np.zeros(3), R)) == []


def test_faults_of_a_sliding_block_are_found():
    scene, run = sliding()
    (contact,) = run.contacts
    slower = replace(scene, shapes=[replace(scene.shapes[0], mu=0.29)])
    assert {"friction impulse", "impulse", "cone"} <= laws(slower, run)
    turned = contact.force @ Rotation.from_rotvec([0.0, 0.0, 0.02]).as_matrix().T
    assert "slip" in laws(scene, replace(run, contacts=[replace(contact, force=turned)]))
    pulling = contact.force * [1.0, 1.0, -1.0]
    assert "pull" in laws(scene, replace(run, contacts=[replace(contact, force=pulling)]))
    lifted = changed(run, "position", (slice(None), 0, 2), 1e-4)
    assert {"force at a distance", "impulse"} <= laws(scene, lifted)
    assert "impulse" in laws(scene, changed(run, "omega", (slice(100, None), 0, 1), 1.0))  # it would tip
    assert "overlap" in laws(scene, changed(run, "position", (slice(100, 120), 0, 2), -1e-6))


def rolling(slope: float = 0.3, n: int = 301) -> tuple[Scene, Motion]:
    """A ball rolls down a slope: a = g sin(slope)/1.4 with friction 2/7 of the pull."""
    scene = replace(ball_scene(0.2), gravity=G * np.array([np.sin(slope), 0.0, -np.cos(slope)]))
    time = np.linspace(0, 1.0, n)
    a, zero = G * np.sin(slope) / 1.4, np.zeros(n)
    position = np.stack([a * time**2 / 2, zero, zero + 0.1], axis=1)
    velocity = np.stack([a * time, zero, zero], axis=1)
    omega = np.stack([zero, a * time / 0.1, zero], axis=1)
    R = Rotation.from_rotvec(np.stack([zero, a * time**2 / 0.2, zero], axis=1)).as_matrix()
    force = np.tile([-0.4 * a, 0.0, G * np.cos(slope)], (n, 1))
    contact = Contact("b0", "b0", None, position - 0.1 * UP, np.tile(UP, (n, 1)), force, gap=zero)
    return scene, motion(time, position, velocity, omega, R, contacts=[contact])


def test_a_rolling_ball_breaks_no_law_and_its_faults_are_found():
    scene, run = rolling()
    assert judge(scene, run) == []
    less = replace(scene, shapes=[replace(scene.shapes[0], mu=0.08)])  # tan(0.3) 2/7 = 0.088
    assert {"cone", "impulse", "friction impulse"} <= laws(less, run)
    assert "impulse" in laws(scene, replace(run, omega=0.99 * run.omega))
    assert "energy" in laws(scene, changed(run, "velocity", (slice(200, None), 0, 0), 1e-3))


def test_a_disc_of_the_plane_rolls_and_falls_within_the_laws():
    n, slope = 201, 0.2
    time = np.linspace(0, 1.0, n)
    a = G * np.sin(slope) / 1.5
    position = np.stack([a * time**2 / 2, 0.1 + 0 * time], axis=1)
    velocity = np.stack([a * time, 0 * time], axis=1)
    angle = -a * time**2 / 0.2
    R = np.stack([np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], -2)
    omega = (-a * time / 0.1)[:, None]
    scene = Scene(2, G * np.array([np.sin(slope), -np.cos(slope)]), [Link("d", 1.0, np.array([[0.005]]))],
                  [Shape("d", "d", shapes.ball(0.1, 2), np.zeros(2), np.eye(2), 0.2)],
                  ground=grounds.flat(np.array([0.0, 1.0])))  # fmt: skip
    run = Motion(time, position[:, None], R[:, None], velocity[:, None], omega[:, None])
    assert judge(scene, run) == []
    assert "impulse" in laws(scene, replace(run, omega=0.98 * run.omega))
    slippery = replace(scene, shapes=[replace(scene.shapes[0], mu=0.05)])
    assert {"impulse", "friction impulse"} <= laws(slippery, run)


# Bodies that meet -----------------------------------------------------------------------------------------------------


def colliding(through: bool = False) -> tuple[Scene, Motion]:
    """Two balls without gravity: the first stops, the second goes on."""
    scene = ball_scene(count=2, floor=None, pairs=[Pair("b0", "b1", 0.0)])
    scene = replace(scene, gravity=np.zeros(3), ground=None)
    time = np.unique(np.append(np.arange(0, 1.0, 0.01), 0.405))
    before = time <= 0.405
    x0 = np.where(before | through, 2 * time, 0.81)
    x1 = np.where(before | through, 1.01, 1.01 + 2 * (time - 0.405))
    v0 = np.where(before | through, 2.0, 0.0)
    zero = np.zeros_like(time)
    position = np.stack([np.stack([x, zero, zero], axis=1) for x in (x0, x1)], axis=1)
    velocity = np.stack([np.stack([v, zero, zero], axis=1) for v in (v0, 2.0 - v0)], axis=1)
    R = np.tile(np.eye(3), (len(time), 2, 1, 1))
    return scene, Motion(time, position, R, velocity, np.zeros_like(velocity))


def test_balls_that_collide_break_no_law_and_those_that_pass_through_do():
    scene, run = colliding()
    assert judge(scene, run) == []
    assert "overlap" in laws(*colliding(through=True))
    assert "impulse" in laws(scene, changed(run, "velocity", (slice(60, None), 1, 0), -0.1))
    assert "untouched" in laws(scene, changed(run, "velocity", (slice(10, None), 1, 1), 1e-4))
    # Each alone may lose speed; what one loses the other has to get.
    assert "impulse" in laws(scene, changed(run, "velocity", (slice(60, None), 0, 1), 0.1))


def test_balls_that_pass_through_each_other_between_two_samples_are_found():
    scene, run = colliding(through=True)
    rows = [0, 20, 80, 99]
    names = ("time", "position", "R", "velocity", "omega")
    few = replace(run, **{name: getattr(run, name)[rows] for name in names})
    assert "overlap" in laws(scene, few)


def test_a_ball_on_a_spinning_plate_breaks_no_law_and_energy_from_nothing_is_found():
    rate, n = 7.0, 401
    time = np.linspace(0, 2.0, n)
    c, s = np.cos(2 * time), np.sin(2 * time)  # at 2/7 of the plate's rate
    zero = np.zeros(n)
    position = np.stack([0.3 * c, 0.3 * s, zero + 0.1], axis=1)
    velocity = np.stack([-0.6 * s, 0.6 * c, zero], axis=1)
    # Rolling: v - 0.1 w x z = rate z x r.
    plate = rate * np.stack([-0.3 * s, 0.3 * c, zero], axis=1)
    omega = np.cross(UP, (velocity - plate)) / 0.1
    R = np.tile(np.eye(3), (n, 1, 1))
    for k in range(n - 1):
        middle = Rotation.from_rotvec((omega[k] + omega[k + 1]) / 2 * (time[k + 1] - time[k])).as_matrix()
        R[k + 1] = middle @ R[k]
    turning = Rotation.from_rotvec(rate * time[:, None] * UP).as_matrix()
    run = motion(time, position, velocity, omega, R, ground_R=turning, ground_p=np.zeros((n, 3)),
                 ground_v=np.zeros((n, 3)), ground_omega=np.tile(rate * UP, (n, 1)))  # fmt: skip
    scene = ball_scene(0.5)
    assert judge(scene, run) == []
    # Faster along the plate's own speed: seen from the plate, more energy.
    assert "energy" in laws(scene, changed(run, "velocity", (slice(200, None), 0, slice(None)), [0.0, 0.0, 0.01]))


def test_a_joint_beyond_its_stop_and_work_of_a_motor():
    time = np.linspace(0, 1.0, 101)
    angle = 0.5 * time**2  # 1 N m on 1 kg m2
    c, s = np.cos(angle), np.sin(angle)
    R = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)[:, None]
    zero = np.zeros((101, 1, 2))
    scene = Scene(2, np.zeros(2), [Link("rotor", 1.0, np.eye(1))], [], joints=[Joint("rotor", None, 1.0)])
    run = Motion(time, zero, R, zero, time[:, None, None], q=angle[:, None])
    assert judge(scene, run) == []
    stopped = replace(scene, joints=[Joint("rotor", None, 1.0, high=0.4)])
    assert laws(stopped, run) == {"stop"}
    weaker = replace(scene, joints=[Joint("rotor", None, 0.9)])
    assert laws(weaker, run) == {"energy"}


def thrown_at_its_stop() -> tuple[Scene, Motion]:
    """A slide that its motor drives onto a stop without loss, again and again: about one blow between two samples."""
    pull, speed = 50.0, 1.0
    period = 2 * speed / pull
    impacts = np.arange(1, 21) * period
    time = np.unique(np.concatenate([np.arange(0.0, 20 * period, 0.9 * period), impacts]))
    since = time - period * np.maximum(np.ceil(time / period - 1e-9) - 1, 0)  # samples at impacts are those before them
    z, v = speed * since - pull * since**2 / 2, speed - pull * since
    n = len(time)
    position, velocity = (np.stack([np.zeros(n), value], axis=1)[:, None] for value in (z, v))
    joint = Joint("b0", None, -pull, low=0.0, slides=True, axis=np.array([0.0, 1.0]))
    scene = Scene(2, np.zeros(2), [Link("b0", 1.0, np.eye(1))], [], joints=[joint])
    still = np.tile(np.eye(2), (n, 1, 1, 1))
    run = Motion(time, position, still, velocity, np.zeros((n, 1, 1)), q=z[:, None], breaks=impacts.tolist())
    return scene, run


def test_a_blow_between_two_samples_may_hide_a_velocity_and_no_more():
    scene, run = thrown_at_its_stop()
    assert judge(scene, run) == []
    assert laws(scene, replace(run, breaks=())) == {"jump"}  # where nothing strikes the samples tell the velocity
    far = 2 * 50.0 * np.max(np.diff(run.time)) ** 2
    moved = changed(run, "position", slice(20, None), [0.0, 3 * far])
    assert "jump" in laws(scene, replace(moved, q=moved.position[:, 0, 1:]))


# Its geometry ---------------------------------------------------------------------------------------------------------

FORMS = {
    "ball": shapes.ball(0.1),
    "ellipsoid": shapes.ellipsoid([0.1, 0.07, 0.05]),
    "box": shapes.box([0.1, 0.06, 0.04]),
    "capsule": shapes.capsule(0.03, 0.1),
    "cylinder": shapes.cylinder(0.05, 0.1),
    "coin": shapes.cylinder(0.06, 0.0),
    "cushion": shapes.superellipsoid([0.1, 0.08, 0.05], (3.0, 1.6), 0.01),
    "die": shapes.box([0.05, 0.05, 0.03], 0.02),
}


@pytest.mark.parametrize("name", FORMS)
def test_points_of_a_body_are_the_gradients_of_its_reach(name):
    u = shapes.directions(3, 40)
    core = FORMS[name].core

    def h(v):
        return np.sum(v * core(v), axis=1)

    step = 1e-6
    slopes = [(h(u + step * e) - h(u - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(np.stack(slopes, axis=1), core(u), atol=1e-8)


@pytest.mark.parametrize("first", FORMS)
@pytest.mark.parametrize("second", FORMS)
def test_bodies_moved_by_their_gap_touch_and_further_overlap(first, second):
    n = 40
    turns = Rotation.random(2 * n, random_state=5).as_matrix()
    A = Placed(FORMS[first], turns[:n], np.zeros((n, 3)))
    B = Placed(FORMS[second], turns[n:], 0.4 * shapes.directions(3, n))
    found = between(A, B, 1.0)
    assert np.all(found.gap > 0)
    touching = replace(B, p=B.p - found.gap[:, None] * found.normal)
    left = between(A, touching, 1.0).gap
    assert left.min() > -1e-7  # a bound from below, which alone says that two overlap
    assert left.max() < 1e-5
    if 0.0 in (FORMS[first].inner, FORMS[second].inner):
        return  # a flat one may slip by
    deeper = replace(touching, p=touching.p - 0.01 * found.normal - 0.2 * touching.p)
    assert np.all(between(A, deeper, 1.0).gap < -1e-4)


def test_a_ball_over_waves_has_the_distance_of_the_nearest_point_of_the_ground():
    ground = grounds.waves(0.05, 1.0)
    ball = Placed(shapes.ball(0.1), np.tile(np.eye(3), (5, 1, 1)), np.array([[x, 0.0, 0.16] for x in np.arange(5) / 5]))
    found = over(ball, ground, ball.R, np.zeros((5, 3)), 1.0)
    for p, gap in zip(ball.p, found.gap, strict=True):
        best = min(
            minimize(lambda s, p=p: np.hypot(s[0] - p[0], 0.05 * np.sin(2 * np.pi * s[0]) - p[2]), [p[0] + d]).fun
            for d in (-0.05, 0.0, 0.05)
        )
        assert gap == pytest.approx(best - 0.1, abs=2e-3)


def test_a_box_in_a_dish_and_on_a_hill():
    turned = Rotation.from_euler("xyz", [0.2, 0.3, 0.1]).as_matrix()[None]
    corners = FORMS["box"].corners @ turned[0].T
    place = np.array([[0.1, 0.0, -0.6]])
    inside = over(
        Placed(FORMS["box"], turned, place), grounds.hollow([1.0, 1.0, 1.0]), np.eye(3)[None], np.zeros((1, 3)), 1.0
    )
    assert inside.gap[0] == pytest.approx(1.0 - np.linalg.norm(corners + place, axis=1).max(), abs=1e-9)
    hill = grounds.solid(shapes.ball(0.5))
    above = over(
        Placed(FORMS["box"], np.eye(3)[None], np.array([[0.0, 0.0, 0.6]])), hill, np.eye(3)[None], np.zeros((1, 3)), 1.0
    )
    assert above.gap[0] == pytest.approx(0.06, abs=1e-9)


@pytest.mark.parametrize("name", ["box", "die", "capsule", "cylinder", "coin", "ellipsoid"])
def test_a_body_over_a_hill_has_the_same_gap_whether_the_hill_is_a_solid_or_a_graph(name):
    n = 30
    body = FORMS[name]
    place = np.column_stack([0.1 * np.cos(np.arange(n)), 0.1 * np.sin(np.arange(n)), np.zeros(n)])
    place[:, 2] = np.sqrt(0.5**2 - place[:, 0] ** 2 - place[:, 1] ** 2) + 0.11
    A = Placed(body, Rotation.random(n, random_state=3).as_matrix(), place)
    A.R[0] = np.eye(3)
    R, p = np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))
    solid = over(A, grounds.solid(shapes.ball(0.5)), R, p, 1.0)
    # Let down until they touch.
    touching = Placed(body, A.R, A.p + solid.gap[:, None] * solid.normal)

    def height(x):
        return np.sqrt(0.25 - np.sum(x**2, axis=1))

    graph = grounds.graph(height, lambda x: -x / height(x)[:, None])
    found = over(touching, graph, R, p, 1.0)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-8)
    np.testing.assert_allclose(found.normal, solid.normal, atol=1e-2)

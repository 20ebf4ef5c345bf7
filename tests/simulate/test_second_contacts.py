"""Second contacts: rocking, rest, bridges and grooves; sheet 4 section 6."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from tests.oracles import analytic
from trundle.simulate.events.contact_detection import ContactDetector
from trundle.simulate.events.exclusion import exclusion
from trundle.simulate.events.impact import Candidate, resolve_impact
from trundle.simulate.events.rest import Hold, can_rest
from trundle.simulate.mode import Mode
from trundle.status import Status

FLY = {"on_slip": "slide", "on_separation": "fly"}


def peanut() -> tr.RigidBody:
    return tr.RigidBody(tr.FourierRadius(0.3, [0, 0.35]), 1.0, 0.05)


def test_peanut_rocks_into_rest() -> None:
    pair = tr.RollingPair(peanut(), tr.Ground(tr.Line(0.0, 0.0)), friction=2.0, **FLY)
    run = tr.simulate(pair, pair.place(angle=0.3), 1.5, relative_tolerance=1e-12)
    landed = [t["time"] for t in run.transitions]
    assert len(landed) >= 10
    assert run.transitions[-1]["to"] == "rest"
    first = int(np.searchsorted(run.time, landed[0]))
    m, inertia = 1.0, 0.05
    r_old = run["contact_position"][first, 0] - run["body_position"][first, 0]
    after = first + 1
    r_new = run["contact_position"][after, 0] - run["body_position"][after, 0]
    ratio = analytic.rocking_ratio(m, inertia, r_old, r_new)
    speeds = [run["body_angular_velocity"][k, 0] for k in (first, after)]
    assert speeds[1] / speeds[0] == pytest.approx(ratio, abs=2e-2)  # the sample after is up to one step later
    resting = run.time > landed[-1]
    assert np.abs(run["body_velocity"][resting]).max() < 1e-12
    assert np.abs(run["body_angular_velocity"][resting]).max() < 1e-12
    assert np.abs(run["gap"][resting]).max() < 1e-12
    weight = run["contact_force"][resting].sum(axis=1)
    np.testing.assert_allclose(weight, np.broadcast_to([0.0, 9.81], weight.shape), atol=1e-9)
    assert run.status is Status.SUCCESS
    assert run.feasible


@pytest.mark.slow
def test_rocking_of_the_sheet() -> None:
    """The sheet's peanut is r = .3 (1 + .35 cos 2 phi) m, 1 kg, .05 kg m^2, let go at .25 rad: 2.5989 -> 1.4978."""
    before, after, energy = analytic.PEANUT_ROCKING
    assert (after / before) ** 2 == pytest.approx(energy, abs=1e-4)
    pair = tr.RollingPair(peanut(), tr.Ground(tr.Line(0.0, 0.0)), friction=2.0, **FLY)
    run = tr.simulate(pair, pair.place(angle=0.25), 1.0, relative_tolerance=1e-12, output_step=1e-3)
    landed = np.array([t["time"] for t in run.transitions[:6]])
    assert landed[0] == pytest.approx(0.203, abs=5e-4)
    at = int(np.searchsorted(run.time, landed[0]))
    speeds = np.abs(run["body_angular_velocity"][at : at + 4, 0])
    assert speeds[0] == pytest.approx(before, abs=5e-5)
    rest = np.polyfit(run.time[at + 1 : at + 4] - landed[0], speeds[1:], 2)  # back to the instant of the impact
    assert rest[2] == pytest.approx(after, abs=5e-5)
    low = run["energy"][-1]
    kinetic = [run["energy"][np.searchsorted(run.time, t) - 2] - low for t in landed]
    ratios = np.array(kinetic[1:]) / kinetic[:-1]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)  # a geometric sequence: Zeno
    gaps = np.diff(landed)
    assert np.all(np.diff(gaps) < 0)


@pytest.mark.parametrize("mirror", [1, -1])
def test_on_a_parabola_a_circle_is_excluded_where_the_ground_is_bent_less(mirror: int) -> None:
    """z = c x^2 is bent by 2c/(1 + 4 c^2 x^2)^(3/2): by 0.95/r at the distance x of its bottom."""
    c, r = 4.0, 0.2
    x = np.sqrt((2 * c * r / 0.95) ** (2 / 3) - 1) / (2 * c)
    shapes = exclusion(tr.Circle(r), tr.Parabola(c))
    assert shapes.size == pytest.approx(2 * r, rel=1e-3)
    for inner, excluded in ((x + 2.01 * r, True), (x + 1.99 * r, False), (0.0, False)):
        ends = sorted((mirror * inner, mirror * 3.0))
        assert shapes.excludes(*ends) is excluded


ROUND = tr.Ellipsoid([0.2, 0.25, 0.2])  # bent by 0.2/0.25^2 = 3.2/m at least
X = np.linspace(-1.0, 1.0, 24)


@pytest.mark.parametrize(
    ("body", "base", "excluded"),
    [
        (ROUND, tr.Plane(), True),
        (ROUND, tr.Dish([1.0, 1.1, 1.2]), True),
        (ROUND, tr.Dish([0.3, 0.3, 0.3]), False),  # bent by 3.3/m
        (ROUND, tr.Tube(0.5), True),
        (ROUND, tr.Tube(0.3), False),
        (ROUND, tr.HeightMap(X, X, np.add.outer(X**2, 0 * X)), True),
        (ROUND, tr.HeightMap(X, X, np.add.outer(2 * X**2, 0 * X)), False),
        (ROUND, tr.Sphere(1.0), False),  # no graph: a ball that is large enough would touch it twice elsewhere
        (tr.Capsule(0.1, 0.2), tr.Plane(), False),  # bent nowhere along its side
        (tr.Torus(0.3, 0.1), tr.Plane(), False),
        (tr.Box([0.1, 0.1, 0.1]), tr.Plane(), False),
        (tr.Circle(0.2), tr.Line(), True),
        (tr.Circle(0.2), tr.Circle(0.4), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_shapes_exclude(body: tr.Shape, base: tr.Shape, excluded: bool) -> None:
    assert exclusion(body, base).excludes(-0.5, 0.5) is excluded


def test_without_the_second_contact_the_peanut_would_penetrate() -> None:
    """The gap is never negative at any place of the outline."""
    pair = tr.RollingPair(peanut(), tr.Ground(tr.Line(0.0, 0.0)), friction=2.0, **FLY)
    run = tr.simulate(pair, pair.place(angle=0.3), 1.0)
    outline = peanut().shape.mesh(2000)
    for i in range(0, len(run), 7):
        a = run["body_angle"][i, 0]
        z = outline @ np.array([np.sin(a), np.cos(a)]) + run["body_position"][i, 0, 1]
        assert z.min() > -1e-9


def test_ellipse_drops_into_a_narrow_valley() -> None:
    body = tr.RigidBody(tr.Ellipse([0.3, 0.25]), 1.0, 0.02)
    pair = tr.RollingPair(body, tr.Ground(tr.Parabola(3.0)), friction=0.3, **FLY)
    run = tr.simulate(pair, pair.place(contact_x=0.5, angle=0.4), 3.0)
    assert run.transitions[-1]["to"] == "rest"
    assert list(run["mode"][-1]) == ["rest", "rest"]
    x = run["contact_position"][-1, :, 0]
    assert x.min() < 0 < x.max()
    assert np.all(np.abs(run["gap"][-1]) < 1e-10)
    assert run.feasible
    energy = run["energy"]
    assert np.all(np.diff(energy) < 1e-9)


def test_ellipsoid_in_a_tube_rolls_on_two_walls() -> None:
    """The long axis turns until it touches both walls; what is left is a motion about the line between them."""
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.1, 0.1]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Tube(0.2), rpy=[0, np.pi / 2, 0]), friction=0.8, **FLY)
    start = pair.place(contact_on_hand=[0.2, 0, 0], object_angular_velocity=[1.0, 0, 2.0])
    run = tr.simulate(pair, start, 2.0)
    assert run.status is Status.SUCCESS
    assert run.transitions[-1]["to"] == "rolling + rolling"
    both = run["mode"] == "rolling + rolling"
    assert both.sum() > 100
    energy = run["energy"][both]
    assert np.ptp(energy) < 1e-8 * abs(energy).max()
    assert np.abs(run["gap"][both]).max() < 1e-10
    assert np.abs(run["slip"][both]).max() < 1e-9


def test_a_third_contact_in_space_is_seen_and_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.1, 0.1]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Dish([0.4, 0.4, 0.4])), friction=2.0, **FLY)
    turn = [np.cos(0.5), 0.0, np.sin(0.5), 0.0]
    start = pair.place(contact_on_hand=[0, 0, -0.4], object_quaternion=turn)
    watch = ContactDetector(pair.system, Mode(("rolling", "rolling"), start.atlas))
    assert watch.full
    assert watch.overlaps(start.x[None]) is None
    pushed = np.array(start.x)
    pushed[pair.system.model().layout["object.position"]] += [-0.15, 0.0, 0.0]
    assert watch.overlaps(np.vstack([start.x, pushed])) == 1
    monkeypatch.setattr(ContactDetector, "overlaps", lambda self, states: 0)
    run = tr.simulate(pair, start, 0.4)
    assert run.status is Status.SECOND_CONTACT
    assert run.transitions[-1]["reason"] == "a third point touched"


def test_ellipsoid_bridges_a_dish() -> None:
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.1, 0.1]), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Dish([0.4, 0.4, 0.4])), friction=2.0, **FLY)
    turn = [np.cos(0.5), 0.0, np.sin(0.5), 0.0]
    run = tr.simulate(pair, pair.place(contact_on_hand=[0, 0, -0.4], object_quaternion=turn), 0.4)
    assert [t["to"] for t in run.transitions] == ["rolling + rolling"]
    assert run.status is Status.SUCCESS
    R = run["object_position"]  # nothing of the body is outside the dish
    assert np.linalg.norm(R, axis=1).max() < 0.4


def test_impulses_outside_both_cones_let_both_contacts_slide() -> None:
    """Two contacts that must both close but slip: both push along the edge of their cones."""
    floor = Candidate(np.array([[1.0, 0, 0.0], [0, 1.0, 1.0]]), np.array([3.0, -1.0]), np.array([0.0, 1.0]), 0.1)
    other = Candidate(np.array([[1.0, 0, 0.0], [0, 1.0, -1.0]]), np.array([3.0, -1.0]), np.array([0.0, 1.0]), 0.1)
    slides = resolve_impact(np.eye(3), {0: floor, 1: other})
    assert slides.laws == {0: "sliding", 1: "sliding"}
    assert slides.decided
    for i, c in enumerate((floor, other)):
        along, normal = slides.impulses[i]
        assert abs(along + 0.1 * normal) < 1e-12
        after = c.velocity + c.J @ slides.jump
        assert after[0] > 0
        assert abs(after[1]) < 1e-12
    sticky = {k: Candidate(c.J, c.velocity, c.n, np.inf) for k, c in enumerate((floor, other))}
    impact = resolve_impact(np.eye(3), sticky)
    assert impact.decided
    for c in sticky.values():
        np.testing.assert_allclose(c.velocity + c.J @ impact.jump, 0.0, atol=1e-12)


def test_shapes_that_leave_no_room_are_not_searched() -> None:
    assert exclusion(tr.Sphere(0.1), tr.Dish([0.4, 0.4, 0.4])).always
    assert not exclusion(tr.Ellipsoid([0.3, 0.1, 0.1]), tr.Dish([0.4, 0.4, 0.4])).always
    assert exclusion(tr.Sphere(0.1), tr.Tube(0.2)).always
    assert not exclusion(tr.Sphere(0.1), tr.Torus(0.3, 0.1)).always
    terrain = exclusion(tr.Circle(0.2), tr.Parabola(2.0))
    assert terrain.least == pytest.approx(5.0)
    assert terrain.excludes(-0.1, 0.1)  # 2 c = 4 at the bottom
    assert not exclusion(tr.Circle(0.3), tr.Parabola(2.0)).excludes(-0.1, 0.1)
    assert exclusion(tr.Circle(0.3), tr.Parabola(2.0)).excludes(1.2, 1.3)
    assert not exclusion(tr.FourierRadius(0.3, [0, 0.35]), tr.Line(0.0, 0.0)).excludes(0.0, 0.1)


@pytest.mark.parametrize(("mu", "rests"), [(0.0, True), (1.0, True)])
def test_disc_in_a_groove_rests_without_friction(mu: float, rests: bool) -> None:
    """Two walls at 45 degrees carry a disc; equal vertical forces, one solution of many, would need mu = 1."""
    a, b = np.array([1.0, 1.0]) / np.sqrt(2), np.array([-1.0, 1.0]) / np.sqrt(2)
    holds = [Hold(-a, a, np.array([0.0, 0.5]), mu), Hold(-b, b, np.array([0.0, 0.5]), mu)]
    assert can_rest(holds) is rests


def test_leaning_body_needs_friction() -> None:
    a, b = np.array([0.0, 1.0]), np.array([-1.0, 0.0])  # floor and wall: a ladder
    holds = [
        Hold(np.array([0.0, 0.0]), a, np.array([0.5, 1.0]), 0.1),
        Hold(np.array([1.0, 2.0]), b, np.array([-0.5, 0.0]), 0.1),
    ]
    assert not can_rest(holds)
    assert can_rest([Hold(h.point, h.normal, h.force, 0.9) for h in holds])


def wedged(
    mu: float, motion: tr.HandMotion | None = None, twist: tuple[float, ...] = (0.0, 0.0, 0.0)
) -> tr.RollingPair:
    """Return an ellipse over a hand that is too narrow for it."""
    body = tr.RigidBody(tr.Ellipse([0.0377, 0.0252]), 0.0553, "solid")
    hand = tr.Hand(tr.Parabola(30.0), motion=motion or tr.Coast(), twist=twist)
    return tr.RollingPair(body, hand, friction=mu, **FLY)


@pytest.mark.parametrize(
    "motion",
    [tr.Coast(), tr.SampledMotion([0.0, 1.0], np.zeros((2, 3))), tr.SinusoidMotion([0.0] * 3, [1.0] * 3)],
    ids=lambda motion: type(motion).__name__,
)
def test_a_hand_that_never_moves_is_as_good_as_ground(motion: tr.HandMotion) -> None:
    pair = wedged(0.8, motion)
    run = tr.simulate(pair, pair.place(contact_on_hand=(0.04, 0.048), object_angle=0.4), 0.5)
    assert run.status is Status.SUCCESS
    assert run.transitions[-1]["to"] == "rest"
    resting = run["mode"] == "rest"
    assert resting.sum() > 100
    assert np.abs(run["object_velocity"][resting]).max() < 1e-12
    weight = run["contact_force"][resting]
    np.testing.assert_allclose(weight, np.broadcast_to([0.0, 0.0, 0.0553 * 9.81], weight.shape), atol=1e-9)


class Held:
    """A hand that is told to stand still, for now."""

    period = 0.05

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        return np.zeros(3)

    def reset(self) -> None:
        """Nothing is remembered."""


def test_under_a_policy_or_on_a_moving_hand_nothing_rests_for_good() -> None:
    for pair, policy in ((wedged(0.8), Held()), (wedged(0.8, twist=(1.0, 0.0, 0.0)), None)):
        start = pair.place(contact_on_hand=(0.04, 0.048), object_angle=0.4)
        run = tr.simulate(pair, start, 0.3, policy=policy)
        assert run.status is Status.SUCCESS
        assert run.transitions[-1]["to"] == "rolling + rolling"
        assert run.metadata["statistics"]["steps"] < 100


def test_motions_say_when_they_are_over() -> None:
    motion = tr.SampledMotion([0.0, 1.0, 2.0, 3.0], np.outer([0.0, 1.0, 0.0, 0.0], np.ones(3)))
    assert [motion.is_still(t) for t in (0.0, 1.5, 2.0, 9.0)] == [False, False, True, True]
    assert not tr.SampledMotion([0.0, 1.0], np.ones((2, 3))).is_still(5.0)
    assert not tr.SinusoidMotion([0.0, 0.0, 1.0], [1.0] * 3).is_still(0.0)


def test_transitions_that_undo_each_other_are_decided_together() -> None:
    """However round-off has it: how many undo each other before they are is no matter, where the body goes is."""
    pair, ends = wedged(0.1, twist=(1.0, 0.0, 0.0)), []
    for shift in (0.0, 1e-12):
        run = tr.simulate(pair, pair.place(contact_on_hand=(0.04 + shift, 0.048), object_angle=0.4), 0.3)
        assert run.status is Status.SUCCESS
        assert run.feasible
        reasons = [note["reason"] for note in run.transitions]
        assert len(reasons) < 100, "one contact after the other, they have no end"
        ends.append(run["object_position"][-1])
    np.testing.assert_allclose(ends, np.broadcast_to(ends[0], (2, 3)), atol=1e-5)


def test_a_touch_without_a_blow_closes_the_contact_and_changes_nothing() -> None:
    noise = 1e-15 * np.random.default_rng(0).standard_normal((2, 2))
    rows = (np.eye(3)[:2], np.array([[1.0, 0, 0.3], [0, 1.0, -0.2]]))
    touching = {i: Candidate(J, v, np.array([0.6, 0.8]), 0.1) for i, (J, v) in enumerate(zip(rows, noise, strict=True))}
    impact = resolve_impact(np.diag([1.0, 1.0, 0.1]), touching)
    assert impact.decided
    assert impact.laws == {0: "rolling", 1: "rolling"}
    assert np.abs(impact.jump).max() < 1e-13


def test_a_place_that_comes_apart_by_round_off_alone_lands_where_that_is_sure() -> None:
    ball = tr.RigidBody(tr.Circle(0.2), 1.0, 0.02)
    pair = tr.RollingPair(ball, tr.Ground(tr.Line(0.0, 0.0)), friction=2.0, contact="chart", **FLY)
    start = pair.place(angle=0.3)
    layout, pull = pair.system.model().layout, 0.05

    def falling(t: float) -> np.ndarray:
        x = np.array(start.x)
        x[layout["body.position"].start + 1] += 1e-15 - 0.5 * pull * t**2
        x[layout["body.velocity"].start + 1] = 1e-17 - pull * t
        return x

    watch = ContactDetector(pair.system, Mode(("separated",), start.atlas), frozenset({"contact.gap"}))
    times = np.array([0.0, 0.005])
    found = watch.find_first_touch(times, np.stack([falling(t) for t in times]), falling)
    assert found is not None
    assert found[0] == pytest.approx(np.sqrt(4e-10 / pull), rel=1e-4)  # 1e-9 of its size deep: no round-off


@pytest.mark.parametrize("ground", [0.5, 0.0])
def test_a_ball_that_hits_another_without_friction_gives_it_half_its_speed(ground: float) -> None:
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    for name in "ab":
        robot.free(1.0, shape=tr.Sphere(0.1), name=name)
    robot.contact("a", "b", friction=0.0)
    robot.terrain(tr.Plane(), friction=ground)
    tree = robot.finish()
    start = tree.place(a=(0, 0, 0.1), b=(0.25, 0, 0.1), rates={"a": (0, 5.0, 0, 0.5, 0, 0)})
    run = tr.simulate(tree, start, 0.102)
    np.testing.assert_allclose(run["body_velocity"][-1][:, 0], 0.25, atol=0.011)  # 0.002 s of friction
    np.testing.assert_allclose(run["body_angular_velocity"][-1][:, 1], [5.0, 0.0], atol=0.26)
    assert run["gap"].min() > -1e-6

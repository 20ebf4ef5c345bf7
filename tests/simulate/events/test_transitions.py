"""Every entry of the table of transitions, in the plane and in space."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.law import COMMON_ENDINGS
from trundle.contact.laws import LAWS, SLIP_END
from trundle.simulate.events import Event, HybridState, no_onsets
from trundle.simulate.events.transitions import TRANSITIONS
from trundle.simulate.mode import Method, Mode
from trundle.simulate.runner import Runner
from trundle.status import Status

Case = Callable[[str], tuple[tr.Trajectory, str]]
CASES: dict[tuple[str, str, int], Case] = {}

FLAT_SIDES = "planar curves have no straight sides to fall on"
NO_REACH = "planar charts cover a whole curve: none has a reach"
GROUND = "terrain in the plane has no extent"
NO_SPIN = "in the plane there is no axis along the normal to spin about"
LATER = "a second contact is found first (sheet 4, section 6); minimal coordinates, which have none, only roll"
SEEN = "the watch sees a touch before the bodies overlap by a thousandth of their size"
EXCUSED = {
    **{(law, "roundness", 2): FLAT_SIDES for law in ("rolling", "pure-rolling", "sliding")},
    **{(law, "chart", 2): NO_REACH for law in ("rolling", "pure-rolling", "sliding")},
    **{(law, "extent", 2): GROUND for law in ("rolling", "pure-rolling", "sliding")},
    ("pure-rolling", "torsion", 2): NO_SPIN,
    **{("sliding", "curvature", d): LATER for d in (2, 3)},
    **{("separated", "overlap", d): SEEN for d in (2, 3)},
}
ROLLING = ("rolling", "pure-rolling")
TABLE = (*ROLLING, "sliding", "separated")
RESISTED = {"rolling", "rolling_rate", "spin_rate"}
"""Margins of rolling resistance and drilling friction: test_resistance."""


def covers(laws: tuple[str, ...], margin: str, d: int) -> Callable[[Case], Case]:
    """Register a case: a function of the law that returns a run and the mode or status the transition leads to."""

    def add(case: Case) -> Case:
        CASES.update({(law, margin, d): case for law in laws})
        return case

    return add


def go(body: tr.RigidBody, base: Any, duration: float, start: dict[str, Any], law: str, **how: Any) -> tr.Trajectory:
    """Simulate a pair; a sliding case starts with the slip of its `start`."""
    law = "rolling" if law in ("sliding", "separated") else law
    pair = tr.RollingPair(body, base, law=law, **how)
    return tr.simulate(pair, pair.place(**start), duration)


def disc() -> tr.RigidBody:
    return tr.RigidBody(tr.Circle(0.1), 0.5, "solid")


def ball() -> tr.RigidBody:
    return tr.RigidBody(tr.Sphere(0.1), 0.5, "solid")


@covers(ROLLING, "normal_force", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    hill = tr.Ground(tr.Arc(0.5, [0.0, 0.0], "outside"))
    return go(disc(), hill, 5.0, {"contact_x": 0.1}, law, friction=5.0, on_slip="ignore"), "separated"


@covers(ROLLING, "normal_force", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    start = {"contact_on_hand": [0.3, 0.0, 0.4]}
    return go(ball(), tr.Hand(tr.Sphere(0.5)), 5.0, start, law, friction=5.0, on_slip="ignore"), "separated"


@covers(("sliding",), "normal_force", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    hill = tr.Ground(tr.Arc(0.5, [0.0, 0.0], "outside"))
    return go(disc(), hill, 5.0, {"contact_x": 0.2, "slip": 0.1}, law, friction=0.01, on_slip="slide"), "separated"


@covers(("sliding",), "normal_force", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    start = {"contact_on_hand": [0.3, 0.0, 0.4], "slip": [0.1, 0.1, 0.0]}
    run = go(ball(), tr.Hand(tr.Sphere(0.5)), 5.0, start, law, friction=0.01, on_slip="slide", on_separation="fly")
    return run, "separated"


@covers(ROLLING, "friction", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    valley = tr.Ground(tr.Parabola(0.5))
    return go(disc(), valley, 1.0, {"contact_x": 0.7}, law, friction=0.1, on_slip="slide"), "sliding"


@covers(ROLLING, "friction", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    start = {"contact_on_hand": [0.1, 0.05, 0.48]}
    return go(ball(), tr.Hand(tr.Sphere(0.5)), 1.0, start, law, friction=0.1, on_slip="slide"), "sliding"


@covers(("pure-rolling",), "torsion", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 50.0, 0, 0, 0], [1.0] * 6))
    body = tr.RigidBody(tr.Ellipsoid([0.1, 0.12, 0.08]), 0.5, "solid")
    how = {"friction": 2.0, "torsional_friction": 0.005, "on_slip": "slide"}
    return go(body, hand, 0.3, {}, law, **how), "rolling"


@covers(("sliding",), "slip_speed", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipse([0.12, 0.1]), 0.5, 0.003)
    start = {"contact_x": 0.2, "slip": 0.5}
    return go(body, tr.Ground(tr.Parabola(0.3)), 1.0, start, law, friction=0.4, on_slip="slide"), "rolling"


@covers(("sliding",), "slip_speed", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipsoid([0.12, 0.1, 0.09]), 0.5, "solid")
    start = {"slip": [0.5, 0.2, 0.0], "object_angular_velocity": [0.0, 1.0, 2.0]}
    return go(body, tr.Hand(tr.Plane()), 1.0, start, law, friction=0.4, on_slip="slide"), "rolling"


@covers(ROLLING, "curvature", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipse([0.3, 0.1]), 1.0, 0.02)
    start = {"contact_x": 0.3, "angle": 1.2, "angular_velocity": 5.0}
    how = {"coordinates": "rolling", "friction": 9.0, "on_slip": "ignore", "on_separation": "ignore"}
    return go(body, tr.Ground(tr.Parabola(2.0)), 3.0, start, law, **how), "curvature-locked"


@covers(ROLLING, "curvature", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.1, 0.1]), 1.0, "solid")
    turn = [np.cos(0.6), 0.0, np.sin(0.6), 0.0]
    start = {"contact_on_hand": [0.0, 0.0, -0.35], "object_quaternion": turn}
    how = {"coordinates": "rolling", "friction": 9.0, "on_slip": "ignore", "on_separation": "ignore"}
    return go(body, tr.Hand(tr.Dish([0.35, 0.35, 0.35])), 3.0, start, law, **how), "curvature-locked"


@covers((*ROLLING, "sliding"), "roundness", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Disc(0.05), 0.3, "solid")
    start: dict[str, Any] = {"object_quaternion": [np.cos(0.2), np.sin(0.2), 0.0, 0.0]}
    how: dict[str, Any] = {"friction": 5.0, "on_slip": "ignore"}
    if law == "sliding":
        start |= {"slip": [0.0, -0.3, 0.0]}
        how = {"friction": 0.02, "on_slip": "slide"}
    return go(body, tr.Hand(tr.Plane()), 0.5, start, law, **how), " + ".join([law] * 8)


@covers((*ROLLING, "sliding"), "chart", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipsoid([0.1, 0.12, 0.15]), 0.3, "solid")
    start = {"contact_on_hand": [0.1, 0.0, -0.69], "object_angular_velocity": [2.0, 3.0, 0.0]}
    how: dict[str, Any] = {"friction": 9.0, "contact": "chart"}
    if law == "pure-rolling":
        start["object_angular_velocity"] = [0.0, 4.0, 0.0]
    if law == "sliding":
        start |= {"slip": [0.5, 0.5, 0.0], "object_angular_velocity": [3.0, 9.0, 1.0]}
        how |= {"friction": 0.01, "on_slip": "slide"}
    run = go(body, tr.Hand(tr.Dish([1.0, 0.8, 0.7])), 2.0, start, law, **how)
    for name in ("object_position", "object_velocity", "object_angular_velocity"):  # the pose is kept, only renamed
        assert np.linalg.norm(np.diff(run[name], axis=0), axis=1).max() < 1.0
    return run, law


def measured_slope(height: float = 0.2) -> tr.Ground:
    x = np.linspace(-0.5, 0.5, 40)
    return tr.Ground(tr.geometry.SampledCurve(np.column_stack([x, height * x + 0.01 * np.sin(5 * x)])))


@covers((*ROLLING, "sliding"), "data", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    start: dict[str, Any] = {"contact_x": 0.1}
    how: dict[str, Any] = {"friction": 3.0}
    if law == "sliding":
        start, how = start | {"slip": -0.5}, {"friction": 0.01, "on_slip": "slide"}
    run = go(disc(), measured_slope(), 3.0, start, law, **how)
    assert run["contact_position"][-1, 0, 0] == pytest.approx(-0.5, abs=1e-8)
    return run, "off-the-surface"


@pytest.mark.parametrize("contact", ["auto", "chart"])
@pytest.mark.parametrize("law", [*ROLLING, "sliding"])
def test_measured_height_map_ends_in_every_form_of_contact(law: str, contact: str) -> None:
    run, status = height_map(law, contact)
    assert run.status.label == status
    assert run["contact_on_hand"][-1, 0] == pytest.approx(-0.5, abs=1e-8)


def height_map(law: str, contact: str = "auto") -> tuple[tr.Trajectory, str]:
    x = np.linspace(-0.5, 0.5, 12)
    shape = tr.HeightMap(x, x, 0.2 * x[:, None] + 0.01 * np.sin(5 * x)[None, :])
    start: dict[str, Any] = {"contact_on_hand": [-0.3, 0.1, -0.06]}
    how: dict[str, Any] = {"friction": 3.0, "contact": contact}
    if law == "sliding":
        start, how = start | {"slip": [-0.5, 0.0, 0.0]}, how | {"friction": 0.01, "on_slip": "slide"}
    return go(ball(), tr.Hand(shape), 1.5, start, law, **how), "off-the-surface"


covers((*ROLLING, "sliding"), "data", 3)(height_map)


def plank(d: int) -> Case:
    """A plank rolls, or slides, on a ball until its corner or its edge touches."""

    def case(law: str) -> tuple[tr.Trajectory, str]:
        body = tr.RigidBody(tr.Box([0.1, 0.02] if d == 2 else [0.1, 0.3, 0.02]), 1.0, "solid")
        ball, top = (tr.Circle(0.5), [0.0, 0.5]) if d == 2 else (tr.Sphere(0.5), [0.0, 0.0, 0.5])
        start: dict[str, Any] = {"object_angular_velocity": -8.0 if d == 2 else [0.0, 8.0, 0.0], "contact_on_hand": top}
        how: dict[str, Any] = {"friction": 20.0}
        if law == "sliding":
            start |= {"slip": [-1.0, *(d - 1) * [0.0]]}
            how = {"friction": 0.01, "on_slip": "slide"}
        return go(body, tr.Hand(ball), 0.2, start, law, **how), law

    return case


covers((*ROLLING, "sliding"), "feature", 2)(plank(2))
covers((*ROLLING, "sliding"), "feature", 3)(plank(3))


@covers((*ROLLING, "sliding"), "extent", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    start: dict[str, Any] = {"object_angular_velocity": [-3.0, 1.0, 0.0]}
    how: dict[str, Any] = {"friction": 3.0}
    if law == "sliding":
        start, how = {"slip": [0.1, 0.6, 0.0]}, {"friction": 0.01, "on_slip": "slide"}
    run = go(ball(), tr.Hand(tr.Plane(), extent=[1.0, 0.5]), 3.0, start, law, **how)
    assert run["contact_on_hand"][-1, 1] == pytest.approx(0.25, abs=1e-12)
    return run, "off-the-hand"


@covers(("separated",), "gap", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    """A wheel with its mass off centre hops when it is fast."""
    body = tr.RigidBody(tr.Circle(0.1), 0.5, 0.001, center_of_mass=[0.05, 0.0])
    start = {"angular_velocity": -20.0}
    how = {"friction": 1.0, "on_slip": "slide", "on_separation": "fly"}
    return go(body, tr.Ground(tr.Line(0.0, 0.0)), 1.0, start, law, **how), "rolling"


@covers(("separated",), "gap", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 0, 0, 0, -20.0], [2.0] * 6))
    start = {"object_angular_velocity": [1.0, 2.0, 3.0]}
    return go(ball(), hand, 1.0, start, law, friction=0.3, on_slip="slide", on_separation="fly"), "rolling"


@covers(("separated",), "touch", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.FourierRadius(0.3, [0, 0.35]), 1.0, 0.05)
    how = {"friction": 2.0, "on_slip": "slide", "on_separation": "fly"}
    return go(body, tr.Ground(tr.Line(0.0, 0.0)), 1.0, {"angle": 0.3}, law, **how), "rest"


@covers(("separated",), "touch", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    body = tr.RigidBody(tr.Ellipsoid([0.3, 0.1, 0.1]), 1.0, "solid")
    start = {"contact_on_hand": [0.0, 0.0, -0.4], "object_quaternion": [np.cos(0.5), 0.0, np.sin(0.5), 0.0]}
    how = {"friction": 2.0, "on_slip": "slide", "on_separation": "fly"}
    return go(body, tr.Hand(tr.Dish([0.4, 0.4, 0.4])), 0.3, start, law, **how), "rolling + rolling"


def falls(body: tr.RigidBody, base: Any, height: float, duration: float) -> tr.Trajectory:
    """Simulate a body that falls from a height (m), at rest."""
    pair = tr.RollingPair(body, base, on_slip="slide", on_separation="fly")
    start = {"position": (0.0, height)} if pair.d == 2 else {"object_position": (0.01, 0.05, height)}
    return tr.simulate(pair, pair.place(**start), duration)


@covers(("separated",), "blunt", 2)
def _(law: str) -> tuple[tr.Trajectory, str]:
    crest = tr.geometry.ExpressionCurve(lambda u: (u, 0.03 * ca.cos(6 * u)), range=(-0.5, 0.5))
    body = tr.RigidBody(tr.Rounded(tr.Box([0.05, 0.02]), 0.01), 1.0, "solid")
    return falls(body, tr.Ground(crest), 0.1, 0.2), "not-a-point-contact"


@covers(("separated",), "blunt", 3)
def _(law: str) -> tuple[tr.Trajectory, str]:
    hill = tr.Rounded(tr.Box([0.19, 0.19, 0.19]), 0.01)
    return falls(tr.RigidBody(tr.Cylinder(0.06, 0.12), 1.0), tr.Hand(hill), 0.28, 0.2), "not-a-point-contact"


@pytest.mark.parametrize(("law", "margin", "d"), sorted(CASES))
def test_transition(law: str, margin: str, d: int) -> None:
    run, target = CASES[(law, margin, d)](law)
    reason = TRANSITIONS[LAWS[law].ending(margin)][0]  # type: ignore[index]
    found = [t for t in run.transitions if t["reason"] == reason and (t["from"] == law or margin == "touch")]
    assert found, run.transitions
    assert target in [t["to"] for t in found]
    ends = {status.label for status in Status if status is not Status.REST} - {"separated"}
    assert run.status.label == target if target in ends else run.status in (Status.SUCCESS, Status.SEPARATED)
    times = [t["time"] for t in run.transitions]
    assert times == sorted(times)
    assert np.all(np.diff(run.time) >= 0)


def test_every_entry_of_the_table_is_tested_in_plane_and_space() -> None:
    # The slip that is over is resolved as one that came to rest (test_jams).
    margins = {law: set(LAWS[law].endings) | (set(COMMON_ENDINGS) if LAWS[law].touching else set()) for law in TABLE}
    for law in ("rolling", "sliding"):
        margins[law].discard("torsion")  # of what holds the spin
    for law in margins:
        margins[law].discard("within")  # of two polytopes what "feature" is of one (test_boxes)
    entries = {(law, m, d) for law in TABLE for m in margins[law] - RESISTED - {SLIP_END} for d in (2, 3)}
    assert set(CASES) | set(EXCUSED) == entries
    assert not set(CASES) & set(EXCUSED)


@pytest.mark.parametrize(("law", "margin", "d"), sorted(EXCUSED))
def test_an_excused_entry_still_resolves(law: str, margin: str, d: int) -> None:
    """Where no motion reaches an entry, its resolver is asked itself."""
    if margin in ("torsion", "chart", "roundness"):
        assert (law, margin, 3) in CASES
        return
    reason, resolve = TRANSITIONS[LAWS[law].ending(margin)]  # type: ignore[index]
    round_ones = SimpleNamespace(system=SimpleNamespace(beside={}))
    status = resolve(round_ones, None, Event(0, margin), None)  # type: ignore[arg-type]
    assert isinstance(status, Status)
    assert reason


@pytest.mark.parametrize("flat", [0.01, 1e-3])
def test_a_tall_can_that_falls_back_onto_its_end_rocks_over_it(flat: float) -> None:
    """Angular momentum about the edge that lands is kept: (I + m (h^2 - r^2)) of (I + m (h^2 + r^2))."""
    r, h = 0.05, 0.2
    body = tr.RigidBody(tr.Cylinder(r, 2 * h, flat=flat), 1.0, "solid")
    start = {"object_quaternion": [np.cos(0.01), 0.0, np.sin(0.01), 0.0]}
    run = go(body, tr.Hand(tr.Plane()), 0.1, start, "rolling", friction=2.0, on_slip="slide", on_separation="fly")
    inertia = (3 * r**2 + (2 * h) ** 2) / 12
    about_edge = inertia + h**2 + r**2
    falls = 2 * 9.81 * (r * np.sin(0.02) - h * (1 - np.cos(0.02))) / about_edge  # rad2/s2, squared rate as it lands
    left = falls * ((inertia + h**2 - r**2) / about_edge) ** 2
    assert run["energy"][-1] - 9.81 * h == pytest.approx(about_edge * left / 2, rel=1e-6)
    assert run["object_angular_velocity"][:, 1].min() == pytest.approx(-np.sqrt(falls), rel=0.02)
    assert run["gap"].min() > -1e-9


def at_hand(law: str, **rules: Any) -> tuple[Runner, HybridState]:
    """A disc of 1 kg on a line, in the mode of a law."""
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), 1.0, "solid"), tr.Ground(tr.Line()), friction=0.1, **rules)
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    start = pair.place()
    return runner, HybridState(0.0, np.array(start.x), Mode((law,), start.atlas), no_onsets(pair.system))


@pytest.mark.parametrize(("rule", "law", "speed"), [("slide", "sliding", 0.9), ("ignore", "rolling", 2 / 3)])
def test_a_disc_thrown_at_a_slant_lands_sliding_or_is_told_by_how_much_friction_was_exceeded(
    rule: str, law: str, speed: float
) -> None:
    """At 1 m/s along and down L_n is 1 N s; what stops the slip is 1/3 N s."""
    runner, now = at_hand("separated", on_slip=rule, on_separation="fly")
    velocity = runner.system.model().layout["body.velocity"]
    now.x[velocity] = [1.0, -1.0]
    told: list[tuple[str, float]] = []
    runner.board.ignored = lambda name, value: told.append((name, value))
    after, reason = runner.board.next(now, Event(0, "gap"), runner.phase(now.mode))
    assert isinstance(after, HybridState)
    assert (after.mode.laws, reason) == ((law,), "the gap closed")
    np.testing.assert_allclose(after.x[velocity], [speed, 0.0], atol=1e-9)
    assert told == ([] if rule == "slide" else [("contact.friction", pytest.approx(0.1 - 1 / 3))])
    assert after.unarmed == frozenset()


@pytest.mark.parametrize(
    ("rules", "steps"),
    [
        ({"on_slip": "slide", "on_separation": "fly"}, True),
        ({"on_slip": "ignore", "on_separation": "stop"}, True),
        ({"on_slip": "stop", "on_separation": "fly"}, False),
        ({"on_slip": "slide", "on_separation": "ignore"}, False),
        ({"on_slip": "slide", "rolling_friction": 0.01}, True),
        ({"on_slip": "slide", "adhesion": 0.01}, True),
        ({"on_slip": "ignore", "coordinates": "rolling"}, False),
    ],
    ids=str,
)
def test_time_steps_go_on_where_contacts_may_slip_and_part_by_coulombs_law_alone(
    rules: dict[str, Any], steps: bool
) -> None:
    runner, now = at_hand("rolling", **rules)
    assert runner.board.steps(now) is steps


@pytest.mark.parametrize("spin", [0.0, 0.5])
def test_a_slip_that_ends_while_the_body_spins_goes_on_rolling_and_spinning(spin: float) -> None:
    """The moment about the normal is bounded: no spin stops at once."""
    ball, how = tr.RigidBody(tr.Sphere(0.1), 0.5, "solid"), {"law": "pure-rolling", "torsional_friction": 0.005}
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), on_slip="slide", on_separation="fly", **how)
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    x, turning = np.array(pair.place().x), pair.system.model().layout["object.angular_velocity"]
    x[turning] = [0.0, 0.0, spin]
    now = HybridState(0.0, x, Mode(("sliding",), pair.system.first_atlas), no_onsets(pair.system))
    after, reason = runner.board.next(now, Event(0, "slip_speed"), runner.phase(now.mode))
    assert isinstance(after, HybridState)
    assert (after.mode.laws, reason) == (("rolling" if spin else "pure-rolling",), "the slip came to rest")
    np.testing.assert_allclose(after.x[turning], [0.0, 0.0, spin], atol=1e-12)


@pytest.mark.parametrize(
    ("force", "reason"),
    [(5e-10, "the contact force reached zero"), (5e-9, "the contact force left the friction cone")],
)
def test_a_cone_is_left_at_its_tip_where_hardly_any_of_the_weight_is_left_however_heavy_the_disc(
    force: float, reason: str
) -> None:
    """Over the top of a hill m (g - v^2 / rho) holds it, with rho from the hill's centre to its own."""
    disc, hill = tr.RigidBody(tr.Circle(0.1), 1e6, "solid"), tr.Ground(tr.Arc(0.5, [0.0, 0.0], "outside"))
    pair = tr.RollingPair(disc, hill, friction=0.5, on_slip="slide", on_separation="fly")
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    start = pair.place(contact_x=0.0, angular_velocity=-np.sqrt(9.81 * 0.6 * (1.0 - force)) / 0.1)
    laws = tuple(law.name for law in pair.system.start_laws)
    now = HybridState(0.0, start.x, Mode(laws, start.atlas), no_onsets(pair.system))
    assert runner.board.next(now, Event(0, "friction"), runner.phase(now.mode))[1] == reason

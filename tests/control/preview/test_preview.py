"""Preview control: optima, cones, resets and honesty of the plan, against a condensed program and a simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.oracles import preview as oracle
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.numerics.qp.qp import QpSolver
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState, Push, projection_frame
from trundle.systems.multicontact.centroidal.forecast import AxisChange, Forecast, Held, MassChange, Pushed, align_grid
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights

MASS = 33.0
SOLE = FlatPatch.rectangle(0.16, 0.06, friction=0.54)
LEFT = PlacedPatch("left", SOLE, (0.0, 0.1, 0.0))
RIGHT = PlacedPatch("right", SOLE, (0.0, -0.1, 0.0), Rotation.from_euler("xyz", [0.1, -0.14, 0.3]).as_matrix())
HAND = PlacedPatch(
    "hand", FlatPatch.rectangle(0.05, 0.04, 0.6), (0.3, 0.4, 0.7), Rotation.from_euler("x", 1.2).as_matrix()
)
TIP = PlacedPatch("tip", FlatPatch.point(0.7), (0.2, -0.4, 0.8), Rotation.from_euler("x", -0.9).as_matrix())
STANDING = PointPath([0.0], [(0.0, 0.0, 0.7)])
REST = CentroidalState((0.0, 0.0, 0.7))
SWAY = PointPath([0.0, 0.4, 0.8], [(0.0, 0.0, 0.7), (0.03, 0.04, 0.72), (0.0, -0.05, 0.7)], "smooth")


def walking() -> Forecast:
    """Two steps forward with double support between; then a hand."""
    feet = [
        Held(LEFT, end=0.35),
        Held(RIGHT, end=1.0),
        Held(PlacedPatch("left", SOLE, (0.2, 0.1, 0.0)), 0.75),
        Held(PlacedPatch("right", SOLE, (0.2, -0.1, 0.02)), 1.45),
        Held(TIP, 1.2),
    ]
    return Forecast(feet)


def simulated(plan, forecast: Forecast, state: CentroidalState, mass: float = MASS) -> CentroidalState:
    """The whole nonlinear model under the planned wrenches."""
    model = Centroidal(mass)
    for k in range(len(plan.times) - 1):
        middle = (plan.times[k] + plan.times[k + 1]) / 2
        pushes = [p.push for p in forecast.pushes if p.start <= middle < p.end]
        model = Centroidal(float(plan.window.samples.masses[k]))
        state = model.advance(state, plan.contacts, plan.wrenches[k], plan.times[k + 1] - plan.times[k], pushes)
    return state


def check(plan, forecast: Forecast, state: CentroidalState) -> None:
    """What every plan must hold: cones, the prescribed force, and the whole model's motion."""
    weight = 9.81 * MASS
    assert plan.status is Status.SUCCESS
    assert plan.cone_margin > -1e-6 * weight
    assert plan.friction_use.max() < 1 + 1e-6
    end = simulated(plan, forecast, state)
    np.testing.assert_allclose(plan.position[-1], end.position, atol=1e-6)
    np.testing.assert_allclose(plan.velocity[-1], end.velocity, atol=1e-6)
    np.testing.assert_allclose(plan.angular_momentum[-1], end.angular_momentum, atol=1e-5)


CASES = {
    "one foot": (Forecast([Held(LEFT)]), CentroidalState((0.0, 0.1, 0.7), (0.02, 0.05, 0.01), (0.1, -0.2, 0.3)), {}),
    "two feet": (Forecast([Held(LEFT), Held(RIGHT)]), CentroidalState((0.0, 0.02, 0.7), (0.1, 0.2, -0.05)), {}),
    "four": (
        Forecast([Held(c) for c in (LEFT, RIGHT, HAND, TIP)]),
        CentroidalState((0.1, 0.0, 0.75), (0, -0.2, 0)),
        {},
    ),
    "pushed": (
        Forecast(
            [Held(LEFT), Held(RIGHT)],
            [Pushed(Push((0, 20.0, 5.0)), 0.2, 0.9), Pushed(Push((5.0, 0, 0), (0, 1.0, 0), (0.1, 0, 1.0)))],
        ),
        REST,
        {},
    ),
    "walking": (walking(), REST, {}),
    "climbing": (
        Forecast([Held(c) for c in (LEFT, RIGHT, HAND, TIP)]),
        REST,
        {"axis": (1.0, 0.0, 0.0)},
    ),
    "heavier": (
        Forecast([Held(LEFT), Held(RIGHT)], masses=[MassChange(0.5, 35.0, (0.25, 0.0, 0.9))]),
        REST,
        {},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sparse_optimum_is_the_condensed_one(name: str) -> None:
    forecast, state, options = CASES[name]
    paper = PreviewWeights(third=0.0)
    preview = Preview(Centroidal(MASS), [0.05] * 4 + [0.15] * 3, weights=paper, accuracy=1e-11, **options)
    window = preview.window(0.0, state, forecast, SWAY)
    plan = preview(0.0, state, forecast, SWAY)
    contacts = plan.contacts
    if any(c.patch.is_point for c in contacts):
        tight = np.vstack((TIP.patch.rows, np.eye(3, 6), -np.eye(3, 6)))  # a point has no moment
        contacts = tuple(
            PlacedPatch(c.name, _with_rows(c.patch, tight), c.position, c.R_world_patch) if c.patch.is_point else c
            for c in contacts
        )
    program, read = oracle.program(preview, window, contacts)
    solution = QpSolver("daqp").solve(*program)
    assert solution.status is Status.SUCCESS
    wrenches, states = read(solution.x)
    assert plan.status is Status.SUCCESS
    np.testing.assert_allclose(plan.states[1:], states, atol=1e-8 * np.abs(states).max())
    cost = 0.5 * solution.x @ program[0] @ solution.x + program[1] @ solution.x
    U = np.concatenate([plan.wrenches[k, i] for k, i in np.argwhere(window.held)]) / (9.81 * MASS)
    assert 0.5 * U @ program[0] @ U + program[1] @ U == pytest.approx(cost, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(plan.wrenches, wrenches, atol=1e-4 * 9.81 * MASS)


def _with_rows(patch: FlatPatch, rows: np.ndarray) -> FlatPatch:
    copy = FlatPatch(patch.vertices, patch.friction)
    object.__setattr__(copy, "rows", rows)
    return copy


@pytest.mark.parametrize("name", [n for n in CASES if n != "heavier"])
def test_plans_hold_when_recomputed(name: str) -> None:
    forecast, state, options = CASES[name]
    plan = Preview(Centroidal(MASS), **options)(0.0, state, forecast, SWAY)
    check(plan, forecast, state)
    assert plan.given_up == {}


def test_a_program_is_kept_while_contacts_come_and_go() -> None:
    forecast, state = walking(), REST
    preview, again = Preview(Centroidal(MASS)), Preview(Centroidal(MASS))
    for i in range(12):
        time = 0.12 * i
        plan = preview(time, state, forecast, SWAY)
        check(plan, forecast, state)
        fresh = Preview(Centroidal(MASS))(time, state, forecast, SWAY)
        np.testing.assert_allclose(plan.position, fresh.position, atol=1e-6)
        r, v, _, L, _ = plan.at(time + 0.12)
        state = CentroidalState(r, v, L)
    assert len(preview._programs) == 1
    assert again._programs == {}


def test_flight_is_ballistic_and_lands_on_the_path() -> None:
    forecast = Forecast([Held(LEFT, end=0.3), Held(RIGHT, end=0.3), Held(LEFT, 0.5), Held(RIGHT, 0.5)])
    preview = Preview(Centroidal(MASS), [0.05] * 20)
    jump = CentroidalState((0.0, 0.0, 0.7), (0.0, 0.0, 0.8))
    plan = preview(0.0, jump, forecast, STANDING)
    assert plan.status is Status.SUCCESS
    flying = (plan.times[:-1] > 0.29) & (plan.times[:-1] < 0.49)
    np.testing.assert_allclose(plan.acceleration[flying], np.tile([0, 0, -9.81], (flying.sum(), 1)), atol=1e-9)
    np.testing.assert_array_equal(plan.wrenches[flying], 0.0)
    end = simulated(plan, forecast, jump)
    np.testing.assert_allclose(plan.position[-1], end.position, atol=1e-6)
    assert abs(plan.position[-1, 2] - 0.7) < 0.15


def test_a_window_without_any_contact_is_a_fall() -> None:
    plan = Preview(Centroidal(MASS), [0.1] * 3)(0.0, CentroidalState((0, 0, 5.0), (1, 2, 3)), Forecast([]), STANDING)
    assert plan.status is Status.SUCCESS
    np.testing.assert_allclose(plan.position[-1], [0.3, 0.6, 5 + 0.9 - 9.81 * 0.045], atol=1e-9)


def test_mass_changes_keep_what_they_should() -> None:
    path = PointPath([0.0], [(10.0, -5.0, 0.7)])  # far from the world's origin
    feet = [Held(PlacedPatch(c.name, SOLE, c.position + np.array([10.0, -5.0, 0.0]))) for c in (LEFT, RIGHT)]
    state = CentroidalState((10.0, -5.0, 0.7))
    preview = Preview(Centroidal(MASS), [0.1] * 8)
    kept = preview(0.0, state, Forecast(feet, masses=[MassChange(0.4, 35.0)]), path)
    assert kept.status is Status.SUCCESS
    assert np.abs(kept.position - state.position).max() < 1e-3
    box = np.array([10.25, -5.0, 0.9])
    forecast = Forecast(feet, masses=[MassChange(0.4, 35.0, box)])
    exact = preview(0.0, state, forecast, path)
    assert exact.status is Status.SUCCESS
    k = int(np.argmin(np.abs(exact.times - 0.4)))
    after = (33 * exact.position[k] + 2 * box) / 35
    start = exact.window.samples
    assert start.height[k] + exact.window.origin[2] == pytest.approx(after[2], abs=1e-9)
    np.testing.assert_allclose(exact.window.origin[:2] + exact.starts[k, [0, 2]] / 35, after[:2], atol=1e-9)
    again = preview(0.4, CentroidalState(after), Forecast(feet, masses=[MassChange(0.4, 35.0, box)]), path)
    assert again.window.samples.masses[0] == 35.0  # a change at the very start is one that has been measured


BOX = CentroidalState((0.3, 0.1, 0.9), (0.2, -0.5, 0.3), (0.1, 0.05, -0.08))  # moves and spins
CAUGHT = MassChange(0.4, MASS + 2.0, BOX.position, BOX.velocity, BOX.angular_momentum)
THROWN = MassChange(0.7, MASS, (0.3, 0.0, 1.0), (0.5, 0.5, 1.0), (0.0, 0.1, 0.0))
TURN = AxisChange(0.4, (0.3, 0.2, 0.9))


@pytest.mark.parametrize(
    ("masses", "axes"), [([CAUGHT], []), ([CAUGHT, THROWN], []), ([], [TURN]), ([CAUGHT, THROWN], [TURN])]
)
def test_caught_and_thrown_bodies_and_changes_of_the_axis_keep_all_momenta(masses: list, axes: list) -> None:
    """Changes of the mass and of the axis, also at one instant: the whole model ends where the plan does."""
    forecast = Forecast([Held(c) for c in (LEFT, RIGHT, HAND, TIP)], masses=masses, axes=axes)
    start = CentroidalState((0.02, 0.01, 0.7), (0.05, 0.1, 0.0), (0.2, -0.1, 0.3))
    plan = Preview(Centroidal(MASS), [0.05] * 20)(0.0, start, forecast, SWAY)
    assert plan.usable
    assert "privileged_force" not in plan.given_up
    # A new axis meets its reference at a price: as far off as the plan says, in m, and L by that times forces and time.
    miss = plan.given_up.get("axis_position", 0.0) + 1e-6
    assert miss < (1e-3 if axes else 1e-5)
    model, state = Centroidal(MASS), start
    for k, begin in enumerate(plan.times[:-1]):
        np.testing.assert_allclose(plan.position[k], state.position, atol=2 * miss)
        np.testing.assert_allclose(plan.angular_momentum[k], state.angular_momentum, atol=200 * miss)
        for change, joins in ((CAUGHT, True), (THROWN, False)):
            if change in masses and abs(begin - change.time) < 1e-6:
                body = CentroidalState(change.position, change.velocity, change.angular_momentum)
                model, state = (model.with_body if joins else model.without_body)(state, 2.0, body)
        before = state.angular_momentum
        state = model.advance(state, plan.contacts, plan.wrenches[k], plan.times[k + 1] - begin)
        rate = (state.angular_momentum - before) / (plan.times[k + 1] - begin)
        np.testing.assert_allclose(plan.angular_momentum_rate[k], rate, atol=500 * miss)
    np.testing.assert_allclose(plan.position[-1], state.position, atol=2 * miss)
    np.testing.assert_allclose(plan.angular_momentum[-1], state.angular_momentum, atol=200 * miss)
    along = plan.window.samples.W[-1, 2] @ plan.angular_momentum[-1]
    assert plan.third[-1] == pytest.approx(along)


def test_the_privileged_axis_may_change_inside_the_window() -> None:
    forecast = Forecast([Held(c) for c in (LEFT, RIGHT, HAND, TIP)], axes=[AxisChange(0.5, (0.3, 0.2, 0.9))])
    preview = Preview(Centroidal(MASS), [0.05] * 20)
    plan = preview(0.0, REST, forecast, STANDING)
    assert plan.usable
    assert plan.cone_margin > -1e-6 * 9.81 * MASS
    k = int(np.argmin(np.abs(plan.times - 0.5)))
    w3 = projection_frame((0.3, 0.2, 0.9))[2]
    assert w3 @ plan.position[k] == pytest.approx(w3 @ [0, 0, 0.7], abs=1e-4)
    assert np.abs(plan.position - [0, 0, 0.7]).max() < 0.02
    assert plan.angular_momentum_rate.shape == (20, 3)


def test_what_cannot_be_prescribed_is_given_up_and_said() -> None:
    forecast = Forecast([Held(LEFT), Held(RIGHT)])
    preview = Preview(Centroidal(MASS))
    path = PointPath([0.0, 0.4], [(0, 0, 0.7), (0, 0, 0.1)], "smooth")  # faster down than a fall: feet do not pull
    plan = preview(0.0, REST, forecast, path)
    assert plan.status is Status.LIMITS_RELAXED
    wanted = plan.window.samples.privileged_force
    assert wanted.min() < -50.0
    assert plan.given_up["privileged_force"] == pytest.approx(-wanted.min(), abs=1.0)
    assert plan.cone_margin > -1e-6 * 9.81 * MASS
    assert "given up" in plan.status.advice
    again = preview(0.0, REST, forecast, STANDING)  # and recovers by itself
    assert again.usable
    assert preview(0.0, REST, forecast, STANDING).status is Status.SUCCESS


def test_an_odd_plan_that_can_be_is_found() -> None:
    ice = FlatPatch.rectangle(0.16, 0.06, friction=0.05)
    forecast = Forecast([Held(PlacedPatch(c.name, ice, c.position)) for c in (LEFT, RIGHT)])
    preview = Preview(Centroidal(MASS), axis=(1.0, 0.0, 0.0))
    path = PointPath([0.0, 1.0], [(0, 0, 0.7), (2.0, 0, 0.7)], "smooth")  # 4 m/s2 along the axis, on ice
    plan = preview(0.0, REST, forecast, path)
    check(plan, forecast, REST)  # nothing says how hard the feet may press
    assert plan.given_up == {}
    assert plan.wrenches[..., 5].sum(axis=1).max() > 5 * 9.81 * MASS


def test_another_forecast_brings_its_own_cones() -> None:
    preview, centre = Preview(Centroidal(MASS)), CentroidalState((0.0, 0.0, 0.7), (0.0, 0.25, 0.0))
    for width in (0.06, 0.03):  # as many contacts of the same pattern
        sole = FlatPatch.rectangle(0.16, width, friction=0.54)
        forecast = Forecast([Held(PlacedPatch(c.name, sole, c.position)) for c in (LEFT, RIGHT)])
        check(preview(0.0, centre, forecast, STANDING), forecast, centre)
    assert len(preview._programs) == 1


def test_an_announced_pull_is_leaned_against() -> None:
    feet = [Held(LEFT), Held(RIGHT)]
    pull = Pushed(Push((0.0, 20.0, 0.0)), 1.0)
    preview = Preview(Centroidal(MASS))
    told = preview(0.0, REST, Forecast(feet, [pull]), STANDING)
    untold = preview(0.0, REST, Forecast(feet), STANDING)
    at = int(np.argmin(np.abs(told.times - 1.0)))
    assert told.velocity[at, 1] < -1e-3  # moves against the pull before it comes
    assert abs(untold.velocity[at, 1]) < 1e-6


def test_the_third_angular_momentum_is_steered_too() -> None:
    path = PointPath([0.0, 1.0, 3.0], [(0, 0, 0.7), (0.02, 0.03, 0.7), (0.04, -0.03, 0.7)])
    state = CentroidalState((0.005, -0.01, 0.7), (0.05, 0.1, 0.0), (0.1, 0.0, 0.6))
    forecast = Forecast([Held(LEFT), Held(RIGHT, end=0.8), Held(RIGHT, 1.4), Held(HAND, 0.3)])
    most = {}
    for third in (0.0, 1.0):
        plan = Preview(Centroidal(MASS), weights=PreviewWeights(third=third))(0.0, state, forecast, path)
        check(plan, forecast, state)
        most[third] = np.abs(plan.third[5:]).max()  # exact, whatever the program believes
        assert plan.third[0] == pytest.approx(0.6)
    assert most[1.0] < 0.1 < most[0.0]


def test_a_path_to_follow_is_followed() -> None:
    forecast = Forecast([Held(LEFT), Held(RIGHT)])
    plan = Preview(Centroidal(MASS))(0.0, REST, forecast, PointPath([0.0, 2.0], [(0, 0, 0.7), (0.01, 0.04, 0.72)]))
    np.testing.assert_allclose(plan.position[-1], [0.01, 0.04, 0.72], atol=5e-3)
    r, v, a, L, rate = plan.at(0.33)
    for value in (r, v, a, L, rate):
        assert value.shape == (3,)
    k = int(np.searchsorted(plan.times, 0.33)) - 1
    t = 0.33 - plan.times[k]
    np.testing.assert_allclose(plan.at(plan.times[k])[0] + t * plan.at(plan.times[k])[1] + t**2 / 2 * a, r, atol=1e-12)
    np.testing.assert_array_equal(plan.at(99.0)[2], 0.0)
    np.testing.assert_allclose(plan.at(-1.0)[0], REST.position, atol=1e-12)


def test_the_height_returns_to_the_path() -> None:
    low = CentroidalState((0.0, 0.0, 0.66), (0.0, 0.0, -0.1))
    plan = Preview(Centroidal(MASS))(0.0, low, Forecast([Held(LEFT), Held(RIGHT)]), STANDING)
    assert plan.status is Status.SUCCESS
    assert plan.position[0, 2] == pytest.approx(0.66)
    assert abs(plan.position[-1, 2] - 0.7) < 2e-3
    s = plan.window.samples
    np.testing.assert_allclose(
        s.privileged_force, MASS * (9.81 + np.diff(plan.velocity[:, 2]) / s.durations), rtol=1e-9
    )


def test_least_normal_forces_are_kept() -> None:
    forecast = Forecast([Held(LEFT), Held(RIGHT)])
    state = CentroidalState((0.0, 0.095, 0.7))
    plan = Preview(Centroidal(MASS), least_normal_force=40.0)(0.0, state, forecast, PointPath([0.0], [(0, 0.1, 0.7)]))
    assert plan.wrenches[..., 5].min() > 40.0 - 1e-3


def test_borders_move_onto_changes() -> None:
    grid = np.array([0.0, 0.1, 0.2, 0.4, 0.6])
    np.testing.assert_allclose(align_grid(grid, np.array([0.17, 0.39]), 0.03), [0, 0.1, 0.17, 0.39, 0.6])
    np.testing.assert_allclose(align_grid(grid, np.array([0.002, 0.52]), 0.001), [0, 0.002, 0.2, 0.52, 0.6])
    np.testing.assert_allclose(align_grid(grid, np.array([0.17, 0.19]), 0.03), [0, 0.1, 0.17, 0.4, 0.6])
    np.testing.assert_allclose(align_grid(grid, np.array([0.01, 0.02, 0.03]), 0.001), [0, 0.01, 0.02, 0.03, 0.6])


@given(st.lists(st.floats(0.02, 0.3), min_size=2, max_size=30), st.lists(st.floats(-0.1, 6.0), max_size=8))
def test_every_change_is_a_border_while_there_are_any(durations: list[float], changes: list[float]) -> None:
    grid, least = np.concatenate(([0.0], np.cumsum(durations))), 1e-3
    borders = align_grid(grid, np.unique(changes), least)
    assert (borders[0], borders[-1]) == (grid[0], grid[-1])
    assert np.diff(borders).min() >= least / 2
    inside = [c for c in np.unique(changes) if least <= c <= grid[-1] - least]
    apart = not len(inside) or np.diff(inside).min(initial=1.0) >= least
    if apart and len(inside) < len(durations):
        assert set(inside) <= set(borders)


@pytest.mark.parametrize("align", [True, False])
def test_no_contact_serves_before_it_starts_or_after_it_ends(align: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        grid, (left, right) = np.full(8, rng.uniform(0.05, 0.3)), rng.uniform(0.0, 1.0, 2)
        spans = (-np.inf, left + 1.0), (min(right, left + 0.4), np.inf), (left + 1.2, np.inf)
        forecast = Forecast([Held(c, *span) for c, span in zip((LEFT, RIGHT, LEFT), spans, strict=True)])
        plan = Preview(Centroidal(MASS), grid, align=align)(0.0, REST, forecast, STANDING)
        assert plan.status is Status.SUCCESS
        serves = np.abs(plan.wrenches[..., 5]) > 1e-6 * MASS
        start, end = (forecast.spans[:, i] for i in (0, 1))
        early = np.maximum(start - plan.times[:-1, None], plan.times[1:, None] - end)
        alone = plan.window.held.sum(axis=1) == 1
        assert early[serves & ~alone[:, None]].max(initial=0.0) <= 0.02 * grid[0]
        if align:
            assert early[serves].max(initial=0.0) <= 0.02 * grid[0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Preview("robot"), "model"),
        (lambda: Preview(Centroidal(1.0), []), "durations"),
        (lambda: Preview(Centroidal(1.0), [0.1, -0.1]), "durations"),
        (lambda: Preview(Centroidal(1.0), axis=(0, 0, 0)), "axis"),
        (lambda: PreviewWeights(force=0.0), "force"),
        (lambda: PreviewWeights(position=np.nan), "position"),
        (lambda: Preview(Centroidal(1.0))(np.nan, REST, Forecast([]), STANDING), "time"),
        (lambda: Preview(Centroidal(1.0))(0.0, "rest", Forecast([]), STANDING), "state"),
        (lambda: Preview(Centroidal(1.0))(0.0, REST, [], STANDING), "forecast"),
        (lambda: Preview(Centroidal(1.0))(0.0, REST, Forecast([]), lambda t: (t, t)), "path"),
        (lambda: Preview(Centroidal(1.0))(0.0, REST, Forecast([]), lambda t: (np.nan * np.ones((21, 3)),) * 2), "path"),
        (lambda: Forecast([LEFT]), r"contacts\[0\]"),
        (lambda: Held(LEFT, 1.0, 0.5), "start"),
        (lambda: Held("left"), "contact"),
        (lambda: Pushed((1, 2, 3)), "push"),
        (lambda: MassChange(0.0, -1.0), "mass"),
        (lambda: Forecast([], masses=[MassChange(1.0, 1.0), MassChange(0.5, 2.0)]), "masses"),
    ],
)
def test_wrong_input_is_named(call, text: str) -> None:
    with pytest.raises(InputError, match=text):
        call()


def test_where_the_robot_is_does_not_matter() -> None:
    feet, far = (LEFT, RIGHT), np.array([120.0, -80.0, 15.0])
    moved = [Held(PlacedPatch(c.name, SOLE, c.position + far, c.R_world_patch)) for c in feet]
    push = Pushed(Push((0, 20.0, 0), point=(0.1, 0, 1.0)), 0.3)
    pushed = Pushed(Push((0, 20.0, 0), point=far + np.array([0.1, 0, 1.0])), 0.3)
    here = Preview(Centroidal(MASS))(0.0, REST, Forecast([Held(c) for c in feet], [push]), STANDING)
    centre = far + np.array([0, 0, 0.7])
    path = PointPath([0.0], [centre])
    there = Preview(Centroidal(MASS))(0.0, CentroidalState(centre), Forecast(moved, [pushed]), path)
    np.testing.assert_allclose(there.position - far, here.position, atol=1e-7)
    assert there.solution.iterations == here.solution.iterations


def test_a_bad_number_from_inside_is_not_a_success() -> None:
    forecast = Forecast([Held(LEFT)])
    forecast.positions.setflags(write=True)
    forecast.positions[0, 0] = np.nan
    plan = Preview(Centroidal(MASS))(0.0, REST, forecast, STANDING)
    assert plan.status is Status.NOT_FINITE
    assert not plan.usable
    assert np.isnan(plan.position[-1, 0])


def test_a_sole_cut_to_its_ankles_reach_asks_no_more_than_the_ankle_has() -> None:
    pytest.importorskip("pinocchio")
    from trundle.models.robots.humanoid import load_humanoid

    g1 = load_humanoid("g1")
    mass, limit, behind = g1.robot.mass, 0.95 * 35.0, 0.038  # kg; N m of the ankle; m, it is behind the sole's middle
    way = PointPath([0.0, 0.5, 1.0, 1.5], [(0.05, 0.0, 0.7), (0.0, 0.0, 0.7), (0.05, 0.0, 0.7), (0.0, 0.0, 0.7)])
    most = {}
    for name, patch in (("cut", g1.loadable("left", 0.54, 0.9, 0.95)), ("whole", g1.feet["left"].patch(0.54, 0.9))):
        forecast = Forecast([Held(PlacedPatch("left", patch, (0.0, 0.0, 0.0)))])
        plan = Preview(Centroidal(mass))(0.0, CentroidalState((0.05, 0.0, 0.7), (0.2, 0.0, 0.0)), forecast, way)
        assert plan.usable
        moment, force = plan.wrenches[:, 0, 1], plan.wrenches[:, 0, 5]
        most[name] = float(np.abs(behind * force - moment).max())
    assert most["cut"] <= limit * (1 + 1e-6)
    assert most["whole"] > 1.1 * limit


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_plan_in_another_world_is_the_transformed_plan(side: float) -> None:
    """World turned about the privileged axis, moved and, of patches that are even in y, mirrored."""
    own, shift = np.diag([1.0, side, 1.0]), np.array([3.0, -2.0, 0.4])
    Q = Rotation.from_euler("z", 0.7).as_matrix() @ own
    forecast = walking()
    there = [
        replace(one, contact=PlacedPatch(c.name, c.patch, Q @ c.position + shift, Q @ c.R_world_patch @ own))
        for one in forecast.contacts
        for c in [one.contact]
    ]
    state = CentroidalState((0.0, 0.02, 0.7), (0.1, 0.2, -0.05), (0.1, -0.2, 0.3))
    turned = CentroidalState(Q @ state.position + shift, Q @ state.velocity, side * Q @ state.angular_momentum)

    def path(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place, speed = SWAY(times)
        return place @ Q.T + shift, speed @ Q.T

    plan = Preview(Centroidal(MASS))(0.0, state, forecast, SWAY)
    found = Preview(Centroidal(MASS))(0.0, turned, Forecast(there), path)
    assert found.status is plan.status
    np.testing.assert_allclose(found.position, plan.position @ Q.T + shift, atol=1e-5)
    np.testing.assert_allclose(found.velocity, plan.velocity @ Q.T, atol=1e-5)
    np.testing.assert_allclose(found.angular_momentum, side * plan.angular_momentum @ Q.T, atol=1e-4)

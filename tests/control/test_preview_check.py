"""Random windows of preview control: PIQP's optimum, sparse and condensed, is Clarabel's.

How far apart may two optima be whose duality gap is G = 1e-9, in scaled units? Costs by G and what infeasible rows of
that size weigh: `COST`. Each is at most sqrt(2 G) from the one minimiser in the norm of H, which is diagonal: h >= 3
for the states of a body of at least 20 kg, h >= 1e-7 (20 kg g)^2 for forces and moments: `STATE` and `WRENCH`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bench import windows
from bench.preview import MASS, walking
from tests.oracles import preview as oracle
from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.numerics.qp.qp import QpSolution, QpSolver
from trundle.status import Status
from trundle.systems.multicontact.centroidal.centroidal import Centroidal, CentroidalState, Push
from trundle.systems.multicontact.centroidal.forecast import Forecast, Held, MassChange, Pushed
from trundle.systems.multicontact.preview.paths import PointPath
from trundle.systems.multicontact.preview.plan import PreviewPlan
from trundle.systems.multicontact.preview.preview import Preview, PreviewWeights

GAP, LIGHTEST = 1e-9, 20.0
COST = 10 * GAP
STATE = 2 * (2 * GAP / 3.0) ** 0.5
WRENCH = 2 * (2 * GAP / (1e-7 * (9.81 * LIGHTEST) ** 2)) ** 0.5


@dataclass(frozen=True)
class Case:
    """A random window: contacts tilted by up to 0.3 rad under a body and 1.3 rad at its sides, that come and go."""

    preview: Preview
    state: CentroidalState
    forecast: Forecast
    path: PointPath

    def plan(self, time: float = 0.0) -> PreviewPlan:
        return self.preview(time, self.state, self.forecast, self.path)


def case(
    seed: int, contacts: int, check: str | None = "clarabel", drop: float = 0.0, third: float | None = None
) -> Case:
    rng = np.random.default_rng([seed, contacts])
    mass, held = rng.uniform(LIGHTEST, 90.0), []
    for i in range(contacts):
        foot, side = i < 2, (-1.0) ** i
        turn = (
            rng.uniform(-0.3, 0.3, 3) if foot else np.array([-side * rng.uniform(0.9, 1.3), *rng.uniform(-0.3, 0.3, 2)])
        )
        at = np.array([0.0, -0.1 * side, 0.0]) if foot else np.array([0.25, -0.4 * side, 0.7])
        mu = rng.uniform(0.4, 0.9)
        patch = FlatPatch.point(mu) if rng.random() < 0.25 else FlatPatch.rectangle(*rng.uniform(0.05, 0.2, 2), mu)
        R = Rotation.from_euler("xyz", turn).as_matrix()
        placed = [PlacedPatch(f"{i} {k}", patch, at + rng.uniform(-0.03, 0.03, 3), R) for k in range(2)]
        leaves, lands = (0.5, 0.5) if contacts == 1 else np.sort(rng.uniform(0.2, 1.3, 2))
        held += [Held(placed[0], end=leaves), Held(placed[1], lands)]
    pushes = [
        Pushed(Push(rng.uniform(-20, 20, 3)), 0.3, 0.9),
        Pushed(Push(rng.uniform(-10, 10, 3), rng.uniform(-1, 1, 3), (0.1, 0.0, 1.0)), 0.6),
    ]
    masses = [MassChange(0.7, mass + 2.0, (0.3, 0.0, 0.9))] if rng.random() < 0.3 else []
    grid = rng.uniform(0.04, 0.24, 10)
    centre = np.array([0.0, 0.1 if contacts == 1 else 0.0, 0.7])
    state = CentroidalState(centre + rng.uniform(-0.02, 0.02, 3), rng.uniform(-0.1, 0.1, 3), rng.uniform(-0.3, 0.3, 3))
    path = PointPath([0.0, 0.8, 1.6], centre + rng.uniform(-0.04, 0.04, (3, 3)) - [0.0, 0.0, drop], "smooth")
    axis = (0.0, 0.0, 1.0) if rng.random() < 0.5 else rng.uniform(-0.4, 0.4, 3) + np.array([0.0, 0.0, 1.0])
    weights = PreviewWeights(third=float(seed % 2) if third is None else third)
    preview = Preview(Centroidal(mass), grid, axis=axis, weights=weights, accuracy=GAP, check=check)
    return Case(preview, state, Forecast(held, pushes, masses), path)


@pytest.mark.parametrize("contacts", [1, 2, 3, 4])
def test_the_optimum_is_clarabels(contacts: int) -> None:
    for seed in range(12):
        plan = case(seed, contacts).plan()
        assert plan.status is Status.SUCCESS
        assert plan.checked is not None
        assert plan.checked.status is Status.SUCCESS
        assert plan.checked.solver == "clarabel"
        assert plan.checked.cost < COST
        assert plan.checked.state < STATE
        assert plan.checked.wrench < WRENCH


@pytest.mark.parametrize("contacts", [1, 2, 3, 4])
def test_the_condensed_optimum_is_the_same(contacts: int) -> None:
    for seed in range(6):
        one = case(seed, contacts, third=0.0)
        plan = one.plan()
        assert plan.checked is not None
        assert plan.checked.state < STATE
        window, weight = plan.window, 9.81 * one.preview.model.mass
        program, read = oracle.program(one.preview, window, tuple(map(_without_moments, plan.contacts)))
        solution = QpSolver("piqp").solve(*program)
        assert solution.status is Status.SUCCESS
        wrenches, states = read(solution.x)
        cost = 0.5 * solution.x @ program[0] @ solution.x + program[1] @ solution.x
        U = np.concatenate([plan.wrenches[k, i] for k, i in np.argwhere(window.held)]) / weight
        assert 0.5 * U @ program[0] @ U + program[1] @ U == pytest.approx(cost, rel=COST, abs=COST)
        scale = one.preview.model.mass * np.array([1, 1, 1, 1, 0.1, 0.1])
        assert np.abs((plan.states[1:] - states) / scale).max() < STATE
        assert np.abs((plan.wrenches - wrenches) / weight).max() < WRENCH


def _without_moments(contact: PlacedPatch) -> PlacedPatch:
    """A point as the condensed program, whose contacts all have six components, can have it."""
    if not contact.patch.is_point:
        return contact
    patch = FlatPatch(contact.patch.vertices, contact.patch.friction)
    object.__setattr__(patch, "rows", np.vstack((patch.rows, np.eye(3, 6), -np.eye(3, 6))))
    return PlacedPatch(contact.name, patch, contact.position, contact.R_world_patch)


def test_an_optimum_with_the_nearest_force_that_feet_bear_is_clarabels_too() -> None:
    for seed in (3, 4):
        plan = case(seed, 2, drop=4.0).plan()  # feet would have to pull
        assert plan.status is Status.LIMITS_RELAXED
        assert plan.checked is not None
        assert plan.checked.status is Status.SUCCESS
        assert plan.checked.cost < COST
        assert plan.checked.state < STATE


def test_every_tick_is_checked() -> None:
    one = case(5, 3)
    for tick in range(10):
        plan = one.plan(0.12 * tick)
        assert plan.checked is not None
        assert plan.checked.cost < COST


def test_a_wrong_optimum_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    one = case(2, 2)
    one.plan()
    (program,) = one.preview._programs.values()
    solve = program.qp.solve
    monkeypatch.setattr(program.qp, "solve", lambda: _moved(solve()))
    checked = one.plan().checked
    assert checked is not None
    assert checked.state == pytest.approx(0.01, abs=STATE)


def _moved(solution: QpSolution) -> QpSolution:
    x = solution.x.copy()
    x[-1] += 0.01
    return replace(solution, x=x)


def test_a_second_solver_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="solver"):
        case(0, 1, "oracle")
    assert case(0, 1, None).plan().checked is None


LOST_ONCE = (427, 2151, 2475, 3843, 4276, 4760, 6909, 7528, 8028, 8451)
"""Windows of `bench.windows` that ended at the iteration limit or dropped a force that Clarabel found."""


@pytest.mark.parametrize("number", [*LOST_ONCE, *range(20)])
def test_no_window_is_lost_that_clarabel_solves(number: int) -> None:
    found = windows.found(number, QpSolver("clarabel"))
    assert not found.lost
    assert found.outside < 6e-3


@pytest.mark.slow
def test_ten_thousand_windows_are_not_lost() -> None:
    other = QpSolver("clarabel")
    assert [n for n in range(10_000) if windows.found(n, other).lost] == []


@pytest.mark.parametrize("start", [2.0, 2.2, 2.4, 2.6])
@pytest.mark.parametrize("push", [(20.0, 0.0, 0.0), (-20.0, 0.0, 0.0), (0.0, 20.0, 0.0), (0.0, -20.0, 0.0)])
def test_a_walk_is_planned_on_after_a_push_of_20_newton_seconds(push: tuple[float, ...], start: float) -> None:
    """The whole centroidal model walks, is pushed after a second, and is planned anew every 40 ms for three more."""
    forecast, path = walking()
    preview, model = Preview(Centroidal(MASS)), Centroidal(MASS)
    position, velocity = (value[0] for value in path(np.array([start])))
    state = CentroidalState(position, velocity)
    for tick in range(100):
        time = start + 0.04 * tick
        if tick == 25:
            moved = state.velocity + np.array(push) / MASS
            state = CentroidalState(state.position, moved, state.angular_momentum)
        plan = preview(time, state, forecast, path)
        assert plan.status is Status.SUCCESS
        for k in np.flatnonzero(plan.times[:-1] < time + 0.04 - 1e-9):
            lasts = min(plan.times[k + 1], time + 0.04) - plan.times[k]
            state = model.advance(state, plan.contacts, plan.wrenches[k], lasts)
    off = state.position - path(np.array([start + 4.0]))[0][0]
    assert np.abs(off).max() < 0.1
    assert np.abs(state.angular_momentum).max() < 0.1

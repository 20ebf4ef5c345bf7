"""Walks whose feet land by plastic impacts: against the simulator's impact and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.simulate.events.states import impact_at
from trundle.status import Status
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.plan import load_walk, repeat
from trundle.systems.walking.plan.record import feasible, record_walk, walk_of
from trundle.systems.walking.plan.walking import plan_walk
from trundle.systems.walking.replay.walk_replay import walking_robot
from trundle.systems.walking.robots.avatar import build_avatar

GAIT = Gait(intervals=(8, 3), impacts=True)


@pytest.fixture(scope="module")
def walking():
    return Walking(build_avatar(), GAIT)


@pytest.fixture(scope="module")
def plan(walking):
    return plan_walk(GAIT, walking=walking)


@pytest.fixture(scope="module")
def robot(plan):
    return walking_robot(build_avatar(), plan.gravity)


def jump(plan):
    """Return the node before the impact, which no time parts from the next."""
    (k,) = np.flatnonzero(np.diff(plan.times) == 0)
    assert plan.phases[int(plan.phase[k])] == "double left"
    assert plan.phases[int(plan.phase[k - 1])] == "single left"
    return k


@pytest.mark.slow
def test_the_planned_impact_is_that_of_the_simulator(plan, robot):
    """Rates after it, impulses and the energy it takes: M (nu+ - nu-) = J'L, solved by other code."""
    assert (plan.status, feasible(plan)) == (Status.SUCCESS, True)
    k = jump(plan)
    np.testing.assert_allclose(plan.q[k + 1], plan.q[k], atol=1e-7)
    x, atlas = np.concatenate([plan.q[k], plan.nu[k]]), robot.system.first_atlas
    impact = impact_at(robot.system, atlas, x, 1, [0], held=True)
    np.testing.assert_allclose(plan.nu[k + 1], plan.nu[k] + impact.jump, atol=1e-5)
    (told,) = plan.statistics["impacts"]
    for contact, side in enumerate(("left", "right")):
        np.testing.assert_allclose(np.sum(told["impulses"][side], axis=0), impact.impulses[contact], atol=1e-4)
    assert told["impulses"]["right"][0][2] > 0.1
    model = robot.system.model(atlas)
    M = np.asarray(model_inertia(model)(x))
    lost = 0.5 * (plan.nu[k] @ M @ plan.nu[k] - plan.nu[k + 1] @ M @ plan.nu[k + 1])
    assert told["energy"] == pytest.approx(lost, abs=1e-6)
    assert lost > 0


def model_inertia(model):
    import casadi as ca

    return ca.Function("inertia", [model.x], [model.inertia_terms()[0]])


def test_pinocchio_finds_no_other_motion_in_the_record(plan, walking):
    pytest.importorskip("pinocchio")
    from trundle.systems.walking.scenario.metrics import general

    record = record_walk(walking, plan, 2)
    assert len(record) == 2 * (len(plan.times) - 1) + 1
    values = general(record)
    assert values["base_residual"] <= 1e-6
    assert values["impact_residual"] <= 1e-5
    assert values["impact_loss"] == pytest.approx(2 * plan.statistics["impacts"][0]["energy"], abs=1e-5)
    assert values["energy_balance"] <= 0.02
    assert values["slip_nodes"] <= 1e-6
    assert values["stance_gap_nodes"] <= 1e-6
    back = walk_of(record)
    np.testing.assert_allclose(back.nu, plan.nu, atol=1e-9)
    assert np.all(np.isfinite(back.acceleration))


@pytest.mark.slow
def test_it_is_saved_repeated_and_a_neighbour_starts_from_it(plan, tmp_path):
    kept = load_walk(plan.save(tmp_path / "plan.npz"))
    assert kept.statistics["impacts"] == plan.statistics["impacts"]
    assert int(np.sum(np.diff(repeat(kept, 3).times) == 0)) == 3
    q, nu, _, k = plan.at(plan.times[jump(plan)])
    np.testing.assert_array_equal(nu, plan.nu[jump(plan) + 1])
    assert (q.shape, k) == (plan.q[0].shape, jump(plan) + 1)
    warm = plan_walk(GAIT, guess=kept)
    assert warm.status is Status.SUCCESS
    assert warm.statistics["iterations"] < plan.statistics["iterations"] / 2

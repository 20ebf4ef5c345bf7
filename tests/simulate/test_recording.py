"""What a trajectory says of a run: samples, residuals, energy, flights; and the order of the integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.slowly import slow_but
from trundle.models.tree.tree import TreeModel
from trundle.simulate.record.log import Log
from trundle.simulate.record.recorder import PULL, judge_run
from trundle.simulate.run import sample_times
from trundle.status import Status


def ellipsoid() -> tr.RigidBody:
    return tr.RigidBody(tr.Ellipsoid([0.1, 0.12, 0.15]), 0.3, "solid")


def in_dish(**how: Any) -> tuple[tr.RollingPair, Any]:
    hand = tr.Hand(tr.Dish([1.0, 0.8, 0.7]), twist=[0.1, 0.2, 0.3, 0.1, 0.0, 0.0])
    pair = tr.RollingPair(ellipsoid(), hand, friction=9.0, on_slip="ignore", **how)
    return pair, pair.place(contact_on_hand=[0.1, 0.0, -0.69], object_angular_velocity=[2.0, 3.0, 1.0])


@pytest.mark.parametrize("law", ["rolling", "pure-rolling"])
def test_both_coordinates_give_one_motion(law: str) -> None:
    runs = []
    for coordinates in ("pose", "rolling"):
        hand = tr.Hand(tr.Dish([1.0, 0.8, 0.7]))
        pair = tr.RollingPair(ellipsoid(), hand, law=law, friction=9.0, coordinates=coordinates)
        start = pair.place(contact_on_hand=[0.0, 0.0, -0.7], object_angular_velocity=[2.0, 3.0, 0.0])
        runs.append(tr.simulate(pair, start, 2.0, output_step=0.01, relative_tolerance=1e-12))
    shared = [np.searchsorted(run.time, np.arange(201) * 0.01 - 1e-12) for run in runs]
    for name in ("object_position", "object_velocity", "object_angular_velocity", "contact_force", "contact_on_hand"):
        a, b = (run[name][at] for run, at in zip(runs, shared, strict=True))
        np.testing.assert_allclose(a, b, atol=1e-7)
    for run in runs:
        assert np.abs(run["slip"]).max() < 1e-9
        assert np.abs(run["gap"]).max() < 1e-12


def test_slip_of_minimal_coordinates_is_that_of_the_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the kinematics of the contact coordinates wrong, the recorded slip would say so."""
    right = TreeModel.state_rate

    def wrong(self: TreeModel, nudot: Any, kin: Any, s_rate: Any) -> Any:
        return right(self, nudot, kin, s_rate * [1.001, 1.0, 1.0, 1.0])

    pair, start = in_dish(coordinates="rolling")
    assert np.abs(tr.simulate(pair, start, 0.1)["slip"]).max() < 1e-12
    monkeypatch.setattr(TreeModel, "state_rate", wrong)
    pair, start = in_dish(coordinates="rolling")
    assert np.abs(tr.simulate(pair, start, 0.1)["slip"]).max() > 1e-5


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
def test_energy_and_slip_follow_from_recorded_poses_and_velocities(coordinates: str) -> None:
    pair, start = in_dish(coordinates=coordinates)
    run = tr.simulate(pair, start, 1.0)
    R = Rotation.from_quat(run["object_quaternion"], scalar_first=True).as_matrix()
    w, v, p = (run[f"object_{name}"] for name in ("angular_velocity", "velocity", "position"))
    inertia = np.array(run.metadata["physics"]["inertia"])
    spin = np.einsum("nij,jk,nlk,nl->ni", R, inertia, R, w)
    energy = 0.15 * np.einsum("ni,ni->n", v, v) + 0.5 * np.einsum("ni,ni->n", w, spin) + 0.3 * 9.81 * p[:, 2]
    np.testing.assert_allclose(run["energy"], energy, rtol=1e-12)
    c = run["contact_position"]
    hand = run["hand_velocity"] + np.cross(run["hand_angular_velocity"], c - run["hand_position"])
    np.testing.assert_allclose(run["slip"], v + np.cross(w, c - p) - hand, atol=1e-10)
    if coordinates == "rolling":
        even = np.flatnonzero(np.abs(np.diff(run.time, 2)) < 1e-12) + 1
        assert even.size > 400
        np.testing.assert_allclose((p[even + 1] - p[even - 1]) / (2 * run.time[1]), v[even], atol=2e-4)


def test_flight_records_the_nearest_points() -> None:
    ball = tr.RigidBody(tr.Sphere(0.1), 0.5, "solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Sphere(0.5)), friction=5.0, on_slip="ignore", on_separation="fly")
    run = tr.simulate(pair, pair.place(contact_on_hand=[0.3, 0.0, 0.4]), 1.0)
    away = run["mode"] == "separated"
    distance = np.linalg.norm(run["object_position"], axis=1) - 0.6
    np.testing.assert_allclose(run["gap"][away], distance[away], atol=1e-10)
    direction = run["object_position"] / np.linalg.norm(run["object_position"], axis=1)[:, None]
    np.testing.assert_allclose(run["contact_normal"][away], direction[away], atol=1e-8)


def test_quaternions_do_not_jump_and_stay_unit() -> None:
    plate = tr.Hand(tr.Plane(), twist=[0, 0, 7.0, 0, 0, 0])
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), 0.1, "solid"), plate)
    run = tr.simulate(pair, pair.place(object_angular_velocity=[1.0, 0.0, 0.0]), 10.0, output_step=0.01)
    for name in ("object_quaternion", "hand_quaternion"):
        np.testing.assert_allclose(np.linalg.norm(run[name], axis=1), 1.0, atol=1e-14)
        assert np.abs(np.diff(run[name], axis=0)).max() < 0.1


# Order of convergence -----------------------------------------------------------------------------------------------


def order(errors: list[float]) -> float:
    """Slope of log error against log step, for steps that are halved."""
    return float(-np.polyfit(np.arange(len(errors)), np.log2(errors), 1)[0])


@pytest.mark.parametrize(("method", "expected"), slow_but([("rk4", 4), ("dopri5", 5)], ("dopri5", 5)))
def test_order_through_separation_and_flight(method: str, expected: int) -> None:
    """The instant at which a ball leaves a ball, and where it is after: min(p, dense order + 1) and p."""
    ball = tr.RigidBody(tr.Ellipsoid([0.1, 0.12, 0.11]), 0.5, "solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Sphere(0.5)), friction=5.0, on_slip="ignore", on_separation="fly")
    start = pair.place(contact_on_hand=[0.3, 0.0, 0.4], object_angular_velocity=[0.5, 1.0, 2.0])
    exact = tr.simulate(pair, start, 0.6, relative_tolerance=1e-13)
    instants, ends = [], []
    for k in range(4):
        run = tr.simulate(pair, start, 0.6, step=0.04 / 2**k, method=method, stabilization="none")
        instants.append(abs(run.transitions[0]["time"] - exact.transitions[0]["time"]))
        ends.append(float(np.abs(run["object_position"][-1] - exact["object_position"][-1]).max()))
    assert order(instants) > expected - 0.4, instants
    assert order(ends) > expected - 0.4, ends


def test_order_through_an_impact() -> None:
    """A ball is thrown off a shaking hand and caught again: fourth order through both events."""
    hand = tr.Hand(tr.Plane(), motion=tr.SinusoidMotion([0, 0, 0, 2.0, 0, -20.0], [2.0] * 6))
    ball = tr.RigidBody(tr.Ellipsoid([0.1, 0.12, 0.11]), 0.5, "solid")
    pair = tr.RollingPair(ball, hand, friction=50.0, on_slip="ignore", on_separation="fly")
    start = pair.place(object_angular_velocity=[1.0, 2.0, 3.0])
    exact = tr.simulate(pair, start, 0.5, relative_tolerance=1e-13)
    assert [t["to"] for t in exact.transitions][:2] == ["separated", "rolling"]
    errors = []
    for k in range(4):
        run = tr.simulate(pair, start, 0.5, step=0.02 / 2**k, stabilization="none")
        assert run.status in (Status.SUCCESS, Status.INFEASIBLE)
        errors.append(float(np.abs(run["object_position"][-1] - exact["object_position"][-1]).max()))
    assert order(errors) > 3.6, errors


def test_the_end_is_recorded_once_also_where_multiples_of_the_step_round_below_it() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=1.0), tr.Ground(tr.Line()))
    run = tr.simulate(pair, pair.place(angular_velocity=1.0), 0.1, output_step=0.1 / 19)
    assert len(run.time) == 20
    assert run.time[-1] == 0.1
    for duration in np.arange(1, 40) / 10:
        for count in range(2, 60):
            times = sample_times(duration, duration / count)
            assert (len(times), times[-1]) == (count + 1, duration)


def test_what_a_contact_does_in_time_steps_makes_no_energy() -> None:
    """A body rolls over the seam of its shape in time steps: its contacts stay, and the ground gives it nothing."""
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    inertia = [6.34717e-07, 2.61793e-06, 2.36594e-06]
    body = robot.free(0.0101, inertia, shape=tr.Capsule(0.00586, 0.022), shape_at=[0.021, 0.0, 0.0], name="body")
    robot.attach(body, tr.Sphere(0.0126), at=[-0.021, 0.0, 0.0], name="ball")
    robot.terrain(tr.Sphere(0.493), friction=1.41)
    tree = robot.finish()
    pose = [-0.0385, -0.0159, 0.55488, 0.295199490984999, -0.8920158531938012, 0.3401211526566293, -0.03850428143282595]
    start = tree.place(body=pose, contacts=[], rates={"body": [3.87, 2.83, 3.14, -0.0691, -0.108, -0.614]})
    run = tr.simulate(tree, start, duration=0.37)
    assert run.status is tr.Status.SUCCESS
    stepped = [t["time"] for t in run.transitions if "time stepping" in (t["from"], t["to"])]
    assert stepped, "the run has to go through time steps"
    d = run.dataset
    within = (d["event_time"].values > stepped[0]) & (d["event_time"].values <= stepped[-1])
    before, after = (d[f"event_velocity_{when}"].values[within] for when in ("before", "after"))
    work = np.sum(d["event_impulse"].values[within] * (before + after), axis=1) / 2
    assert within.sum() > 3
    assert np.abs(work).max() < 1e-9  # of 6 mJ


@pytest.mark.parametrize("radius", [1e-3, 0.1, 50.0])
def test_a_moment_about_the_normal_is_beyond_its_bound_by_the_size_of_the_body(radius: float) -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius), mass=2.0), tr.Hand(tr.Plane()))
    for part, feasible in ((0.5, True), (2.0, False)):
        log = Log(True)
        log.lower("contact.torsion", -part * PULL * 2.0 * 9.81 * radius)
        assert judge_run(pair.system, log, tr.Status.SUCCESS, False)[1] is feasible

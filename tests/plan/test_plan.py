"""The verb plan on the real task: goal poses by replay, honest statuses, interrupts and resumption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from tests.slowly import slow_but
from trundle.errors import InputError
from trundle.models.tree.conversion import to_matrix
from trundle.optimal import OptimalControlProblem
from trundle.optimal.transcription.transcription import Transcription
from trundle.records import load_plan
from trundle.status import Status
from trundle.systems.juggling.transfer.formulation import Formulation

HALF = np.sqrt(0.5)


def reorient(radius: float = 0.035, law: str = "rolling", sense: float = 1.0, **more) -> tr.juggling.Transfer:
    """A ball turned by 90 deg about x on a plate that only tilts, and carried to another place."""
    ball = tr.RigidBody(tr.Sphere(radius=radius), mass=0.216, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane()), law=law, friction=more.pop("friction", 0.5))
    start = pair.place(**more.pop("start", {}))
    goal = {
        "contact_on_hand": (0, -0.033 * sense * radius / 0.035, 0),
        "object_quaternion": (HALF, sense * HALF, 0, 0),
    }
    limits = {"freedoms": ("wx", "wy"), "angular_acceleration": 50.0} | more.pop("hand_limits", {})
    return tr.juggling.Transfer(pair, start, goal, more.pop("duration", 2.0), limits, **more)


@pytest.fixture(scope="module")
def plan() -> tr.Plan:
    return tr.juggling.plan(reorient())


def test_the_ball_is_where_the_goal_says(plan: tr.Plan) -> None:
    assert plan.status is Status.SUCCESS
    final = plan.trajectory.final
    np.testing.assert_allclose(final["contact_on_hand"], [0, -0.033, 0], atol=1e-4)
    assert abs(final["object_quaternion"] @ [HALF, HALF, 0, 0]) == pytest.approx(1, abs=1e-6)
    assert abs(final["hand_quaternion"][0]) == pytest.approx(1, abs=1e-6)
    for name in ("hand_angular_velocity", "object_angular_velocity", "object_velocity"):
        assert np.linalg.norm(final[name]) < 2e-3
    np.testing.assert_allclose(final["hand_position"], 0, atol=1e-12)


def test_residuals_are_those_of_the_replay(plan: tr.Plan) -> None:
    r, run = plan.residuals, plan.trajectory
    assert r["kkt_residual"] <= 1e-6
    f_n = run["contact_force"] @ np.zeros(3) + np.sum(run["contact_force"] * run["contact_normal"], axis=1)
    assert r["normal_force_min"] == pytest.approx(np.min(f_n), rel=1e-3)
    assert 0 < r["friction_use"] <= 1
    assert r["goal_position_error"] == pytest.approx(
        np.linalg.norm(run.final["contact_on_hand"] - [0, -0.033, 0]), rel=1e-6
    )
    assert r["replay_position_difference"] < 1e-9


def test_the_reference_is_dense_and_in_rolling_coordinates(plan: tr.Plan) -> None:
    reference = plan.reference
    assert np.max(np.diff(reference.times)) <= 2e-3 + 1e-12
    assert reference.states.shape[1] == 21
    assert reference.inputs.shape[1] == 6
    assert np.max(np.abs(reference.inputs[:, 2:])) == 0
    assert reference.times[-1] == pytest.approx(plan.duration)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "sense", "radius"), [("rolling", -1, 0.035), ("pure-rolling", 1, 0.035), ("pure-rolling", -1, 0.2)]
)
def test_both_senses_laws_and_sizes(law: str, sense: float, radius: float) -> None:
    made = tr.juggling.plan(reorient(radius, law, sense))
    assert made.status is Status.SUCCESS, made.message
    assert made.residuals["friction_use"] <= 1
    assert made.residuals["kkt_residual"] <= 1e-6


@pytest.mark.slow
def test_a_perturbed_stationary_guess_finds_the_same_motion(plan: tr.Plan) -> None:
    other = tr.juggling.plan(reorient(), guess="stationary", sigma=0.1, seed=5, starts=1)
    assert other.status is Status.SUCCESS
    assert other.residuals["cost"] == pytest.approx(plan.residuals["cost"], rel=1e-6)


@pytest.mark.parametrize("method", slow_but(["hermite-simpson", "trapezoid"], "trapezoid"))
def test_order_shows_on_the_real_task(method: str, plan: tr.Plan) -> None:
    """The error of one mesh's end state, over that of the mesh with half the steps."""
    order = {"trapezoid": 2, "hermite-simpson": 4}[method]
    errors = []
    for nodes in (20, 40):
        names = ("position", "rotation", "velocity", "angular_velocity")
        loose = {f"{name}_tolerance": 10.0 for name in names}
        made = tr.juggling.plan(reorient(), nodes=nodes, method=method, guess=on_mesh(plan, nodes), starts=1, **loose)
        errors.append(made.residuals["goal_rotation_error"])
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


def on_mesh(plan: tr.Plan, nodes: int) -> tr.Plan:
    """The same plan on even nodes."""
    times = np.linspace(0, plan.duration, nodes + 1)
    columns = [np.stack([np.interp(times, plan.times, c) for c in v.T], axis=1) for v in (plan.states, plan.inputs)]
    return tr.Plan(plan.status, times, *columns, plan.atlas, {})


def test_derivatives_of_the_real_task_are_those_of_differences() -> None:
    phase = Formulation(reorient()).reduction.phase
    made = Transcription(OptimalControlProblem([phase]), [np.linspace(0, 1, 3)], "hermite-simpson")
    rng = np.random.default_rng(0)
    z, way, lam = 0.2 * rng.normal(size=made.size), rng.normal(size=made.size), rng.normal(size=made.program.rows)
    h = 1e-6
    differences = (made.program.evaluate(z + h * way)[1] - made.program.evaluate(z - h * way)[1]) / (2 * h)
    exact = made.program.jacobian(z) @ way
    np.testing.assert_allclose(exact, differences, atol=1e-7 * np.max(np.abs(exact)))

    def slope(at: np.ndarray) -> np.ndarray:
        return made.program.gradient(at) + made.program.jacobian(at).T @ lam

    bend = made.program.hessian(z, 1.0, lam) @ way
    differences = (slope(z + h * way) - slope(z - h * way)) / (2 * h)
    np.testing.assert_allclose(bend, differences, atol=1e-6 * np.max(np.abs(bend)))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"start": {"slip": (0.1, 0, 0)}}, "slips"),
        ({"contact_limits": {"normal_force": 2.0}}, "normal force"),
    ],
)
def test_a_start_that_cannot_be_is_said_so(change: dict, why: str) -> None:
    made = tr.juggling.plan(reorient(**change))
    assert made.status is Status.START_INFEASIBLE
    assert why in made.message
    assert made.status.advice


@pytest.mark.parametrize("change", [{"duration": 0.3}, {"hand_limits": {"angular_acceleration": 0.01}}])
def test_a_goal_that_cannot_be_reached_leaves_the_best_attempt(change: dict, tmp_path: Path) -> None:
    made = tr.juggling.plan(reorient(**change), starts=1, max_iterations=150, save=tmp_path / "attempt.npz")
    assert made.status in (Status.LOCALLY_INFEASIBLE, Status.ITERATION_LIMIT)
    assert made.status.advice
    assert made.residuals["constraint_violation"] > 1e-3
    assert "outside its bounds" in made.message
    assert load_plan(tmp_path / "attempt.npz").states.shape == made.states.shape


def test_what_is_interrupted_goes_on(plan: tr.Plan, tmp_path: Path) -> None:
    seen = []

    def stop(progress) -> bool:
        seen.append(progress)
        return progress.iteration < 12

    path = tmp_path / "attempt.npz"
    half = tr.juggling.plan(reorient(), save=path, progress=stop)
    assert half.status is Status.INTERRUPTED
    assert [p.iteration for p in seen[:3]] == [0, 1, 2]
    assert all(np.isfinite(p.infeasibility) for p in seen)
    rest = tr.juggling.plan(reorient(), guess=path)
    assert rest.status is Status.SUCCESS
    assert rest.residuals["cost"] == pytest.approx(plan.residuals["cost"], rel=1e-6)


def test_the_time_limit_is_kept_and_said() -> None:
    made = tr.juggling.plan(reorient(), time_limit=1e-3)
    assert made.status is Status.TIME_LIMIT
    assert made.status.advice
    assert np.all(np.isfinite(made.states))
    with pytest.raises(InputError, match="time_limit"):
        tr.juggling.plan(reorient(), time_limit=0.0)


def test_values_that_are_no_numbers_are_refused(plan: tr.Plan) -> None:
    nan = float("nan")
    for change in ({"duration": nan}, {"hand_limits": {"angular_acceleration": nan}}, {"duration": (2.0, 1.0)},
                   {"hand_limits": {"freedoms": ("roll",)}}, {"weights": {"tilt": nan}}):  # fmt: skip
        with pytest.raises(InputError):
            reorient(**change)
    for arguments in ({"position_tolerance": nan}, {"nodes": 0}, {"method": "euler"}, {"guess": "magic"}):
        with pytest.raises(InputError):
            tr.juggling.plan(reorient(), **arguments)
    with pytest.raises(InputError, match=r"goal\.spin"):
        tr.juggling.Transfer(reorient().pair, {}, {"spin": 1}, 2.0)
    with pytest.raises(InputError, match="goal"):
        tr.juggling.plan(tr.juggling.Transfer(reorient().pair, {}, {"object_quaternion": (nan, 0, 0, 0)}, 2.0))


def ellipse(angle: float, **more) -> tr.juggling.Transfer:
    """An ellipse on a plate in 40 % gravity is brought upright."""
    body = tr.RigidBody(tr.Ellipse([0.0377, 0.0252]), mass=0.0553, inertia="solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Line(), extent=0.375), friction=0.8, gravity=0.4 * 9.81)
    return tr.juggling.Transfer(pair, {}, {"object_angle": angle} | more, 1.0, {"linear_acceleration": 10.0})


@pytest.mark.parametrize("sense", [1, -1])
def test_an_ellipse_is_flipped_up(sense: int) -> None:
    made = tr.juggling.plan(ellipse(sense * np.pi / 2))
    assert made.status is Status.SUCCESS, made.message
    R = to_matrix(made.trajectory.final["object_quaternion"])
    assert np.arctan2(R[2, 0], R[0, 0]) == pytest.approx(sense * np.pi / 2, abs=1e-3)
    assert made.residuals["replay_position_difference"] < 1e-8
    np.testing.assert_allclose(made.trajectory.final["hand_position"], 0, atol=1e-5)


def test_a_ball_is_carried_over_the_wing_of_a_butterfly() -> None:
    hand = tr.Hand(tr.FourierRadius(0.11, cos=[0, -0.04 / 0.11]), angle=np.pi / 2)
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.0166), mass=0.03), hand, friction=0.8)
    task = tr.juggling.Transfer(
        pair, {"contact_on_hand": (0.07, 0)}, {"contact_on_hand": (-0.07, 0), "hand_angle": -np.pi / 2}, 1.0,
        {"angular_acceleration": 100.0, "linear_acceleration": 30.0}, {"normal_force": 0.4, "friction_margin": 0.5},
    )  # fmt: skip
    made = tr.juggling.plan(task, nodes=60)
    assert made.status is Status.SUCCESS, made.message
    assert made.residuals["friction_use"] <= 0.52
    on_top = made.trajectory["contact_normal"][:, 2]
    assert np.min(on_top) > 0.5


def test_the_order_of_goal_errors_is_that_of_poses() -> None:
    """A whole turn more about the normal is the same pose."""
    formulation = Formulation(reorient())
    x = np.array(formulation.goal)

    def errors() -> dict[str, float]:
        return formulation.goal_errors(formulation.instant(formulation.start), formulation.instant(x))

    assert max(errors().values()) < 1e-9
    x[formulation.model.layout["object.spin"]] += 2 * np.pi
    assert max(errors().values()) < 1e-9
    x[formulation.model.layout["object.spin"]] += 2.9
    assert errors()["rotation"] == pytest.approx(2.9, abs=1e-9)


def test_a_rolling_goal_has_its_velocity() -> None:
    goal = {"contact_on_hand": (0.02, 0.01, 0), "relative_angular_velocity": (0.5, 1.0, 0)}
    made = tr.juggling.plan(tr.juggling.Transfer(reorient().pair, {}, goal, 1.5, {"freedoms": ("wx", "wy")}))
    assert made.status is Status.SUCCESS, made.message
    final = made.trajectory.final
    relative = final["object_angular_velocity"] - final["hand_angular_velocity"]
    np.testing.assert_allclose(relative, [0.5, 1.0, 0], atol=1e-5)
    assert made.residuals["goal_angular_velocity_error"] == pytest.approx(
        np.linalg.norm(relative - [0.5, 1, 0]), abs=1e-8
    )
    assert made.residuals["goal_hand_angular_velocity_error"] < 1e-9


def test_a_motion_that_arrives_too_fast_is_no_success(plan: tr.Plan) -> None:
    """The pose alone does not make a plan: the replay's velocities are judged as well."""
    strict = tr.juggling.plan(reorient(), guess=plan, angular_velocity_tolerance=1e-9, max_refinements=0)
    assert strict.status is Status.GOAL_NOT_REACHED
    assert "goal_angular_velocity_error" in strict.message
    assert strict.residuals["goal_angular_velocity_error"] == pytest.approx(
        np.linalg.norm(strict.trajectory.final["object_angular_velocity"]), rel=1e-3
    )

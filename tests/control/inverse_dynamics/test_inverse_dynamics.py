"""The rover of sheet 4: momentum and cones recomputed from forces, forms and solvers against each other, refusals."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.rover import BASE_HEIGHT, MU, TORQUE, controller, placed, rolling, rover, wishes
from trundle.control.inverse_dynamics import tasks as tk
from trundle.control.inverse_dynamics.inverse_dynamics import InverseDynamics, inverse_dynamics
from trundle.control.inverse_dynamics.policy import InverseDynamicsPolicy
from trundle.errors import InputError
from trundle.records.policy import Policy
from trundle.status import Status

REFERENCE = np.array([0.5, BASE_HEIGHT, 0.0])
MASS, GRAVITY = 30.0, 9.81


@lru_cache(maxsize=1)
def vehicle() -> tuple[Any, Any, np.ndarray]:
    model = rover()
    dynamics = rolling(model)
    return model, dynamics, placed(model, dynamics)


@lru_cache(maxsize=1)
def compiled() -> InverseDynamics:
    model, dynamics, _ = vehicle()
    return controller(model, dynamics)


@lru_cache(maxsize=1)
def numbers() -> Any:
    """M, h, S, J, b, frames and the tasks' A and target, as functions of (x, reference)."""
    model, dynamics, _ = vehicle()
    terms, asked = dynamics.terms, wishes(model, dynamics)
    out = [terms.M, terms.h, terms.S, terms.J, terms.b, *(k.frame for k in terms.kin)]
    out += [part for task in asked.tasks for part in (task.A, task.target)]
    return ca.Function("numbers", [dynamics.x, asked.reference], out), [task.name for task in asked.tasks]


def moving(seed: int) -> np.ndarray:
    """A state whose velocities keep the wheels rolling, near the start."""
    _, dynamics, x = vehicle()
    rng = np.random.default_rng(seed)
    terms, start = dynamics.terms, x.copy()
    J = np.array(ca.Function("J", [dynamics.x], [terms.J])(start))
    nu = rng.normal(size=J.shape[1]) * 0.3
    start[-len(nu) :] = nu - np.linalg.pinv(J) @ (J @ nu)
    return start


def as_arrays(
    x: np.ndarray, *, torque: float = TORQUE, minimum: float = 1.0, price: float | None = None
) -> dict[str, Any]:
    function, names = numbers()
    M, h, S, J, b, *rest = (np.array(value) for value in function(x, REFERENCE))
    frames, pairs = rest[:2], rest[2:]
    tasks = [tk.Task(n, pairs[2 * i], pairs[2 * i + 1].ravel()) for i, n in enumerate(names)]
    limits = [tk.torque_limit(torque, price)]
    for i, frame in enumerate(frames):
        limits += tk.friction(f"contact{i}", frame, slice(2 * i, 2 * i + 2), 4, MU, minimum=minimum)
    return {"M": M, "h": h.ravel(), "S": S, "J": J, "b": b.ravel(), "limits": limits, "tasks": tasks, "frames": frames}


def solved(arrays: dict[str, Any], **options: Any) -> Any:
    return inverse_dynamics(**{key: value for key, value in arrays.items() if key != "frames"}, **options)


def largest_use(command: Any, frames: list[np.ndarray]) -> float:
    local = [frame.T @ f for frame, f in zip(frames, command.lam.reshape(-1, 2), strict=True)]
    return max(abs(f[0]) / f[1] for f in local)


@pytest.mark.parametrize("seed", range(3))
def test_momentum_and_cones_recomputed_from_the_forces(seed):
    model, dynamics, _ = vehicle()
    x = moving(seed)
    command = compiled()(x, REFERENCE)
    assert command.status is Status.SUCCESS
    # The centre of mass: total force = gravity + contact forces, from positions differentiated, not from J.
    p = sum(body.mass * body.motion.at(ca.SX(ca.DM(body.com))).p for body in model.bodies) / MASS
    xdot = dynamics.xdot
    v = ca.jtimes(p, dynamics.x, xdot)
    a = ca.Function("a", [dynamics.x, dynamics.u], [ca.jtimes(v, dynamics.x, xdot), dynamics.lam, dynamics.nudot])
    acceleration, lam, nudot = (np.array(part).ravel() for part in a(x, command.u))
    force = command.lam.reshape(-1, 2).sum(axis=0)
    np.testing.assert_allclose(MASS * acceleration, force + np.array([0, -MASS * GRAVITY]), atol=1e-8)
    np.testing.assert_allclose(command.lam, lam, atol=1e-8)
    np.testing.assert_allclose(command.nudot, nudot, atol=1e-8)
    assert np.abs(command.u).max() <= TORQUE
    frames = as_arrays(x)["frames"]
    assert largest_use(command, frames) <= MU + 1e-9
    assert min((frame.T @ f)[1] for frame, f in zip(frames, command.lam.reshape(-1, 2), strict=True)) >= 1 - 1e-9


def test_task_errors_are_accelerations_not_given():
    x = moving(4)
    command, arrays = compiled()(x, REFERENCE), as_arrays(x)
    for task in arrays["tasks"]:
        np.testing.assert_allclose(command.task_errors()[task.name], task.A @ command.nudot - task.target, atol=1e-9)
        assert np.abs(command.task_errors()[task.name]).max() < 1e-3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("solver", ["daqp", "piqp", "proxqp"])
def test_forms_and_solvers_agree(seed, solver):
    # With a wish for every torque the answer is unique, whatever the unknowns are called.
    bound = 0.8 * np.abs(solved(as_arrays(moving(seed))).u).max()
    arrays = as_arrays(moving(seed), torque=bound)
    arrays["tasks"].append(tk.smallest_torques(6, weight=1e-3))
    best = solved(arrays, form="torque", damping=0.0)
    assert best.status is Status.SUCCESS
    assert np.abs(best.u).max() == pytest.approx(bound, abs=1e-6)
    for form in ("torque", "force", "full"):
        # Interior points need a little cost on every unknown; accelerations and forces are flat otherwise.
        other = solved(arrays, form=form, solver=solver, damping=1e-9)
        assert other.status is Status.SUCCESS, other.solution
        np.testing.assert_allclose(other.u, best.u, atol=5e-3)
        np.testing.assert_allclose(other.nudot, best.nudot, atol=5e-3)
        residual = arrays["M"] @ other.nudot + arrays["h"] - arrays["S"] @ other.u - arrays["J"].T @ other.lam
        assert np.abs(residual).max() < 1e-5
        assert np.abs(arrays["J"] @ other.nudot + arrays["b"]).max() < 1e-5


def test_the_compiled_program_is_that_of_the_arrays():
    x = moving(2)
    for form in ("torque", "force", "full"):
        model, dynamics, _ = vehicle()
        data = controller(model, dynamics, form=form).assemble(x, REFERENCE)
        command = solved(as_arrays(x), form=form)
        np.testing.assert_allclose(data.T @ command.solution.x - data.t, command.error, atol=1e-8)
        np.testing.assert_allclose(
            data.X @ command.solution.x + data.x0, np.concatenate((command.nudot, command.lam, command.u)), atol=1e-7
        )


def test_no_better_torques_exist():
    # Any other torques inside the limits cost more: the model's own forward dynamics judges.
    _, dynamics, _ = vehicle()
    x, rng = moving(1), np.random.default_rng(0)
    arrays = as_arrays(x, torque=20.0)
    command = solved(arrays, form="torque")
    forward = ca.Function("f", [dynamics.x, dynamics.u], [dynamics.nudot, dynamics.lam])

    def cost(u: np.ndarray) -> float:
        nudot = np.array(forward(x, u)[0]).ravel()
        return sum(float(np.sum((task.A @ nudot - task.target) ** 2)) for task in arrays["tasks"])

    best, tried = cost(command.u), 0
    for _ in range(300):
        u = np.clip(command.u + rng.normal(size=6) * 10 ** rng.uniform(-3, 0), -20, 20)
        lam = np.array(forward(x, u)[1]).reshape(-1, 2)
        local = [frame.T @ f for frame, f in zip(arrays["frames"], lam, strict=True)]
        if all(f[1] >= 1 and abs(f[0]) <= MU * f[1] for f in local):
            tried += 1
            assert cost(u) >= best - 1e-6
    assert tried > 50


def test_weights_tend_to_levels():
    x = moving(3)
    arrays = as_arrays(x, torque=0.5 * np.abs(solved(as_arrays(x)).u).max())  # too weak for everything
    first, *rest = arrays["tasks"]
    levels = [first, *(tk.Task(t.name, t.A, t.target, level=1) for t in rest)]
    strict = solved({**arrays, "tasks": levels}, form="torque")
    assert strict.status is Status.SUCCESS
    assert np.abs(strict.error).max() > 0.1
    distance = []
    for weight in (1e5, 1e6, 1e7):
        heavy = [tk.Task(first.name, first.A, first.target, weight=weight), *rest]
        weighted = solved({**arrays, "tasks": heavy}, form="torque")
        assert weighted.status is Status.SUCCESS
        distance.append(np.abs(weighted.nudot - strict.nudot).max())
    # The distance falls as 1 / weight.
    assert distance[0] / distance[1] == pytest.approx(10, rel=0.1)
    assert distance[1] / distance[2] == pytest.approx(10, rel=0.1)
    assert distance[2] < 0.02


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["torque", "force", "full"]))
def test_a_later_level_never_hurts_an_earlier_one(seed, form):
    rng = np.random.default_rng(seed)
    arrays = as_arrays(moving(seed % 1000), torque=25.0)
    first = tk.Task("first", rng.normal(size=(2, 9)), 3 * rng.normal(size=2))
    second = tk.Task("second", rng.normal(size=(4, 9)), 30 * rng.normal(size=4), level=1)
    alone = solved({**arrays, "tasks": [first]}, form=form)
    both = solved({**arrays, "tasks": [first, second]}, form=form)
    assert alone.status is both.status is Status.SUCCESS
    least = np.linalg.norm(alone.task_errors()["first"])
    assert np.linalg.norm(both.task_errors()["first"]) <= least + 1e-3 * (1 + least)
    assert both.given_up() == {}
    assert np.abs(both.u).max() <= 25.0 + 1e-5


def test_secondary_wishes_use_only_what_is_left():
    model, dynamics, _ = vehicle()
    x = moving(0)
    plain, gentle = compiled()(x, REFERENCE), controller(model, dynamics, secondary="tangential")(x, REFERENCE)
    frames = as_arrays(x)["frames"]

    def tangential(command: Any) -> float:
        return sum((frame.T @ f)[0] ** 2 for frame, f in zip(frames, command.lam.reshape(-1, 2), strict=True))

    assert tangential(gentle) < 0.99 * tangential(plain)
    np.testing.assert_allclose(gentle.nudot, plain.nudot, atol=2e-2)
    assert np.abs(gentle.error[:5]).max() < 1e-4


def test_limits_that_contradict_each_other_are_named_and_nothing_is_sent():
    # 400 N on each wheel: twice the weight, which 3 N m do not push off the ground.
    x = moving(0)
    for form in ("torque", "force", "full"):
        command = solved(as_arrays(x, minimum=400.0, torque=3.0), form=form)
        assert command.status is Status.CONFLICTING_LIMITS
        assert not command.usable
        assert np.all(np.isnan(command.u))
        assert {"torque", "contact0.normal_force"} <= set(command.conflict)
        assert ("motion" in command.conflict) is (form != "torque")
        assert command.given_up()
        assert all(np.all(np.isnan(error)) for error in command.task_errors().values())


@pytest.mark.parametrize("form", ["force", "full"])
@pytest.mark.parametrize("level", [0, 1])
def test_contacts_that_contradict_each_other_are_no_success(form, level):
    """With levels, the least squares of the contradiction passed for its solution."""
    arrays = as_arrays(moving(0))
    first, *rest = arrays["tasks"]
    arrays["tasks"] = [first, *(tk.Task(t.name, t.A, t.target, level=level) for t in rest)]
    assert solved(arrays, form=form).status is Status.SUCCESS
    arrays["J"][1], arrays["b"].flat[1] = arrays["J"][0], arrays["b"].flat[0] + 5.0
    command = solved(arrays, form=form)
    assert command.status in (Status.NOT_CONVERGED, Status.CONFLICTING_LIMITS)
    assert np.all(np.isnan(command.u))


@pytest.mark.parametrize("form", ["torque", "force", "full"])
@pytest.mark.parametrize("secondary", [False, True])
def test_limits_with_a_price_give_way_by_the_least(form, secondary):
    x = moving(0)
    tight = as_arrays(x, minimum=400.0, torque=3.0, price=1.0)
    if secondary:
        tight["tasks"].append(tk.smallest_torques(6, level=1))
    command = solved(tight, form=form)
    assert command.status is Status.LIMITS_RELAXED
    assert command.usable
    assert command.given_up() == {"torque": pytest.approx(np.abs(command.u).max() - 3.0, abs=1e-6)}
    normal = [(frame.T @ f)[1] for frame, f in zip(tight["frames"], command.lam.reshape(-1, 2), strict=True)]
    assert min(normal) >= 400 - 1e-4
    # The least: a bound below the sum of squares that was paid cannot be met.
    paid = np.maximum(np.abs(command.u) - 3.0, 0)
    less = as_arrays(x, minimum=400.0, torque=3.0 + 0.99 * paid)
    assert solved(less, form=form).status is Status.CONFLICTING_LIMITS
    enough = as_arrays(x, minimum=400.0, torque=3.0 + paid + 1e-4)
    assert solved(enough, form=form).status is Status.SUCCESS
    # Nothing is given up where nothing has to be.
    loose = solved(as_arrays(x, price=1.0), form=form)
    assert loose.status is Status.SUCCESS
    assert loose.given_up() == {}


@pytest.mark.parametrize("key", ["M", "h", "S", "J", "b"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_among_the_arrays(key, bad):
    arrays = as_arrays(moving(0))
    arrays[key] = np.array(arrays[key])
    arrays[key].flat[0] = bad
    with pytest.raises(InputError) as caught:
        solved(arrays)
    assert caught.value.key == key


@pytest.mark.parametrize("solver", ["daqp", "piqp", "proxqp"])
def test_a_state_that_is_no_number_gives_no_torques(solver):
    model, dynamics, x = vehicle()
    run = controller(model, dynamics, solver=solver, damping=1e-7)
    for position, bad in itertools.product(range(len(x)), (np.nan, np.inf)):
        broken = x.copy()
        broken[position] = bad
        command = run(broken, REFERENCE)
        assert command.status is Status.NOT_FINITE
        assert np.all(np.isnan(command.u))
    assert run(x, [np.nan, BASE_HEIGHT, 0]).status is Status.NOT_FINITE
    assert run(x, REFERENCE).status is Status.SUCCESS


def test_dependent_contact_rows_do_not_stop_the_force_form():
    # The same contact twice: no unique forces, but unique accelerations and torques.
    arrays = as_arrays(moving(0))
    twice = {
        **arrays,
        "J": np.vstack((arrays["J"], arrays["J"][:2])),
        "b": np.concatenate((arrays["b"], arrays["b"][:2])),
    }
    twice["limits"] = [tk.torque_limit(TORQUE)]
    twice["tasks"] = [*arrays["tasks"], tk.smallest_torques(6, 1e-4)]
    once = solved({**arrays, "limits": twice["limits"], "tasks": twice["tasks"]}, form="force")
    command = solved(twice, form="force")
    assert command.status is Status.SUCCESS
    np.testing.assert_allclose(command.u, once.u, atol=2e-2)
    rng, J, b = np.random.default_rng(0), twice["J"], twice["b"]
    for size in (0.0, *[1e-15] * 10):  # the torques' form asks for unique forces, whatever the round-off
        noise = 1.0 + size * rng.standard_normal(J.shape)
        command = solved({**twice, "J": J * noise, "b": b * (1.0 + size)}, form="torque")
        assert command.status is not Status.SUCCESS


def test_pushes_that_are_not_the_constrained_directions():
    arrays = as_arrays(moving(0))
    G = arrays["J"] + 0.1 * np.roll(arrays["J"], 1, axis=0)
    for form in ("torque", "force", "full"):
        command = solved({**arrays, "G": G}, form=form)
        assert command.status is Status.SUCCESS
        left = arrays["M"] @ command.nudot + arrays["h"] - arrays["S"] @ command.u
        np.testing.assert_allclose(left, G.T @ command.lam, atol=1e-6)


def test_rate_limits_follow_the_last_torques():
    model, dynamics, x = vehicle()
    asked, last = wishes(model, dynamics), ca.SX.sym("last", 6)
    limits = [*asked.limits, tk.torque_rate_limit(200.0, 0.01, last)]
    run = InverseDynamics(dynamics, asked.tasks, limits, reference=asked.reference, last=last, baumgarte=10.0)
    free = compiled()(x, REFERENCE).u
    before = free + np.array([5.0, -5.0, 0.5, 0, 0, 0])
    command = run(x, REFERENCE, before)
    assert command.status is Status.SUCCESS
    assert np.abs(command.u - before).max() <= 2.0 + 1e-6
    assert run(x, REFERENCE, free + 1000).status is Status.CONFLICTING_LIMITS
    assert set(run(x, REFERENCE, free + 1000).conflict) == {"torque", "torque_rate"}
    policy = InverseDynamicsPolicy(run, lambda t: REFERENCE, 0.01)
    first, second = policy(0.0, x), policy(0.01, x)
    assert np.abs(second - first).max() <= 2.0 + 1e-6
    policy.reset()
    np.testing.assert_array_equal(policy(0.0, x), first)


@pytest.mark.parametrize(("fallback", "factor"), [("hold", 1.0), ("let-go", 0.0), (lambda x, u: 0.5 * u, 0.5)])
def test_what_to_do_without_a_command_is_the_callers_choice(fallback, factor):
    _, _, x = vehicle()
    policy = InverseDynamicsPolicy(compiled(), lambda t: REFERENCE, 0.01, fallback)
    assert isinstance(policy, Policy)
    good = policy(0.0, x)
    np.testing.assert_allclose(policy(0.01, np.full_like(x, np.nan)), factor * good)
    assert policy.statuses == {Status.SUCCESS: 1, Status.NOT_FINITE: 1}
    assert policy.command is not None
    assert not policy.command.usable


def test_acceleration_limits_hold():
    arrays = as_arrays(moving(2))
    free = solved(arrays)
    bound = 0.5 * np.abs(free.nudot[3:]).max()
    joints = np.eye(9)[3:]
    arrays["limits"].append(tk.Limit("joints", "acceleration", -bound, bound, joints, unit="rad/s2"))
    for form in ("torque", "force"):
        command = solved(arrays, form=form)
        assert command.status is Status.SUCCESS
        assert np.abs(command.nudot[3:]).max() == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tasks": []}, "at least one task"),
        ({"form": "dense"}, "'torque', 'force', 'full'"),
        ({"solver": "simplex"}, "'daqp'"),
        ({"tasks": [tk.Task("t", np.eye(3), np.zeros(3))]}, "9 columns"),
        ({"tasks": [tk.smallest_torques(6), tk.smallest_torques(6)]}, "no other limit or task"),
        ({"limits": [tk.Limit("l", "force", 0.0, A=np.eye(3))]}, "4 columns"),
        ({"limits": [tk.Limit("l", "torque", [0.0, 0.0])]}, "6 entries"),
        ({"S": np.ones((9, 2)), "tasks": [tk.Task("t", np.eye(9), np.zeros(9))], "limits": []}, "independent columns"),
    ],
)
def test_refused_programs(change, words):
    with pytest.raises(InputError, match=words):
        solved({**as_arrays(moving(0)), **change})


def test_symbols_that_nobody_gives_are_refused():
    model, dynamics, _ = vehicle()
    asked = wishes(model, dynamics)
    with pytest.raises(InputError, match="reference"):
        InverseDynamics(dynamics, asked.tasks, asked.limits)

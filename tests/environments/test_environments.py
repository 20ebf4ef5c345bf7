"""Environments: Gymnasium's own checks, and steps that are those of `simulate`."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import trundle as tr
from trundle.environments import EnvironmentProblem, RollingEnv, RollingVectorEnv, problem_of


def problem(duration: float = 0.2) -> EnvironmentProblem:
    robot = tr.Robot()
    slider = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")
    robot.revolute(slider, (0, 0), 0.2, 0.01, center_of_mass=(0.0, 0.5), name="pole", actuated=False)
    tree = robot.finish()
    return EnvironmentProblem(
        tree,
        lambda rng: tree.place(pole=rng.uniform(-0.2, 0.2)),
        0.02,
        duration,
        [-10.0],
        [10.0],
        lambda t, x, u: float(x @ x + u @ u),
        lambda t, x: bool(abs(x[1]) > 0.5),
    )


@pytest.mark.filterwarnings("ignore:.*Box.*")
@pytest.mark.parametrize("name", ["own", "ellipse-damping"])
def test_gymnasium_accepts_the_environment(name: str) -> None:
    check_env(RollingEnv(problem() if name == "own" else problem_of(name)), skip_render_check=True)


@pytest.mark.filterwarnings("ignore:.*Box.*")
def test_named_scenarios_are_registered() -> None:
    single = gymnasium.make("trundle/ellipse-damping-v0", disable_env_checker=True)
    several = gymnasium.make_vec("trundle/ellipse-damping-v0", num_envs=3)
    assert several.observation_space.shape == (3, *single.observation_space.shape)
    observation, _ = single.reset(seed=0)
    assert observation.shape == single.observation_space.shape
    with pytest.raises(tr.InputError, match="simulation under a policy"):
        gymnasium.make("trundle/plate-spinning-v0")


def test_a_step_is_a_simulation_with_the_input_held() -> None:
    p = problem()
    env = RollingEnv(p)
    observation, _ = env.reset(seed=4)
    start = p.start(np.random.default_rng(0))
    x = tr.simulate_many(p.model, [start], 1e-3).states[0, 0] * 0 + observation
    held = tr.LinearFeedback(p.period, [[3.0]])
    model_start = type(start)(x, start.atlas, start.laws)
    run = tr.simulate(p.model, model_start, p.period, policy=held, relative_tolerance=p.relative_tolerance)
    after, reward, terminated, truncated, _ = env.step(np.array([3.0]))
    end = tr.start_at(run, p.period).x
    assert np.allclose(after, end, atol=1e-12)
    assert reward == pytest.approx(-p.period * (after @ after + 9.0))
    assert not terminated
    assert not truncated
    clipped = env.step(np.array([1e9]))[1]
    assert clipped > -p.period * 200.0


def test_copies_are_single_environments_and_begin_anew() -> None:
    p = problem()
    envs = RollingVectorEnv(p, 3)
    singles = [RollingEnv(p) for _ in range(3)]
    seeds: list[int | None] = [1, 2, 3]
    observed, _ = envs.reset(seed=seeds)
    for k, (single, seed) in enumerate(zip(singles, seeds, strict=True)):
        single._one.reset(seed=[seed])
        assert np.array_equal(single._one._starts[0].x, observed[k])
    for step in range(10):
        actions = np.array([[1.0], [-2.0], [0.0]])
        observed, rewards, terminated, truncated, _ = envs.step(actions)
        for k, single in enumerate(singles):
            alone = single.step(actions[k])
            assert np.allclose(alone[0], observed[k], atol=1e-13)
            assert alone[1] == pytest.approx(rewards[k], abs=1e-13)
        assert truncated.all() == (step == 9)
        assert not terminated.any()
    again, rewards, *_ = envs.step(np.ones((3, 1)))
    assert not rewards.any()
    assert not np.allclose(again, observed)
    assert np.abs(again[:, 1]).max() <= 0.2


def test_falls_end_episodes() -> None:
    p = problem(5.0)
    envs = RollingVectorEnv(p, 4)
    envs.reset(seed=0)
    ended = np.zeros(4, dtype=bool)
    for _ in range(100):
        _, _, terminated, truncated, _ = envs.step(np.full((4, 1), 10.0))
        assert not truncated.any()
        ended |= terminated
        if ended.all():
            return
    raise AssertionError("no pole fell under a steady push")


def test_the_regulator_of_a_scenario_earns_more_than_doing_nothing() -> None:
    p = problem_of("ellipse-damping")
    costed = p.cost.__self__  # pyright: ignore[reportFunctionMemberAccess]

    def earned(act: bool) -> float:
        env, total, time = RollingEnv(p), 0.0, 0.0
        state, _ = env.reset(seed=5)
        costed.reset()
        for _ in range(600):
            state, reward, terminated, _, _ = env.step(costed(time, state) if act else np.zeros(3))
            total, time = total + reward, time + p.period
            if terminated:
                return total - 1e3
        return total

    assert earned(True) > 0.5 * earned(False)


def test_bad_problems_are_named() -> None:
    p = problem()
    for name, changes in (
        ("low", {"low": [np.inf]}),
        ("low", {"low": [20.0]}),
        ("period", {"period": 0.0}),
        ("high", {"high": [1.0, 2.0]}),
    ):
        given = {k: getattr(p, k) for k in ("model", "start", "period", "duration", "low", "high", "cost")} | changes
        with pytest.raises(tr.InputError, match=name):
            EnvironmentProblem(**given)
    with pytest.raises(tr.InputError, match="num_envs"):
        RollingVectorEnv(p, 0)

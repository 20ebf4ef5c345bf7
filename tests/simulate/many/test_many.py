"""Many runs are those of `simulate`, bit by bit, whether they stay in one mode or not."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Sequence
from importlib import import_module

import numpy as np
import pytest

import trundle as tr


def assert_same(runs: tr.Runs, singles: Sequence[tr.Trajectory]) -> None:
    assert len(runs) == len(singles)
    assert runs.statuses == tuple(one.status for one in singles)
    for run, one in zip(runs, singles, strict=True):
        assert run.status is one.status
        assert run.feasible == one.feasible
        assert set(run.dataset.data_vars) == set(one.dataset.data_vars)
        for name in one.dataset.variables:
            assert np.array_equal(run[str(name)], one[str(name)]), name
        assert run.transitions == one.transitions
        statistics = one.metadata["statistics"]
        assert run.metadata["statistics"]["steps"] == statistics["steps"]
        assert run.metadata["statistics"]["smallest_margins"] == statistics["smallest_margins"]


def cart() -> tr.RollingTree:
    robot = tr.Robot()
    slider = robot.prismatic(None, (0, 0), 1.0, 0.1, axis=(1, 0), name="cart")
    robot.revolute(slider, (0, 0), 0.2, 0.01, center_of_mass=(0.0, 0.5), name="pole", actuated=False)
    return robot.finish()


def test_balls_on_a_spinning_plate() -> None:
    ball = tr.RigidBody(tr.Sphere(0.2), mass=0.1)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane(), twist=(0, 0, 7, 0, 0, 0)))
    starts = [pair.place(object_angular_velocity=(w, 0, 0)) for w in np.linspace(0.5, 1.5, 40)]
    runs = tr.simulate_many(pair, starts, 0.5, output_step=0.1)
    assert_same(runs, [tr.simulate(pair, s, 0.5, output_step=0.1) for s in starts])
    assert runs.states.shape == (40, 6, len(starts[0].x))
    assert runs.success.all()


@pytest.mark.parametrize("coordinates", ["pose", "rolling"])
@pytest.mark.parametrize("step", [None, 1e-3])
def test_an_ellipsoid_on_a_hand_that_moves_piece_by_piece(coordinates: str, step: float | None) -> None:
    times = np.linspace(0, 0.4, 5)
    rates = np.zeros((5, 6))
    rates[:, 0], rates[:, 3] = np.sin(9 * times), 2 * np.cos(5 * times)
    hand = tr.Hand(tr.Plane(), motion=tr.SampledMotion(times, rates))
    pair = tr.RollingPair(
        tr.RigidBody(tr.Ellipsoid([0.1, 0.09, 0.08]), mass=0.3, inertia="solid"), hand, coordinates=coordinates
    )
    starts = [pair.place(object_angular_velocity=(0.2, w, 0.1)) for w in np.linspace(-1, 1, 20)]
    more = {"step": step, "output_step": 0.05}
    assert_same(tr.simulate_many(pair, starts, 0.4, **more), [tr.simulate(pair, s, 0.4, **more) for s in starts])


@pytest.mark.parametrize("own", [False, True])
def test_carts_under_linear_feedback(own: bool) -> None:
    tree = cart()
    linear = tr.linearize(tree, tree.place())
    del linear
    gains = np.array([[-3.0, 60.0, -5.0, 12.0]])
    starts = [tree.place(pole=angle) for angle in np.linspace(-0.2, 0.2, 24)]

    def law(k: float) -> tr.LinearFeedback:
        return tr.LinearFeedback(0.02, [[0.0]], -k * gains, tree.place().x, low=-20.0, high=20.0)

    policies = [law(1.0 + 0.01 * i) for i in range(24)] if own else [law(1.0)] * 24
    runs = tr.simulate_many(tree, starts, 1.0, policies=policies if own else policies[0], output_step=0.05)
    singles = [tr.simulate(tree, s, 1.0, policy=p, output_step=0.05) for s, p in zip(starts, policies, strict=True)]
    assert_same(runs, singles)
    assert np.ptp([run["torque"][3, 0] for run in runs]) > 0.1


def test_a_table_of_inputs_holds_its_last_row() -> None:
    tree = cart()
    policies = [tr.LinearFeedback(0.1, [[push], [-push], [0.0]]) for push in (1.0, 2.0, 3.0)]
    runs = tr.simulate_many(tree, [tree.place()] * 3, 0.5, policies=policies)
    assert_same(runs, [tr.simulate(tree, tree.place(), 0.5, policy=p, output_step=0.5) for p in policies])


def test_runs_that_land_slide_or_end_are_those_of_simulate() -> None:
    ball = tr.RigidBody(tr.Ellipse([0.1, 0.07]), mass=1.0, inertia="solid")
    pair = tr.RollingPair(ball, tr.Hand(tr.Line()), friction=0.2, on_slip="slide", on_separation="fly", restitution=0.3)
    starts = [
        pair.place(object_angular_velocity=0.3),
        pair.place(object_angular_velocity=12.0),
        pair.place(object_position=(0.0, 0.3), object_velocity=(1.0, 0.0)),
        pair.place(slip=(1.0, 0.0)),
    ]
    runs = tr.simulate_many(pair, starts, 0.6, output_step=0.02)
    assert_same(runs, [tr.simulate(pair, s, 0.6, output_step=0.02) for s in starts])
    assert sum(bool(run.transitions) for run in runs) >= 2
    stopping = tr.RollingPair(ball, tr.Hand(tr.Line()), friction=0.2)
    starts = [stopping.place(object_angular_velocity=w) for w in (0.1, 30.0)]
    runs = tr.simulate_many(stopping, starts, 0.6)
    assert_same(runs, [tr.simulate(stopping, s, 0.6, output_step=0.6) for s in starts])
    assert not runs.success.all()
    assert np.isnan(runs["object_position"][1, -1]).all() or len(runs[1]) == 2


def test_workers_do_not_change_the_numbers() -> None:
    tree = cart()
    starts = [tree.place(pole=angle) for angle in np.linspace(-1, 1, 70)]
    one, two = (tr.simulate_many(tree, starts, 0.3, workers=n) for n in (1, 3))
    assert np.array_equal(one.states, two.states)
    done: list[int] = []
    tr.simulate_many(tree, starts, 0.3, progress=done.append)
    assert done[-1] == 70


def test_bad_arguments_are_named() -> None:
    tree = cart()
    start = tree.place()
    law = tr.LinearFeedback(0.1, [[0.0]])
    for error, arguments in (
        ("starts", {"starts": [start, 3]}),
        ("duration", {"duration": 0.0}),
        ("policies", {"policies": [law, law, law]}),
        ("policies", {"policies": [law, tr.LinearFeedback(0.2, [[0.0]])]}),
        ("policies", {"policies": tr.LinearFeedback(0.1, [[0.0, 1.0]])}),
        ("workers", {"workers": 0}),
        ("output_step", {"output_step": -1.0}),
    ):
        with pytest.raises(tr.InputError, match=error):
            tr.simulate_many(tree, **({"starts": [start, start], "duration": 1.0} | arguments))
    with pytest.raises(tr.InputError, match="states"):
        tr.LinearFeedback(0.1, [[0.0]], gains=[[1.0, 2.0]])
    with pytest.raises(tr.InputError, match="gains"):
        tr.LinearFeedback(0.1, [[0.0]], gains=[[np.nan, 2.0]], states=[0.0, 0.0])
    assert len(tr.simulate_many(tree, [], 1.0)) == 0


class Here:
    """A cluster of two threads that is this process: what travels is pickled, the last share comes first."""

    slots = 2

    def run(self, run, items, *, ordered):
        for number, item in reversed(list(enumerate(items))):
            yield number, pickle.loads(pickle.dumps(run))(pickle.loads(pickle.dumps(item)))


@pytest.mark.parametrize("own", [False, True])
def test_shares_that_travel_bring_back_the_same_runs(monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    tree = cart()
    laws = [tr.LinearFeedback(0.02, [[0.0]], [[3.0, -60.0, 5.0, -12.0 - 0.1 * i]], [0.0] * 4) for i in range(20)]
    starts = [tree.place(pole=angle) for angle in np.linspace(-1.5, 1.5, 20)]
    numbers = {"parameters": {"pole.mass": np.linspace(0.1, 0.3, 20)}} if own else {}
    more = {"policies": laws if own else laws[0], "output_step": 0.1, "workers": 1, **numbers}
    alone = tr.simulate_many(tree, starts, 0.5, **more)
    monkeypatch.setattr(
        import_module("trundle.simulate.many.many"), "connect_scheduler", lambda address: contextlib.nullcontext(Here())
    )
    told: list[int] = []
    there = tr.simulate_many(tree, starts, 0.5, scheduler="here", progress=told.append, **more)
    assert told == list(range(2, 21, 2))
    np.testing.assert_array_equal(there.states, alone.states)
    assert there.statuses == alone.statuses
    assert all(one.dataset.identical(other.dataset) for one, other in zip(there, alone, strict=True))
    assert len(pickle.loads(pickle.dumps(there))) == 20


def test_runs_of_which_workers_died_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Here()
    here.run = lambda run, items, ordered: iter([(0, None)])
    monkeypatch.setattr(
        import_module("trundle.simulate.many.many"), "connect_scheduler", lambda address: contextlib.nullcontext(here)
    )
    tree = cart()
    with pytest.raises(tr.errors.SimulationError, match="workers died of the runs from 0 on"):
        tr.simulate_many(tree, [tree.place()], 0.1, scheduler="here")


def test_samples_are_where_times_say_through_changes_of_mode() -> None:
    ball = tr.RigidBody(tr.Circle(0.1), mass=1.0)
    pair = tr.RollingPair(ball, tr.Ground(tr.Line()), on_separation="fly", restitution=0.5)
    starts = [pair.place(position=(0.0, h), velocity=(1.0, 0.0)) for h in (0.3, 0.4)]
    runs = tr.simulate_many(pair, starts, 0.5, output_step=0.05)
    x = pair.system.model().layout["body.position"].start
    for run, states, places in zip(runs, runs.states, runs["body_position"], strict=True):
        assert run.transitions
        np.testing.assert_allclose(states[:5, x], runs.times[:5], atol=1e-12)  # until it touches: 1 m/s
        assert np.array_equal(states[:, x], places[:, 0, 0])
        whole = np.interp(runs.times, run.time, run["body_position"][:, 0, 0])
        np.testing.assert_allclose(states[:, x], whole, atol=1e-9)


def test_parameters_that_differ_between_runs() -> None:
    ball = tr.RigidBody(tr.Sphere(0.1), mass=0.5, inertia=0.002)
    pair = tr.RollingPair(ball, tr.Hand(tr.Plane(), rpy=(0.0, 0.6, 0.0)), on_slip="slide", friction=0.4)
    numbers = {"object.inertia": np.linspace(0.001, 0.004, 8), "contact.friction": np.linspace(0.05, 0.6, 8)}
    runs = tr.simulate_many(pair, [pair.place()] * 8, 0.4, parameters=numbers, output_step=0.1)
    assert sum(bool(run.transitions) for run in runs) >= 2  # some slide
    assert sum(not run.transitions for run in runs) >= 3
    for i, run in list(enumerate(runs))[::3]:
        own = tr.with_parameters(pair, {name: float(values[i]) for name, values in numbers.items()})
        one = tr.simulate(own, pair.place(), 0.4, output_step=0.1)
        assert run.status is one.status
        assert [note["to"] for note in run.transitions] == [note["to"] for note in one.transitions]
        for name in ("object_position", "object_quaternion", "contact_force", "energy"):
            np.testing.assert_allclose(run[name], one[name], rtol=1e-9, atol=1e-9)
    with pytest.raises(tr.InputError, match=r"parameters\['object.mass'\]"):
        tr.simulate_many(pair, [pair.place()] * 2, 0.4, parameters={"object.mass": [1.0]})
    with pytest.raises(tr.InputError, match="parameters"):
        tr.simulate_many(pair, [pair.place()] * 2, 0.4, parameters={"mass": [1.0, 2.0]})
    with pytest.raises(tr.InputError, match="mass"):
        tr.simulate_many(pair, [pair.place()] * 2, 0.4, parameters={"object.mass": [1.0, -2.0]})

"""Every public object and error travels: to another process by pickle, and as a copy."""

from __future__ import annotations

import concurrent.futures
import copy
import dataclasses
import inspect
import multiprocessing
import pickle
import re
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.recording import NAMES, PUBLIC, recorded
from trundle.models import load_humanoid
from trundle.scenarios.problems import Problem, ScenarioError
from trundle.systems.multicontact.stances.pose import StanceError

OF_THE_EXAMPLE = {"Actuated", "Delayed", "FunctionPolicy", "Faulty", "Part", "Noisy", "PhaseLinkage", "PlayThenHold",
                  "Sensed", "Switching", "Watchdog"}  # fmt: skip
"""They hold what an example defines, a policy's class or a function, or expressions: copied only."""


def through(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


WAYS = {"pickle": through, "deepcopy": copy.deepcopy}


def whole(value: Any) -> Any:
    """An object with the fields of the models in it, also of those whose repr is one line."""
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("trundle.models"):
        fields = [field for field in dataclasses.fields(value) if field.repr]
        return repr(value), {field.name: whole(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return type(value), {key: whole(value[key]) for key in value}
    return [type(value), *map(whole, value)] if isinstance(value, list | tuple) else value


def shown(value: object) -> str:
    """The characters of an object's repr and fields without addresses, in order: a set has none."""
    return "".join(sorted(re.sub(r"0x[0-9a-f]+", "0x", repr(whole(value)))))


def test_every_public_name_is_found_again() -> None:
    for name in NAMES:
        if isinstance(PUBLIC[name], type) or inspect.isfunction(PUBLIC[name]):
            assert through(PUBLIC[name]) is PUBLIC[name], name


@pytest.mark.parametrize("way", WAYS)
def test_an_instance_of_every_public_class_travels(way: str) -> None:
    moved = {name for names in tr._MOVED.values() for name in names.split()}
    classes = {name for name in {*tr.__all__} | moved if isinstance(PUBLIC.get(name), type)}
    objects = recorded().objects
    assert classes - set(objects) <= {"Shape", "ShapeError", "StorageError", "TrundleError"}, "no instance was recorded"
    for name, one in objects.items():
        if way == "deepcopy" or name not in OF_THE_EXAMPLE:
            other = WAYS[way](one)
            assert type(other) is type(one)
            assert shown(other) == shown(one), name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "error",
    [
        tr.InputError("a.b", -1.0, "> 0 (m)", "a.toml"), tr.InputError("f", lambda: 0, "a number"),
        tr.InputError("f", (x for x in [1]), "a number"), tr.InputError("n", 10**5000, "an integer"),
        tr.errors.ShapeError("shape", tr.Sphere(0.1), "flat"), tr.errors.MissingExtraError("mujoco", "sim"),
        tr.errors.CompileError("cc failed", "line 3"), tr.errors.StorageError("full"), tr.TrundleError("that"),
        tr.errors.SimulationError("it slipped", tr.Status.SLIPPED, None), StanceError("no pose", {"left": 0.1}),
        ScenarioError([Problem("a.b", -1.0, "must be > 0")], "a.toml"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_every_error_travels_with_its_words(error: Exception, way: str) -> None:
    other = WAYS[way](error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert len(str(error)) < 300
    assert {**vars(other), "value": ""} == {**vars(error), "value": ""}


def moved(pair: tr.RollingPair, start: Any) -> np.ndarray:
    return tr.simulate(pair, start, duration=0.1)["object_position"]


class Push:
    """A policy that pickle finds."""

    period = 0.01

    def reset(self) -> None: ...

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        return np.array([time])


def test_what_holds_a_policy_travels_with_it() -> None:
    late, noisy = tr.Delayed(Push(), delay=0.01, first=[0.0]), tr.Noisy(Push(), deviation=0.1, seed=1)
    for one in (late, noisy, tr.control.Actuated(Push(), 1, gain=1.01)):
        other = through(one)
        for policy in (one, other):
            policy.reset()
        found = [[policy(0.01 * k, np.zeros(2)).tolist() for k in range(3)] for policy in (one, other)]
        assert found[0] == found[1]


def control() -> tr.optimal.Optimiser:
    x, u, p = (ca.SX.sym(name) for name in "xup")
    stage, end = tr.optimal.Cost(residual=u), tr.optimal.Cost(residual=x - p, weights=10.0)
    return tr.optimal.Optimiser(tr.optimal.ControlProblem(x, u, p, x + 0.1 * u, stage, end, stages=10), damping=0.5)


def test_what_holds_expressions_computes_the_same_in_its_new_place() -> None:
    guess = tr.optimal.Guess(np.zeros((10, 1)), np.zeros((11, 1)))
    optimiser = control()
    found = [one.solve([0.0], [1.0], guess).states for one in (optimiser, through(optimiser), copy.deepcopy(optimiser))]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    slope = tr.geometry.ExpressionCurve(lambda u: (u, 0.3 * u**2), range=(-2.0, 2.0))
    np.testing.assert_array_equal(through(slope).sample(5)[0], slope.sample(5)[0])
    touch = tr.SoftTouch.at([0.45, 0.0, 1.0], [-0.2, 0, 0], 0.03, tr.Wall([0, 0, 0], [1, 0, 0]))
    assert float(through(touch).distance) == float(touch.distance)


@pytest.mark.slow
def test_models_travel_to_processes_that_start_anew() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.1), tr.Hand(tr.Plane()))
    start = pair.place(object_angular_velocity=(1.0, 2.0, 0.0))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        there: Callable[..., Any] = pool.submit(moved, pair, start).result
        np.testing.assert_allclose(there(), moved(pair, start), atol=1e-12)


def test_robots_say_what_they_are_in_one_line() -> None:
    avatar = tr.walking.build_avatar()
    sole = tr.Foot(avatar.foot.sole, "left_foot", avatar.foot.center.tolist())
    tree = tr.robot_from_urdf(avatar.robot, {"left": sole})
    assert repr(tree) == (
        "<RollingTree: 24 bodies (pelvis, left_hip_roll_frame, left_hip_yaw_frame, ...), "
        "23 joints (left_hip_roll, left_hip_yaw, left_hip_pitch, ...), 1 contact (left)>"
    )
    heavier = tree.scaled(mass=2.0)
    assert (repr(heavier), heavier == tree) == (repr(tree), False)
    assert shown(heavier) != shown(tree)
    humanoid = load_humanoid("g1")
    for robot in (tree, tree.tree, avatar, avatar.robot, humanoid, humanoid.urdf, tr.Robot()):
        assert "\n" not in repr(robot)
        assert len(repr(robot)) < 200

"""Arguments of a wrong type are refused like wrong values: InputError, for every parameter of every public callable."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.recording import recorded

BAD: tuple[Any, ...] = (
    *(None, "no such thing", object(), ["a", "b"], 1 + 2j, True, b"bytes", {"a": 1}, [[1.0], [1.0, 2.0]], int),
    *(np.datetime64("2020-01-01"), 10**400, float("nan"), float("inf"), [], -1, {}, np.array("a"), np.full(3, np.nan)),
    *(np.zeros((2, 7)), np.zeros(0)),
)
LONG = {"plan", "plan_walk", "run", "simulate", "ThrowCatch.plan"}
"""A wrong argument that they may take makes them work for long: of these a few are tried by name."""
CALLED = {"Arc.numeric.build", "Preview.path", "Preview.window.path", "gradient.cost", "measure.general"}
"""Parameters that take any callable: of the class `int` as one, the error is that of calling it."""
SHAPES = (
    *(
        "Linearization.",
        "LocalError.",
        "Camera.image.",
        "Forecast.held.",
        "PointPath.times",
        "ContactSystem.",
        "relaxed_barrier.",
    ),
    *("midpoint.step", "ThrowCatch.profile.", "ParameterTable.", "PlacedPatch.world."),
)
"""Where an array of numbers that has a wrong shape is told by numpy or CasADi, in their words."""
ASSEMBLED = {
    *("TreeModel.gravity", "TreeModel.bodies", "TreeModel.contacts", "TreeModel.state_rate.kin"),
    "ContactSystem.island.among",
}
"""`Tree.finish` makes these, of what it has checked; numbers of contacts are the engine's own."""


def other_errors(
    function: Callable[..., Any], good: dict[str, Any], first: list[Any], bads: Iterable[Any]
) -> dict[str, str]:
    """Return the errors, by parameter, that are neither InputError nor another one of trundle."""
    found = {}
    for name in good:
        for bad in bads:
            own = [object.__new__(type(first[0]))] if function.__name__ == "__init__" else first
            try:
                function(*own, **{**good, name: bad})
            except tr.TrundleError:
                pass
            except Exception as error:
                found.setdefault(name, f"{type(bad).__name__}: {type(error).__name__}: {error}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
def test_wrong_types_are_input_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    monkeypatch.chdir(tmp_path)  # a text is a good name of a file
    noted, wrong, draws, tries = recorded(), {}, random.Random(9), 0
    for function, call in noted.calls.items():
        name, parameters = noted.names[function][0], inspect.signature(function).parameters
        first = [call[key] for key in parameters if key in ("self", "cls")]
        good = {key: call[key] for key, one in parameters.items() if key in call and one.kind is not one.VAR_KEYWORD}
        good = {key: value for key, value in good.items() if key not in ("self", "cls")}
        if name not in LONG:
            stem, bads = re.sub(r"\.__(init|call)__$", "", name), [bad for bad in BAD if draws.random() < share]
            wrong |= {f"{stem}.{key}": text for key, text in other_errors(function, good, first, bads).items()}
            tries += len(good) * len(bads)
    left = {key: text for key, text in wrong.items() if key not in ASSEMBLED}
    left = {key: text for key, text in left.items() if not (key in CALLED and text.startswith("type: "))}
    assert {
        key: text for key, text in left.items() if not (key.startswith(SHAPES) and text.startswith("ndarray: "))
    } == {}
    assert tries > 18000 * share * 0.8


@pytest.mark.parametrize("bad", [None, object(), int, {"a": 1}, 1 + 2j, b"bytes"], ids=lambda bad: type(bad).__name__)
@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda bad: tr.simulate(bad, bad, 1.0), "model"),
        (lambda bad: tr.juggling.plan(bad), "task"),
        (lambda bad: tr.load_scenario(bad), "path_or_name"),
        (lambda bad: tr.load_plan(bad), "path"),
        (lambda bad: tr.Foot(bad), "shape"),
        (lambda bad: tr.RollingPair(bad, tr.Hand(tr.Plane())), "body"),
        (lambda bad: tr.multicontact.Held(bad), "contact"),
        (lambda bad: tr.Sphere(0.1).closest(bad), "points"),
    ],
)
def test_the_error_names_the_parameter(call: Callable[[Any], object], key: str, bad: Any) -> None:
    with pytest.raises(tr.InputError) as caught:
        call(bad)
    assert caught.value.key == key


def test_what_goes_wrong_inside_with_good_arguments_stays_what_it_is() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.1), tr.Hand(tr.Plane()))

    def told(share: float) -> None:
        raise AttributeError("of the caller's own")

    with pytest.raises(AttributeError, match="the caller's own"):
        tr.simulate(pair, pair.place(), 0.01, progress=told)
    with pytest.raises(TypeError, match="radii"):
        tr.Sphere(radii=0.1)  # pyright: ignore[reportCallIssue]


def test_integers_beyond_exact_floats_are_refused() -> None:
    with pytest.raises(tr.InputError, match="at most 2"):
        tr.control.Camera(seed=10**400)


@pytest.mark.parametrize("nodes", [10**400, 10**9])
def test_a_plan_of_endless_nodes_is_refused_before_its_memory_is_taken(nodes: int) -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.1), tr.Hand(tr.Plane()))
    goal = tr.juggling.Goal(contact_on_hand=(0.1, 0.0, 0.0))
    with pytest.raises(tr.InputError, match="nodes"):
        tr.juggling.plan(tr.juggling.Transfer(pair, pair.place(), goal, duration=1.0), nodes=nodes)

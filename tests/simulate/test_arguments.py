"""What `simulate` refuses: arguments of another type, times beyond the ranges of a scenario file."""

from __future__ import annotations

from typing import Any

import pytest

import trundle as tr

PAIR = tr.RollingPair(tr.RigidBody(tr.Sphere(0.2), 0.1), tr.Hand(tr.Plane()))


@pytest.mark.parametrize(
    ("argument", "value", "text"),
    [
        ("model", None, "model = None: must be a RollingPair, a RollingTree or a ContactSystem"),
        ("initial", None, "initial = None: must be a Start, what model.place(...) returns"),
        ("initial", [0.0], "initial = [0.0]: must be a Start"),
        ("policy", 3, "policy = 3: must be a Policy"),
        ("progress", 3, "progress = 3: must be a function of the simulated time"),
        ("duration", 0.0, "duration = 0.0: must be a time > 0, from 1e-9 to 1e9 (s)"),
        ("duration", 2e9, "duration = 2000000000.0: must be a time > 0, from 1e-9 to 1e9 (s)"),
        ("duration", "long", "duration = 'long': must be a time"),
        (
            "output_step",
            1.1,
            "output_step = 1.1: must be a time > 0, from 1e-06 (a million samples) to duration = 1 (s)",
        ),
        ("output_step", 0.9e-6, "output_step = 9e-07: must be a time > 0, from 1e-06 (a million samples)"),
        ("step", 1.1, "step = 1.1: must be a time > 0, from 1e-08 (1e8 steps) to duration = 1 (s)"),
        ("step", 0.9e-8, "step = 9e-09: must be a time > 0, from 1e-08 (1e8 steps) to duration = 1 (s)"),
        ("relative_tolerance", 0.1, "relative_tolerance = 0.1: must be a finite number >= 1e-14 and <= 0.01"),
    ],
)
def test_wrong_arguments_say_what_is_allowed(argument: str, value: Any, text: str) -> None:
    arguments: dict[str, Any] = {"model": PAIR, "initial": PAIR.place(), "duration": 1.0} | {argument: value}
    with pytest.raises(tr.InputError) as caught:
        tr.simulate(**arguments)
    assert str(caught.value).startswith(text)


def test_the_longest_steps_are_taken() -> None:
    run = tr.simulate(PAIR, PAIR.place(), 0.1, step=0.1, output_step=0.1)
    assert run.time.tolist() == [0.0, 0.1]

"""Ten scenes of the survey of laws, and that the survey draws, writes and compares scenes as it says.

The rest: ``python -m bench.survey``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.survey.described import motion_of, scene_of
from bench.survey.draw import least_gap
from bench.survey.kinds import KINDS, drawn
from bench.survey.shapes import shape
from bench.survey.source import script
from bench.survey.spec import BodySpec, Part, Spec
from bench.survey.variants import WAYS, compare
from bench.survey.work import Task, simulated, tried
from tests.oracles.laws import judge

SCENES = (
    ("drops", 1, 0, 3),
    ("drops", 1, 1, 3),
    ("drops", 1, 7, 3),
    ("drops", 2, 0, 3),
    ("pairs", 0, 0, 4),
    ("planar", 0, 2, 4),
    ("planar", 0, 5, 4),
    ("ground", 2, 4, 3),
    ("ground", 0, 1, 4),
    ("hands", 0, 5, 4),
)
"""Kind, seed, number, and how many bodies at most."""


@pytest.mark.parametrize(("kind", "seed", "number", "most"), SCENES)
def test_scenes_of_the_survey_break_no_law(kind, seed, number, most):
    judged, _ = tried(Task(kind, seed, number, most))
    assert judged.findings == ()
    assert judged.verdict == "right", judged.reason


def ball(**more) -> Spec:
    """A ball that falls on a floor and bounces."""
    part = Part("b0", shape("Sphere", radius=0.1), (0.0, 0.0, 0.0))
    one = BodySpec("b0", 1.0, (0.004,) * 3, (0.0,) * 3, (part,), position=(0.0, 0.0, 0.2, 1.0, 0.0, 0.0, 0.0),
                   rate=(3.0, 0.0, 0.0, 0.5, 0.1, 0.0))  # fmt: skip
    return Spec("drops", 3, (1.0, 0.0, -9.7), 0.3, (one,), shape("Plane"), 0.3, 0.5, size=0.1, **more)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_run_may_not_depend_on_changes_nothing_for_a_ball(way):
    if way.startswith("order"):
        return  # of one ball there is none
    spec = ball()
    assert compare(spec, simulated(spec), 0, 0, simulated, way) == (way, "")


def test_a_difference_is_said():
    def other(spec: Spec):
        """A simulator whose friction grows with the samples."""
        return simulated(replace(spec, friction=0.05 if spec.output_step else spec.friction))

    way, text = compare(ball(), other(ball()), 0, 0, other, "output_step")
    assert way in text
    assert "differ" in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_scene_follows_from_seed_and_number_and_starts_apart(kind):
    for number in range(5):
        spec, _ = drawn(kind, 3, number)
        assert script(spec) == script(drawn(kind, 3, number)[0])
        assert least_gap(spec) > -1e-9 * spec.size
        compile(script(spec), kind, "exec")


def test_a_run_that_sinks_is_wrong():
    spec = ball()
    run = simulated(spec)
    motion = motion_of(spec, run)
    assert judge(scene_of(spec), motion) == []
    sunk = np.array(motion.position)
    sunk[-50:, 0, 2] -= 1e-3
    assert "overlap" in {finding.law for finding in judge(scene_of(spec), replace(motion, position=sunk))}

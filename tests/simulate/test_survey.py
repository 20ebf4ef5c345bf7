"""Scenes of the survey of laws, some of each kind, and that it draws, writes and compares scenes as it says.

The rest: ``python -m bench.survey``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from bench.survey.curved import curved_ground
from bench.survey.described import motion_of, scene_of
from bench.survey.draw import PLANE, SPACE, Pen, form, least_gap
from bench.survey.kinds import KINDS, drawn
from bench.survey.shapes import shape
from bench.survey.source import script
from bench.survey.spec import BodySpec, Part, Spec
from bench.survey.variants import WAYS, compare
from bench.survey.work import Task, simulated, tried
from tests.oracles.laws import judge
from tests.oracles.laws.shapes import directions
from trundle.contact.laws import LAWS


@pytest.fixture(autouse=True)
def _laws_as_they_are() -> Iterator[None]:
    """Scenes of one's own law register it: not for the tests after these."""
    known = dict(LAWS)
    yield
    for name in [name for name in LAWS if name not in known]:
        del LAWS[name]


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
    ("sticky", 1, 2, 3),
    ("soft", 1, 0, 3),
    ("greased", 1, 0, 3),
    ("loops", 1, 2, 1),
    ("driven", 1, 1, 4),
    ("soles", 1, 2, 2),
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


def planted(kind: str, number: int, change) -> set[str]:
    """Return the laws that the judge finds broken where a run of a scene was changed; it passed before."""
    spec = drawn(kind, 1, number, 3)[0]
    scene, motion = scene_of(spec), motion_of(spec, simulated(spec))
    assert judge(scene, motion) == []
    return {finding.law for finding in judge(*change(scene, motion))}


def test_friction_that_adhesion_alone_allows_is_found():
    def weaker(scene, motion):
        return replace(scene, shapes=[replace(one, adhesion=0.0) for one in scene.shapes]), motion

    assert {"cone", "friction impulse"} <= planted("sticky", 2, weaker)


def test_a_contact_that_pushes_by_another_stiffness_is_found():
    def stiffer(scene, motion):
        return replace(scene, soft=replace(scene.soft, stiffness=1.01 * scene.soft.stiffness)), motion

    assert "soft" in planted("soft", 0, stiffer)


def test_a_pin_elsewhere_is_found():
    def elsewhere(scene, motion):
        return replace(scene, pins=[replace(pin, at_A=1.001 * pin.at_A) for pin in scene.pins]), motion

    assert "pin" in planted("loops", 2, elsewhere)


@pytest.mark.parametrize("kind", sorted({*SPACE, *PLANE}))
def test_the_judge_knows_the_shapes_that_scripts_name(kind):
    d = 3 if kind in SPACE else 2
    spec = form(Pen(np.random.default_rng(1), d, 0.1), kind)
    made = eval(spec.code, {"tr": tr})
    body, u = spec.body(), directions(d, 50)
    if (support := made.representations.support) is None:  # an outline: its points are on it
        np.testing.assert_allclose(made.distance(body.surface)[0], 0.0, atol=1e-12)
        return
    x = ca.SX.sym("x", d)
    reach = ca.Function("reach", [x], [support.support(x)])
    known = [float(reach(v)) for v in u]
    np.testing.assert_allclose(np.sum(u * body.core(u), axis=1) + body.radius, known, atol=1e-8)


def test_the_judge_knows_the_grounds_that_scripts_name():
    random, seen = np.random.default_rng(1), set()
    for d in (2, 3):
        for _ in range(60):
            spec = curved_ground(Pen(random, d, 0.1))
            ground = spec.ground()
            if spec.kind in seen or ground.level is None:
                continue
            seen.add(spec.kind)
            wide = max(abs(v) for v in dict(spec.numbers).get("x", [0.5]))
            points = random.uniform(-0.3, 0.3, (10, d)) * wide
            if spec.kind not in ("Dish", "Tube"):  # near it, where the judge's distance is one
                points[:, -1] -= ground.level[0](points)
            found = eval(spec.code, {"tr": tr}).distance(points)[0]
            if spec.kind in ("Dish", "Tube"):
                np.testing.assert_array_equal(np.sign(ground.distance(points)), np.sign(found))
            else:
                np.testing.assert_allclose(found, ground.distance(points), atol=1e-7)
    assert seen == {"Sinusoid", "Parabola", "Waves", "Dish", "Tube", "Quadric", "HeightMap"}

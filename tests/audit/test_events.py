"""Faults planted at events and in time steps: each is found, and by the law that it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from tests.audit.runs import RUNS, STEPPED, Run, bounces, drives, evidence, rolls
from trundle.audit import Anatomy, BodyFrames, Evidence, Report, anatomy_of, audit_run
from trundle.models import Prismatic
from trundle.models.tree.system import ContactSystem

MOVE, TURN = 2e-6, 1e-5
"""m, rad."""
LIFT = 1e-4
"""m: a gap across which nothing can push."""

Plant = Callable[[Evidence, Anatomy], Evidence]


@cache
def known(name: str) -> tuple[ContactSystem, Evidence]:
    """Return what a run says of itself, made once."""
    return evidence((RUNS | STEPPED)[name]())


def worst(report: Report, law: str) -> float:
    return max((check.worst for check in report.checks if check.law == law), default=0.0)


def moving(anatomy: Anatomy) -> int:
    return int(np.flatnonzero(anatomy.moves & (anatomy.mass > 0.0))[0])


def with_after(told: Evidence, **parts: np.ndarray) -> Evidence:
    after = told.jumps.after
    names = ("position", "rotation", "velocity", "angular_velocity")
    frames = BodyFrames(**{name: parts.get(name, getattr(after, name)) for name in names})
    return replace(told, jumps=replace(told.jumps, after=frames))


def moved_at(row: int) -> Plant:
    """Move a body at the jump `row`."""

    def plant(told: Evidence, anatomy: Anatomy) -> Evidence:
        position = told.jumps.after.position.copy()
        position[row, moving(anatomy), 0] += MOVE
        return with_after(told, position=position)

    return plant


def turned_at(row: int) -> Plant:
    """Turn a body about the y axis at the jump `row`."""

    def plant(told: Evidence, anatomy: Anatomy) -> Evidence:
        rotation = told.jumps.after.rotation.copy()
        c, s = np.cos(TURN), np.sin(TURN)
        rotation[row, moving(anatomy)] = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ rotation[row, moving(anatomy)]
        return with_after(told, rotation=rotation)

    return plant


def first_push(told: Evidence, steps: bool) -> int:
    """Return the first jump at which something pushes: a time step, or none."""
    pushed = np.isin(np.arange(len(told.jumps)), told.jumps.jump)
    return int(np.flatnonzero((told.jumps.steps == steps) & pushed)[0])


@pytest.mark.parametrize(
    ("name", "steps"),
    [("bounces", False), ("collides", False), ("drives", False), ("stops", False), ("shaken", True)],
)
def test_a_body_that_is_moved_or_turned_by_an_event_is_found(name: str, steps: bool) -> None:
    system, told = known(name)
    row = first_push(told, steps)
    clean = audit_run(system, told)
    for law, plant in (("motion", moved_at(row)), ("turning", turned_at(row))):
        report = audit_run(system, plant(told, anatomy_of(system)))
        assert worst(clean, law) < 1.0 < worst(report, law)
        (found,) = {finding.bodies for finding in report.findings if finding.law == law}
        assert found == (anatomy_of(system).names[moving(anatomy_of(system))],)


def test_a_path_that_starts_elsewhere_after_an_event_is_found() -> None:
    system, told = known("bounces")
    later = told.samples.stretch > 0
    position = told.samples.frames.position.copy()
    position[later, moving(anatomy_of(system)), 0] += MOVE  # all that comes after is as smooth as it was
    frames = replace(told.samples.frames, position=position)
    report = audit_run(system, replace(told, samples=replace(told.samples, frames=frames)))
    first = next(finding for finding in report.findings if finding.law == "motion")
    assert first.time == pytest.approx(float(told.jumps.begin[0]))
    assert first.amount == pytest.approx(MOVE, rel=1e-3)


@pytest.mark.parametrize("name", ["bounces", "collides"])
def test_a_contact_that_claims_to_touch_in_flight_is_found(name: str) -> None:
    system, told = known(name)
    flight = np.argwhere(~told.samples.claims.touches)
    row, contact = flight[len(flight) // 2]
    touches = told.samples.claims.touches.copy()
    touches[row, contact] = True
    claims = replace(told.samples.claims, touches=touches)
    report = audit_run(system, replace(told, samples=replace(told.samples, claims=claims)))
    assert worst(audit_run(system, told), "recorded gap") < 1e-3
    (found,) = [finding for finding in report.findings if finding.law == "recorded gap"]
    assert found.bodies == (anatomy_of(system).contacts[contact].name,)
    assert found.time == told.samples.time[row]


@pytest.mark.parametrize("off", [MOVE, -MOVE])
def test_a_gap_that_is_recorded_wrong_is_found(off: float) -> None:
    system, told = known("rolls")
    gap = told.samples.gap.copy()
    gap[len(gap) // 2, 0] += off
    report = audit_run(system, replace(told, samples=replace(told.samples, gap=gap)))
    (found,) = [finding for finding in report.findings if finding.law == "recorded gap"]
    assert abs(found.amount) == pytest.approx(MOVE, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "steps"), [("bounces", False), ("collides", False), ("stops", False), ("shaken", True)]
)
def test_an_impulse_across_an_open_gap_is_found(name: str, steps: bool) -> None:
    system, told = known(name)
    anatomy, jumps = anatomy_of(system), told.jumps
    stops = np.array([contact.pair.stop is not None for contact in anatomy.contacts])
    pushed = ~stops[jumps.contact] & (jumps.steps[jumps.jump] == steps) & (np.linalg.norm(jumps.impulse, axis=1) > 1e-6)
    push = int(np.flatnonzero(pushed)[0])
    body, jump = anatomy.contacts[jumps.contact[push]].A, jumps.jump[push]
    lifted = []
    for frames in (jumps.before, jumps.after):
        position = frames.position.copy()
        position[jump, body] += LIFT * jumps.normal[push]
        lifted.append(replace(frames, position=position))
    report = audit_run(system, replace(told, jumps=replace(jumps, before=lifted[0], after=lifted[1])))
    assert worst(audit_run(system, told), "impulse across a gap") == 0.0
    assert anatomy.contacts[jumps.contact[push]].name in {
        finding.bodies[0] for finding in report.findings if finding.law == "impulse across a gap"
    }


@pytest.mark.parametrize("declared", [0.0, 0.5, 0.69, 0.71, 1.0])
def test_a_bounce_with_another_restitution_than_is_declared_is_found(declared: float) -> None:
    pair = bounces()[0]
    assert isinstance(pair, tr.RollingPair)
    assert pair.restitution == 0.7
    told = known("bounces")[1]
    assert worst(audit_run(pair.system, told), "restitution") < 1.0
    report = audit_run(replace(pair, restitution=declared).system, told)
    assert worst(report, "restitution") > 1.0
    assert {finding.law for finding in report.findings} == {"restitution"}


def row(masses: tuple[float, ...], restitution: float) -> Run:
    """Balls that touch, the first of which comes from the side."""
    robot = tr.Robot(gravity=(0, -9.81), on_slip="slide", on_separation="fly")
    names = "abcde"[: len(masses)]
    for name, mass in zip(names, masses, strict=True):
        robot.free(mass, 0.004, shape=tr.Circle(0.1), name=name)
    for one, other in pairwise(names):
        robot.contact(one, other, friction=0.0, restitution=restitution)
    tree = robot.finish()
    places = {name: (0.2 * k - 0.1 * (k == 0), 0, 0) for k, name in enumerate(names)}
    return tree, tree.place(**places, rates={"a": (0, 2.0, 0)}, contacts=[]), 0.06, None


def test_a_blow_that_runs_along_a_row_gives_back_what_is_declared() -> None:
    """All of its events are of one instant; each contact pushes once."""
    system, told = evidence(row((1.0, 1.0, 1.0), 1.0))
    assert worst(audit_run(system, told), "restitution") < 1.0
    assert worst(audit_run(row((1.0, 1.0, 1.0), 0.3)[0].system, told), "restitution") > 1e3


def test_blows_to_and_fro_in_a_row_may_end() -> None:
    """They come faster and faster, and the last ones give nothing back."""
    system, told = evidence(row((0.8497, 1.465, 1.748, 1.354, 1.187), 0.2))
    assert len(np.unique(told.jumps.begin)) > 5
    assert worst(audit_run(system, told), "restitution") < 1.0


@pytest.mark.parametrize("beside", [False, True])
def test_what_is_allowed_of_a_light_body_is_the_same_beside_a_heavy_one_far_away(beside: bool) -> None:
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.terrain(tr.Plane(), friction=0.3, restitution=0.5)
    robot.free(0.001, shape=tr.Sphere(0.01), name="light")
    poses, rates = {"light": (0, 0, 0.011)}, {"light": (0, 0, 0, 0.4, 0, -1.0)}
    if beside:
        robot.free(2000.0, shape=tr.Sphere(1.0), name="heavy")
        poses, rates = poses | {"heavy": (100.0, 0, 50.0)}, rates | {"heavy": (0, 0, 0, 5.0, 0, 0)}
    tree = robot.finish()
    system, told = evidence((tree, tree.place(contacts=(), **poses, rates=rates), 0.05, None))
    assert not audit_run(system, told).findings
    impulse = told.jumps.impulse.copy()
    impulse[0] *= 1.01
    laws = {
        finding.law for finding in audit_run(system, replace(told, jumps=replace(told.jumps, impulse=impulse))).findings
    }
    assert laws == {"impulses"}
    # Six times the friction: what is beyond the cone is the same, too.
    impulse[0, 0] *= 6.0
    laws = {
        finding.law for finding in audit_run(system, replace(told, jumps=replace(told.jumps, impulse=impulse))).findings
    }
    assert "cone of impulses" in laws


def test_a_body_that_moves_as_it_is_told_is_judged_by_its_velocity() -> None:
    robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
    slide = Prismatic((1.0, 0, 0))
    robot.prescribed(None, slide, lambda t: 0.05 * ca.sin(2.0 * t), shape=tr.Sphere(0.05), name="told")
    robot.free(1.0, shape=tr.Sphere(0.05), name="ball")
    robot.contact("ball", "told", friction=0.0)
    tree = robot.finish()
    system, known = evidence((tree, tree.place(ball=(1.0, 0, 0)), 0.2, None))
    assert not audit_run(system, known).findings
    position = known.samples.frames.position.copy()
    position[len(position) // 2, anatomy_of(system).names.index("told"), 0] += MOVE
    samples = replace(known.samples, frames=replace(known.samples.frames, position=position))
    (found,) = audit_run(system, replace(known, samples=samples)).findings
    assert (found.law, found.bodies) == ("motion", ("told",))
    assert found.amount == pytest.approx(MOVE, rel=1e-3)


@pytest.mark.parametrize("declared", [1e-11, 1e-9, 1e-7, 1e-6])
@pytest.mark.parametrize("make", [rolls, drives])
def test_forces_that_are_wrong_by_a_hundredth_are_found_at_any_accuracy_that_a_run_declares(
    declared: float, make: Callable[[], Run]
) -> None:
    """A thousand times the accuracy is allowed: less than a hundredth for all of these."""
    system, told = evidence(make(), 0.01, relative_tolerance=declared)
    right = audit_run(system, told)
    assert not right.findings
    assert worst(right, "momentum") < 0.1
    samples = replace(told.samples, force=1.01 * told.samples.force)
    assert worst(audit_run(system, replace(told, samples=samples)), "momentum") > 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("friction", "restitution", "low", "high"),
    [
        (0.1789, 0.3933, 1.1730, (0.4257, 0.1879, 3.1467)),
        (0.4746, 0.2995, 1.0685, (0.4183, -0.0397, 4.0446)),
        (0.4613, 0.4875, 1.1123, (-0.4243, 0.1159, 3.9021)),
        (0.3401, 0.2027, 1.1044, (0.2695, -0.1775, 3.9585)),
    ],
)
def test_a_force_within_a_time_step_is_judged_by_the_cone_of_its_middle(
    friction: float, restitution: float, low: float, high: tuple[float, float, float]
) -> None:
    """A ball rolls off another one: the normal turns within a step by far more than round-off."""
    radius = 1e-6
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.terrain(tr.Plane(), friction=friction, restitution=restitution)
    for name in "ab":
        robot.free(1e3 * radius**3, shape=tr.Sphere(radius), name=name)
    robot.contact("a", "b", friction=friction, restitution=restitution)
    tree, unit = robot.finish(), np.sqrt(radius / 9.81)
    start = tree.place(contacts=(), a=(0, 0, low * radius), b=tuple(radius * x for x in high))
    system, told = evidence((tree, start, 4.0 * unit, None), 0.05 * unit)
    assert not audit_run(system, told).findings
    samples = told.samples
    row, contact = np.argwhere((samples.stretch < 0)[:, None] & np.any(samples.force, axis=2))[-1]
    force, normal = samples.force.copy(), samples.normal[row, contact]
    force[row, contact] = 2.0 * force[row, contact] - (force[row, contact] @ normal) * normal  # twice the friction
    report = audit_run(system, replace(told, samples=replace(samples, force=force)))
    assert [finding.law for finding in report.findings] == ["friction cone"]


@pytest.mark.parametrize("seed", range(8))
def test_what_holds_a_disc_that_rolls_on_without_gravity_is_round_off(seed: int) -> None:
    """Nothing presses it down after its landing: forces of 1e-15 N neither pull nor leave their cone."""
    random = np.random.default_rng([21, 20 + seed])
    robot = tr.Robot(gravity=(0.0, 0.0), on_slip="slide", on_separation="fly")
    robot.free(0.6, 0.001, shape=tr.Circle(0.04), name="disc")
    robot.terrain(tr.Line(), friction=0.5, restitution=0.0)
    tree = robot.finish()
    turns, along, down = 3.0 * random.normal(), random.normal(), random.uniform(0.2, 3.0)
    start = tree.place(disc=(0.4, 0.05, 0.0), contacts=[], rates={"disc": (turns, along, -down)})
    run = tr.simulate(tree, start, 0.3)
    assert run.status.label == "success"


@pytest.mark.parametrize("name", ["rolls", "slides"])
def test_bodies_that_touch_and_go_apart_are_found(name: str) -> None:
    """A velocity that jumps without an impulse, at the one sample that an event leaves."""
    system, told = known(name)
    samples = told.samples
    velocity = samples.frames.velocity.copy()
    velocity[0, moving(anatomy_of(system))] += 1e-3 * samples.normal[0, 0]
    names = ("position", "rotation", "velocity", "angular_velocity")
    frames = BodyFrames(**{n: velocity if n == "velocity" else getattr(samples.frames, n) for n in names})
    planted = replace(told, samples=replace(samples, frames=frames))
    assert worst(audit_run(system, told), "closed contacts") < 1e-3
    assert "closed contacts" in {finding.law for finding in audit_run(system, planted).findings}

"""Contacts that come apart by less than any gap that counts, and fall back under other forces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from trundle.simulate.events import Event, HybridState, no_onsets
from trundle.simulate.events.contact_detection import ContactDetector
from trundle.simulate.events.recontact import DEPTH, crossing, recontact, waiting_depths
from trundle.simulate.mode import Method, Mode
from trundle.simulate.runner import Runner
from trundle.status import Status


class Hop:
    """Hold a mass of 1 kg inside a ball of 1 kg, but for one period of 4 ms: then lift the ball by it, barely."""

    period = 4e-3

    def reset(self) -> None: ...

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        lifted = 0.02 - 1e-9 <= time < 0.024 - 1e-9
        return np.array([-9.81 * (1 + 1e-7) if lifted else 9.81])


def test_a_hop_that_is_cut_off_lands_again() -> None:
    """It rises by 4e-12 m: too little for its gap to be armed, so nothing but its depth tells that it is back."""
    robot = tr.Robot(gravity=[0, 0, -9.81], on_slip="slide", on_separation="fly")
    ball = robot.free(1.0, shape=tr.Sphere(0.1))
    robot.prismatic(ball, (0, 0, 0), 1.0, [0.01, 0.01, 0.01], axis=(0, 0, 1), name="mass")
    robot.terrain(tr.Plane())
    tree = robot.finish()
    start = tree.place(base=(0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0), mass=0.0)
    run = tr.simulate(tree, start, 0.1, policy=Hop())
    assert run.status is Status.SUCCESS
    assert run["gap"].min() > -2e-10
    assert [t["reason"] for t in run.transitions] == ["the contact force reached zero", "the gap closed"]
    assert run["mode"][-1, 0] == "rolling"
    assert abs(run["contact_force"][-1, 0, 2] - 2 * 9.81) < 1e-6


def test_a_crossing_is_where_the_value_is_zero_or_an_end_that_only_round_off_keeps_from_it() -> None:
    assert crossing(lambda t: np.cos(t), 0.0, 3.0) == pytest.approx(np.pi / 2, abs=1e-13)
    assert crossing(lambda t: 1.0 - t + 1e-16, 0.0, 1.0) == 1.0
    assert crossing(lambda t: -1e-18 - t, 0.0, 1.0) == 0.0


def test_a_touch_that_another_integration_misses_by_round_off_is_none_the_less_one() -> None:
    """A look sees the place 1e-13 m deep; the state integrated to that time has it as high."""
    ball = tr.RigidBody(tr.Circle(0.2), 1.0, 0.02)
    pair = tr.RollingPair(ball, tr.Ground(tr.Line(0.0, 0.0)), contact="chart", on_slip="slide", on_separation="fly")
    start, layout = pair.place(angle=0.3), pair.system.model().layout

    def falling(t: float, error: float) -> np.ndarray:
        x = np.array(start.x)
        x[layout["body.position"].start + 1] += 1e-3 - t + error
        x[layout["body.velocity"].start + 1] = -1.0
        return x

    watch, times = ContactDetector(pair.system, Mode(("separated",), start.atlas)), np.array([0.0, 5e-4, 1e-3])
    found = watch.find_first_touch(times, np.stack([falling(t, -1e-13) for t in times]), lambda t: falling(t, 1e-13))
    assert found is not None
    assert found[0] == pytest.approx(1e-3, abs=1e-12)


def test_a_recontact_that_another_integration_misses_by_round_off_is_none_the_less_one() -> None:
    """The same of a gap that was never open: at the end of the interval it is as deep as where it lands."""
    ball = tr.RigidBody(tr.Circle(0.2), 1.0, 0.02)
    pair = tr.RollingPair(ball, tr.Ground(tr.Line(0.0, 0.0)), on_slip="slide", on_separation="fly")
    start, layout = pair.place(), pair.system.model().layout
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    phase = runner.phase(Mode(("separated",), start.atlas))
    p = phase.parameters(np.zeros(0))
    done = phase.integrator.integrate(0.0, start.x, 0.0, p)

    def sunk(depth: float) -> np.ndarray:
        x = np.array(start.x)
        x[layout["body.position"].start + 1] -= depth
        return x

    depth = DEPTH * 0.2  # m, of the radius
    ended = type(done)(**vars(done) | {"t_end": 1.0, "x_end": sunk(depth * (1 + 1e-5))})
    waiting = np.ones(len(phase.margins), dtype=bool)
    depths = waiting_depths(pair.system, phase, 0.0, start.x, p, weight=9.81)
    found = recontact(pair.system, phase, 0.0, ended, p, waiting, depths, lambda t: sunk(depth * (t - 1e-5)))
    assert found is not None
    assert found[0] == 1.0
    # A gap that was open ends the mode by itself.
    assert recontact(pair.system, phase, 0.0, ended, p, ~waiting, depths, sunk) is None


@pytest.mark.slow
def test_a_corner_that_is_passed_over_within_one_step_is_left() -> None:
    """A polytope tips from edge to corner to edge on a ball: its corner holds for less than a step."""
    corners = [
        [0.0304, -0.0595, 0.0368], [0.0682, -0.00208, -0.0189], [-0.0687, 0.0194, 0.0461], [0.0293, 0.0212, -0.0873],
        [-0.0177, 0.0669, -0.0172], [0.0933, -0.0157, 0.0312], [-0.0562, -0.0512, -0.0533], [0.0352, -0.0439, -0.0696],
    ]  # fmt: skip
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    inertia = [0.00111745, 0.00158385, 0.00132287]
    robot.free(0.799, inertia, shape=tr.Polytope(corners), name="body")
    robot.terrain(tr.Sphere(1.15), friction=0.0)
    tree = robot.finish()
    start = tree.place(
        body=[-0.106, 0.0319, 1.26444, 1.0, 0.0, 0.0, 0.0],
        contacts=[],
        rates={"body": [-3.85, 5.12, 29.0, -0.0427, -0.0488, 0.271]},
    )
    run = tr.simulate(tree, start, 0.24)
    assert run.status is Status.SUCCESS
    assert run.feasible
    turns = Rotation.from_quat(run["body_quaternion"][:, 0, [1, 2, 3, 0]]).as_matrix()
    heights = np.linalg.norm(np.einsum("tij,cj->tci", turns, corners) + run["body_position"], axis=2) - 1.15
    assert heights.min() > -1e-9


def test_what_ends_a_mode_before_a_touch_comes_first() -> None:
    """A longer integration may have passed over the end of a slip; the one up to the touch sees it."""
    mu, slip, g = 0.2, 1.0, 9.81
    pair = tr.RollingPair(
        tr.RigidBody(tr.Circle(0.1), 1.0, 0.005),
        tr.Ground(tr.Line(0.0, 0.0)),
        friction=mu,
        on_slip="slide",
        on_separation="fly",
    )
    start, layout = pair.place(), pair.system.model().layout
    x = np.array(start.x)
    x[layout["body.velocity"].start] = slip
    runner = Runner(pair.system, Method(), None, np.array([0.0, 1.0]), None)
    now = HybridState(0.0, x, Mode(("sliding",), start.atlas), no_onsets(pair.system))
    phase = runner.phase(now.mode)
    p, armed = runner.parameters(now), np.ones(len(phase.margins), dtype=bool)
    stops = slip / (3 * mu * g)
    touch = Event(0, "touch")
    done, event = runner._up_to(phase, now, p, armed, None, (1.5 * stops, touch))
    assert done.t_end == pytest.approx(stops, abs=1e-8)
    assert event == Event(0, "slip_speed")
    done, event = runner._up_to(phase, now, p, armed, None, (0.5 * stops, touch))
    assert done.t_end == 0.5 * stops
    assert event is touch

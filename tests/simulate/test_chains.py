"""Runs through several modes against derivations that share no code with the package."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import trundle as tr
from tests.oracles import curves, implicit, planar, runs, spatial
from tests.slowly import slow_but
from trundle.status import Status

Z = np.array([0.0, 0.0, 1.0])
WAVE = (0.06, 2.0)
AXES = [0.2, 0.18, 0.15]


def oracle_object(run: tr.Trajectory, legs: list[dict], system: runs.System) -> float:
    """Largest distance of position, orientation (as a matrix), w and v between a run and the oracle's legs."""
    worst = 0.0
    for leg in legs:
        inside = (run.time > leg["t0"] + 1e-7) & (run.time < leg["t1"] - 1e-7)
        for i in np.flatnonzero(inside):
            x = leg["sol"](run.time[i])
            R = spatial.rotation(run["object_quaternion"][i]) - spatial.rotation(x[:4])
            parts = (
                R,
                run["object_position"][i] - x[4:7],
                run["object_angular_velocity"][i] - x[7:10],
                run["object_velocity"][i] - x[10:13],
            )
            worst = max(worst, *(float(np.abs(part).max()) for part in parts))
    return worst


def changes(legs: list[dict]) -> list[float]:
    """Times at which the oracle's mode changes; its slides come in pieces."""
    return [a["t1"] for a, b in pairwise(legs) if a["mode"] != b["mode"]]


@pytest.mark.parametrize("mu", slow_but([0.8, 0.15], 0.15))
def test_spatial_chain_slides_rolls_flies_and_lands(mu: float) -> None:
    """An ellipsoid on a hand that shakes it off and catches it again."""
    motion = tr.SinusoidMotion([0, 0, 0, 0, 0, -16.0], [0, 0, 0, 0, 0, 20 / (2 * np.pi)])
    hand = tr.Hand(tr.Plane(), twist=[0, 0, 0, 0, 0, 0.8], motion=motion)
    body = tr.RigidBody(tr.Ellipsoid(AXES), 1.0, "solid")
    pair = tr.RollingPair(body, hand, friction=mu, on_slip="slide", on_separation="fly")
    start = pair.place(object_angular_velocity=[0.0, 3.0, 1.0], slip=[0.2, 0.1, 0.0])
    run = tr.simulate(pair, start, 0.4, output_step=5e-3, relative_tolerance=1e-12)

    twin = spatial.Body(implicit.ellipsoid(AXES), 1.0, spatial.solid_ellipsoid_inertia(1.0, AXES))
    state = spatial.place(
        twin, implicit.Plane(), spatial.Hand(v=0.8 * Z), np.zeros(3), np.eye(3), np.array([0, 3.0, 1])
    )
    state = spatial.State(state.R, state.p, state.w, state.v + np.array([0.2, 0.1, 0.0]))
    system = runs.System(twin, implicit.Plane(), lambda t: np.array([0, 0, 0, 0, 0, -16.0 * np.sin(20 * t)]), mu=mu)
    legs = runs.chain(system, runs.pack(state, np.eye(3), np.zeros(3), np.r_[np.zeros(5), 0.8]), 0.4, "sliding")

    assert run.status is Status.SUCCESS
    modes = [leg["mode"] for leg in legs]
    order = [mode for k, mode in enumerate(modes) if k == 0 or modes[k - 1] != mode]
    assert {"sliding", "separated"} <= set(order)
    times = [t["time"] for t in run.transitions[1:] if t["from"] != t["to"]]
    assert [t["to"] for t in run.transitions if t["from"] != t["to"]] == order
    np.testing.assert_allclose(times, changes(legs), atol=1e-8)
    assert oracle_object(run, legs, system) < 1e-8
    assert np.abs(run["gap"][run["mode"] != "separated"]).max() < 1e-12


@pytest.mark.slow
def test_spatial_chain_on_a_curved_hand() -> None:
    """An ellipsoid runs down a ball, slips, and flies off; contact of two convex bodies."""
    body = tr.RigidBody(tr.Ellipsoid(AXES), 1.0, "solid")
    pair = tr.RollingPair(body, tr.Hand(tr.Sphere(0.6)), friction=0.4, on_slip="slide", on_separation="fly")
    place = 0.6 * np.array([np.sin(0.2), 0.0, np.cos(0.2)])
    w = np.array([0.5, 1.5, 0.3])
    run = tr.simulate(pair, pair.place(contact_on_hand=place, object_angular_velocity=w), 0.8, relative_tolerance=1e-12)
    twin = spatial.Body(implicit.ellipsoid(AXES), 1.0, spatial.solid_ellipsoid_inertia(1.0, AXES))
    state = spatial.place(twin, implicit.sphere(0.6), spatial.Hand(), place, np.eye(3), w)
    system = runs.System(twin, implicit.sphere(0.6), mu=0.4)
    legs = runs.chain(system, runs.pack(state, np.eye(3), np.zeros(3), np.zeros(6)), 0.8)
    assert [t["to"] for t in run.transitions] == ["sliding", "separated"]
    np.testing.assert_allclose([t["time"] for t in run.transitions], changes(legs), atol=1e-8)
    assert oracle_object(run, legs, system) < 1e-8


def rock() -> tuple[tr.RigidBody, tr.Ground]:
    """Sheet 4's rock on its undulating terrain."""
    body = tr.RigidBody(tr.FourierRadius(0.3, [0, 0.10, 0.02], [0, 0.02, -0.015]), 1.0, 0.045)
    waves = (tr.Sinusoid(0.06, 2 * np.pi / 2.3, 0.7), tr.Sinusoid(0.05, 2 * np.pi / 1.3, np.pi / 2))
    return body, tr.Ground(tr.geometry.CurveSum([tr.Parabola(0.10), *waves]))


def follow(pair: tr.RollingPair, twin: planar.Rolling, x: float, angle: float, duration: float, **how) -> np.ndarray:
    """Largest |x error| of the centre, slip and gap over the run."""
    run = tr.simulate(pair, pair.place(contact_x=x, angle=angle), duration, **how)
    phi, p = twin.find(x, angle)
    exact = twin.run(phi, p, 0.0, duration, times=run.time)
    error = run["body_position"][:, 0, 0] - [look["position"][0] for look in exact["looks"]]
    return np.array([np.abs(v).max() for v in (error, run["slip"], run["gap"])])


FIXED = {"step": 1e-3, "output_step": 0.05, "stabilization": "projection"}


@pytest.mark.slow
def test_ellipse_in_bowl_for_a_minute() -> None:
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), 1.0, 0.02)
    bowl = tr.Ground(tr.Arc(1.0, [0.0, 1.0], "inside"))
    twin = planar.Rolling(curves.ellipse(0.25, 0.12), curves.arc(1.0, (0.0, 1.0), "inside"), 1.0, 0.02)
    pair = tr.RollingPair(body, bowl, friction=5.0, gravity=9.81, on_slip="ignore")
    run = tr.simulate(pair, pair.place(contact_x=0.3, angle=0.4), 60.0, **FIXED)
    # The oracle's bowl is a curve by its angle: find its parameter from the contact point.
    p = float(np.arcsin(0.3))
    phi, p = twin.find(p, 0.4)
    exact = twin.run(phi, p, 0.0, 60.0, times=run.time)
    error = run["body_position"][:, 0, 0] - [look["position"][0] for look in exact["looks"]]
    assert np.abs(error).max() <= 1e-8
    assert np.abs(run["slip"]).max() <= 1e-12
    assert np.abs(run["gap"]).max() <= 1e-12


@pytest.mark.slow
def test_ellipse_on_sinusoid_for_a_minute() -> None:
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), 1.0, 0.02)
    terrain = tr.Ground(tr.Sinusoid(*WAVE))
    twin = planar.Rolling(curves.ellipse(0.25, 0.12), curves.sinusoid(*WAVE), 1.0, 0.02)
    pair = tr.RollingPair(body, terrain, friction=5.0, gravity=9.81, on_slip="ignore", on_separation="ignore")
    x, slip, gap = follow(pair, twin, 0.3, 0.4, 60.0, **FIXED)
    assert (x <= 1e-8, slip <= 1e-12, gap <= 1e-12) == (True, True, True), (x, slip, gap)


@pytest.mark.slow
def test_rock_on_undulating_terrain_for_a_minute() -> None:
    body, ground = rock()
    twin = planar.Rolling(curves.rock(), curves.undulating(), 1.0, 0.045)
    pair = tr.RollingPair(body, ground, friction=5.0, gravity=9.81, on_slip="ignore", on_separation="ignore")
    x, slip, gap = follow(pair, twin, -0.6, 0.2, 60.0, **FIXED)
    assert (x <= 5e-5, slip <= 1e-12, gap <= 1e-12) == (True, True, True), (x, slip, gap)


@pytest.mark.parametrize("stop", ["separation", "slip"])
def test_planar_instants_to_1e8(stop: str) -> None:
    """Sheet 4, section 6: an ellipse that runs over the crest of a wave."""
    body = tr.RigidBody(tr.Ellipse([0.25, 0.12]), 1.0, 0.02)
    terrain = tr.Ground(tr.Sinusoid(*WAVE))
    spin = -14.0
    rules = {"on_slip": "ignore"} if stop == "separation" else {}
    pair = tr.RollingPair(body, terrain, friction=0.5, gravity=9.81, **rules)
    run = tr.simulate(pair, pair.place(contact_x=0.4, angle=0.1, angular_velocity=spin), 1.0, relative_tolerance=1e-12)
    twin = planar.Rolling(curves.ellipse(0.25, 0.12), curves.sinusoid(*WAVE), 1.0, 0.02)
    phi, p = twin.find(0.4, 0.1)
    exact = twin.run(phi, p, twin.speed(phi, p, spin), 1.0, stop=stop, mu=0.5)
    assert run.status is (Status.SEPARATED if stop == "separation" else Status.SLIPPED)
    assert run.time[-1] == pytest.approx(exact["event"], abs=1e-8)
    np.testing.assert_allclose(run["body_position"][-1, 0], exact["looks"][-1]["position"], atol=1e-8)


@pytest.mark.parametrize("form", ["none", "baumgarte", "projection"])
def test_stabilisation_cleans_residuals(form: str) -> None:
    body, ground = rock()
    pair = tr.RollingPair(body, ground, friction=5.0, gravity=9.81, on_slip="ignore", on_separation="ignore")
    run = tr.simulate(pair, pair.place(contact_x=-0.6, angle=0.2), 5.0, step=2e-3, stabilization=form)
    slip, gap = np.abs(run["slip"]).max(), np.abs(run["gap"]).max()
    bounds = {"none": (1e-3, 1e-3), "baumgarte": (1e-4, 1e-5), "projection": (1e-12, 1e-12)}[form]
    assert slip <= bounds[0]
    assert gap <= bounds[1]
    if form == "none":
        assert gap > 1e-12  # otherwise the other two show nothing

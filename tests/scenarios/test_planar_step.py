"""A controlled robot leaves the ground and lands: off a step, out of the air, on ground that it does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from bench.steps import Variant, ended
from trundle.scenarios import build, load_scenario
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment

STEP = Path(__file__).resolve().parents[2] / "examples" / "rover_step.toml"
FASTER = ["simulation.relative_tolerance=1e-7"]


def run_of(*sets: str, part: str = "") -> tr.Trajectory:
    scenario = load_scenario(STEP, [*FASTER, *sets])
    work = build(scenario.parts[part] if part else scenario)
    assert isinstance(work, TrackExperiment)
    (job,) = work.parts()
    return job.run(None)


def landings(run: tr.Trajectory) -> dict[str, tuple[float, float]]:
    """When each wheel left the ground, and when it was back (s)."""
    left, back = {}, {}
    for note in run.metadata["transitions"]:
        if note["reason"] == "the contact force reached zero":
            left[note["contact"]] = note["time"]
        if note["reason"] == "the gap closed":
            back[note["contact"]] = note["time"]
    assert left.keys() == back.keys()
    return {name: (left[name], back[name]) for name in left}


@pytest.mark.slow
@pytest.mark.parametrize("part", ["", "unaware"])
def test_wheels_leave_the_edge_fly_and_land_and_the_speed_recovers(part: str) -> None:
    run = run_of(part=part)
    assert run.status is tr.Status.SUCCESS
    flights = landings(run)
    names = [str(name) for name in run["contact"]]
    assert set(flights) == set(names) == {"rear-wheel", "front-wheel"}
    normal = run["contact_force"][..., 1]
    for name, (left, back) in flights.items():
        assert back - left > 0.1
        flying = (run.time > left) & (run.time < back)
        assert not np.any(run["contact_force"][flying, names.index(name)])
    assert normal[run.time > max(back for _, back in flights.values())].min() > 5.0
    assert run.metadata["control"]["statuses"] == {"success": 320}
    tasks = metrics_planar.recompute_tasks(run)
    late = run.time > max(back for _, back in flights.values()) + 0.6
    assert np.abs(tasks["speed"].error[late]).max() < 0.02 * 3.0
    assert np.abs(tasks["pitch"].error).max() < 0.03
    assert np.abs(tasks["rear-offset"].error).max() < 0.06
    # At the instant of an event the force of the mode that ends is recorded: there a cone is left.
    lasting = ~np.isin(run.time, [note["time"] for note in run.metadata["transitions"]])
    f_n, f_t = (force[lasting] for force in forces(run))
    assert np.all(np.abs(f_t) <= 0.8 * f_n * (1 + 1e-4) + 1e-9)


def forces(run: tr.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Normal and tangential forces (n, contacts): the normal leads from the contact to the wheel's centre."""
    bodies = [str(name) for name in run["body"]]
    wheels = [bodies.index(str(name)) for name in run["contact"]]
    n = (run["body_position"][:, wheels] - run["contact_position"]) / 0.12
    f = run["contact_force"]
    flying = ~np.any(f, axis=2)
    n[flying] = 0.0
    return np.sum(n * f, axis=2), n[..., 0] * f[..., 1] - n[..., 1] * f[..., 0]


def test_dropped_from_the_air_it_lands_on_all_wheels() -> None:
    sets = ["initial.contacts=[]", "initial.hold=[]", "initial.rates={}", "initial.positions.base=[0.0,0.7,0.05]"]
    sets += ['terrain.curve={type="line"}', "parts={}", "reference.speed.rate=0.5", "simulation.duration=0.8"]
    run = run_of(*sets)
    assert run.status is tr.Status.SUCCESS
    modes = [note["to"] for note in run.metadata["transitions"]]
    assert (modes[0], modes[-1]) == ("rolling", "rolling + rolling")
    assert len(modes) < 8  # it rattles from wheel to wheel before it rolls on both
    assert run.metadata["control"]["statuses"] == {"success": 160}
    tasks = metrics_planar.recompute_tasks(run)
    assert np.abs(tasks["speed"].error[-1]) < 0.03
    assert np.abs(tasks["pitch"].error[-1]) < 0.01


@pytest.mark.slow
def test_a_late_switch_costs_accuracy_and_no_more() -> None:
    prompt, late = run_of("parts={}"), run_of("parts={}", "noise.contact_delay=0.02")
    assert late.status is tr.Status.SUCCESS
    errors = [np.abs(metrics_planar.recompute_tasks(run)["pitch"].error).max() for run in (prompt, late)]
    assert errors[0] < errors[1] < 0.2


@pytest.mark.slow
def test_a_slow_rover_rolls_down_the_step_and_a_force_that_is_zero_for_an_instant_ends_nothing() -> None:
    slow = [
        'reference.speed={type="ramp", rate=1.2}',
        "initial.rates={base=[0.0, 1.2, 0.0]}",
        "simulation.duration=2.0",
    ]
    slow += [f'reference.{name}-spin={{type="ramp", rate=-10.0}}' for name in ("rear", "front")]
    run = run_of(*slow)
    assert run.status is tr.Status.SUCCESS
    tasks = metrics_planar.recompute_tasks(run)
    assert np.abs(tasks["speed"].error[run.time > 1.9]).max() < 0.03


@pytest.mark.slow
def test_up_a_sharp_measured_step_each_wheel_touches_twice_and_climbs() -> None:
    """4 cm within 2 cm, from a CSV file; no tick is lost, nothing overlaps, and nothing of the record is NaN."""
    status, run = ended(Variant(0.04, 0.02, 0.5))
    assert status == "success"
    assert set(run.metadata["control"]["statuses"]) == {"success"}
    closed = [note["contact"] for note in run.metadata["transitions"] if note["reason"] == "the gap closed"]
    assert "front-wheel-second" in closed
    touching = run["contact_force"].any(axis=2)
    assert np.abs(run["gap"][touching]).max() < 1e-6
    assert run["body_position"][-1, 0, 0] > 0.5

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import trundle as tr
from tests.measuring import compute, measured
from tests.scenarios.files import on_profile
from trundle.errors import InputError
from trundle.scenarios import build, load_scenario
from trundle.systems.planar.scenario import figures_control
from trundle.systems.planar.scenario import metrics as metrics_planar
from trundle.systems.planar.scenario.control import TrackExperiment

THREE_WHEELS = """
kind = "planar"
task = "track"

[[bodies]]
name = "base"
mass = 20.0
inertia = 1.2

[[bodies]]
name = "bogie"
parent = "base"
at = [0.4, -0.1]
mass = 2.0
inertia = 0.05
actuated = false

[[bodies]]
name = "front"
parent = "bogie"
at = [0.2, -0.1]
mass = 1.0
curve = { type = "circle", radius = 0.12 }

[[bodies]]
name = "middle"
parent = "bogie"
at = [-0.2, -0.1]
mass = 1.0
curve = { type = "circle", radius = 0.12 }

[[bodies]]
name = "rear"
parent = "base"
at = [-0.4, -0.2]
mass = 1.0
curve = { type = "circle", radius = 0.12 }

[terrain]
curve = { type = "spline", file = "profile.csv" }

[contact]
friction = 0.8
on_slip = "stop"

[initial]
positions = { base = [0.0, 0.33, 0.0] }
tolerance = 0.1

[controller]
torque_limit = 40.0
friction_share = 0.9
secondary = "tangential-forces"

[[controller.tasks]]
name = "speed"
type = "position"
body = "base"
kd = 6.0

[reference]
speed = { type = "ramp", rate = 0.6 }

[simulation]
duration = 0.5
relative_tolerance = 1e-9
"""
LEG = ["simulation.duration=0.4"]


def work_of(name: str, *sets: str, part: str = "") -> TrackExperiment:
    scenario = load_scenario(name, sets)
    work = build(scenario.parts[part] if part else scenario)
    assert isinstance(work, TrackExperiment)
    return work


def run_of(name: str, *sets: str, part: str = "") -> tr.Trajectory:
    (job,) = work_of(name, *sets, part=part).parts()
    return job.run(None)


def test_three_wheels_follow_a_speed_over_a_measured_profile(tmp_path: Path) -> None:
    result = tr.run(on_profile(tmp_path, THREE_WHEELS), out=tmp_path / "out", plots=False)
    assert result.status is tr.Status.SUCCESS
    assert result.summary["feasible"]
    run = tr.load_trajectory(tmp_path / "out" / "trajectory.nc")
    speed = metrics_planar.recompute_tasks(run)["speed"]
    np.testing.assert_allclose(speed.rate, 0.6 * (1 - np.exp(-6.0 * run.time)), atol=0.02)
    assert list(run["torque"][:, [str(j) for j in run["joint"]].index("bogie")]) == [0.0] * len(run)
    metrics = result.summary["metrics"]
    assert metrics["friction_use"]["value"] <= 1.0
    assert metrics["ticks_unsolved"]["value"] == 0
    assert 0 < metrics["tick_median"]["value"] <= metrics["tick_p99"]["value"] <= metrics["tick_max"]["value"]
    assert metrics["tick_median"]["unit"] == "s"
    assert metrics["speed_late_error"]["unit"] == "m/s"
    # The record keeps the points of a short measured curve: contacts are found again from them, not taken on trust.
    assert metrics["recomputed_share"]["value"] > 0.99
    assert metrics["gap"]["value"] < 1e-9
    for name, draw in figures_control.figures(run).items():
        draw(run, axes := Figure().add_subplot())
        assert len(axes.lines) >= 1, name
        assert run.metadata["scenario"] in axes.get_title("right")
    again = load_scenario(tmp_path / "out" / "scenario.toml")
    assert again.resolve()["controller"] == load_scenario(tmp_path / "tree.toml").resolve()["controller"]


def test_the_rover_holds_its_base_from_the_first_instants() -> None:
    run = run_of("rover-sinusoid", "simulation.duration=0.8")
    assert run.status is tr.Status.SUCCESS
    tasks = metrics_planar.recompute_tasks(run)
    bodies = [str(name) for name in run["body"]]
    base, wheel = bodies.index("base"), bodies.index("rear-wheel")
    np.testing.assert_array_equal(tasks["height"].value, run["body_position"][:, base, 1])
    offset = run["body_position"][:, wheel, 0] - run["body_position"][:, base, 0]
    np.testing.assert_allclose(tasks["rear-offset"].value, offset, atol=1e-15)
    drift = np.gradient(tasks["rear-offset"].value, run.time)
    np.testing.assert_allclose(tasks["rear-offset"].rate[1:-1], drift[1:-1], atol=5e-3)
    assert metrics_planar.settling_time(run, "speed") < 0.5
    assert np.abs(tasks["height"].error).max() < 1e-3
    assert np.abs(tasks["pitch"].error).max() < 3e-3
    units = {name: metric.unit for name, metric in measured("", run, {"other": run}).items()}
    assert units["height_late_error"] == units["rear-offset_late_error_other"] == "m"
    assert units["pitch_late_error"] == "rad"
    assert units["speed_late_error"] == "m/s"
    values = compute("", run)
    assert {name for name in values if name.endswith("_late_error")} == {f"{name}_late_error" for name in tasks}
    assert values["gap"] < 1e-12
    assert values["slip"] < 1e-12
    with pytest.raises(InputError, match="longer than 2 s"):
        compute("rover-sinusoid", run)


def test_without_a_cone_the_rock_follows_the_linear_response() -> None:
    run = run_of("rock-hill", "simulation.duration=0.6", part="no-cone-1khz")
    assert metrics_planar.ideal_deviation(run) < 8e-4
    name, value, response = metrics_planar.ideal_response(run)
    assert name == "x"
    assert value[0] == pytest.approx(response[0], abs=1e-12)
    assert [str(joint) for joint in run["joint"]] == ["rock"]
    assert np.abs(run["torque"]).max() > 1.0
    assert not run.feasible
    force, normal = run["contact_force"][:, 0], run["contact_normal"][:, 0]
    tangential = force[:, 0] * normal[:, 1] - force[:, 1] * normal[:, 0]
    assert np.abs(tangential / np.sum(force * normal, axis=1)).max() > 5.0  # the friction that the ground would need


@pytest.mark.parametrize(
    ("sets", "key"),
    [
        (['plant.terrain={type="parabola", curvature=100.0}'], "plant.terrain"),
        (["plant.curve_size={rear-wheel=4.0}"], "plant.curve_size"),
    ],
)
def test_a_plant_that_does_not_fit_its_ground_names_the_key_that_moved_it(sets: list[str], key: str) -> None:
    with pytest.raises(InputError) as caught:
        _ = work_of("rover-sinusoid", *sets).plant
    assert caught.value.key == key
    assert str(caught.value.value).startswith(("rear-wheel: ", "front-wheel: "))


def test_noise_delay_and_another_plant() -> None:
    sets = ["simulation.duration=1.0", "noise.angle=1e-3", "noise.angular_velocity=5e-3", "noise.velocity=1e-3"]
    sets += ["noise.delay=0.004", "plant.mass=1.1", "plant.inertia=0.9"]
    one, same, other = (run_of("leg-balance", *sets, f"seed={seed}") for seed in (1, 1, 2))
    np.testing.assert_array_equal(one["body_position"], same["body_position"])
    assert np.abs(one["body_position"] - other["body_position"]).max() > 1e-9
    assert one.status is tr.Status.SUCCESS
    tasks = metrics_planar.recompute_tasks(one)
    assert np.abs(tasks["ankle"].error).max() < 0.1
    assert np.abs(tasks["shin"].error[-1]) < 0.2 * np.abs(tasks["shin"].error[0])
    assert one.metadata["physics"]["masses"]["shin"] == pytest.approx(3.3)


@pytest.mark.parametrize(
    "sets",
    [
        ["contact.friction=0.02", 'contact.on_slip="ignore"'],
        ["contact.friction=0.02", 'contact.on_slip="slide"', "controller.friction_price=1.0"],
        ["controller.torque_limit=0.01", "controller.normal_force_min=60.0", 'contact.on_slip="ignore"'],
        ["controller.normal_force_min=100.0", 'controller.fallback="let-go"', 'controller.form="force"'],
        ["noise.angular_velocity=1e12"],
        ["contact.friction=50.0", "controller.normal_force_min=1000.0", "controller.torque_limit=5.0"],
    ],
)
def test_programs_without_a_solution_never_end_in_an_exception(sets: list[str]) -> None:
    without = [] if any("price" in text for text in sets) else ["controller.friction_price=1e-6"]
    run = run_of("leg-balance", *LEG, *sets, *without)
    statuses = run.metadata["control"]["statuses"]
    assert set(statuses) - {"success"} or "noise" in sets[0]  # huge wishes: a solution, with torques at their limits
    assert np.all(np.isfinite(run["torque"]))
    assert np.all(np.isfinite(run["body_position"]))
    loop = metrics_planar.loop(run)
    assert loop["ticks_relaxed"] + loop["ticks_unsolved"] == sum(statuses.values()) - statuses.get("success", 0)
    # A robot that is out of control most of the time has not succeeded, whatever its wheels did.
    assert run.status is not tr.Status.SUCCESS or 2 * loop["ticks_unsolved"] <= sum(statuses.values())


@pytest.mark.parametrize("secondary", ["damping", "torques", "tangential-forces", "equal-forces"])
def test_what_no_task_decides_leaves_the_tasks_alone(secondary: str) -> None:
    work = work_of("rover-sinusoid", f'controller.secondary="{secondary}"', "controller.torque_rate_limit=1e6")
    plain = work_of("rover-sinusoid")
    assert work.controller is not None
    assert plain.controller is not None
    reference = [value for one in work.signals for value in one.at(0.0)]
    touching = [law != "separated" for law in work.start.laws]
    command = work.controller(work.start.x, reference, np.zeros(6), touching)
    other = plain.controller(plain.start.x, reference, (), touching)
    assert command.status is tr.Status.SUCCESS
    np.testing.assert_allclose(command.nudot, other.nudot, atol=2e-4)


def test_a_lifted_wheel_has_no_force_in_the_program() -> None:
    work = work_of("rover-sinusoid-4legs")
    assert work.controller is not None
    touching = [law != "separated" for law in work.start.laws]
    command = work.controller(work.start.x, [v for one in work.signals for v in one.at(0.0)], (), touching)
    assert command.status is tr.Status.SUCCESS
    forces = command.lam.reshape(len(touching), 2)
    np.testing.assert_allclose(forces[~np.array(touching)], 0.0, atol=1e-9)
    assert forces[touching][:, 1].min() > 50.0


def test_uncontrolled_there_is_no_torque_and_the_leg_falls() -> None:
    run = run_of("leg-balance", "parts.uncontrolled.simulation.duration=0.5", part="uncontrolled")
    assert not np.any(run["torque"])
    assert metrics_planar.fall_time(run, "shin") < 0.5
    assert metrics_planar.loop(run) == {}
    assert set(figures_control.figures(run)) == {"task_errors", "joint_acceleration"}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("kd = 6.0", "kd = -6.0", "controller.tasks[0].kd = -6.0: must be a number from 0"),
        ("rate = 0.6", "rat = 0.6", "reference.speed.rat = 0.6: unknown key"),
        ('type = "ramp"', 'type = "rampe"', 'reference.speed.type = "rampe": must be one of'),
        ("speed = {", "spead = {", "reference.spead"),
        ('body = "base"', 'body = "bass"', 'controller.tasks[0].body = "bass": must be one of'),
        ('type = "position"', 'type = "joint"', 'controller.tasks[0].body = "base": must be a body with a parent'),
        ("torque_limit = 40.0", "torque_limits = { bogie = 1.0 }", "controller.torque_limits.bogie = 1.0: must belong"),
        ("torque_limit = 40.0", "period = 0.0", "controller.period = 0.0: must be a time"),
        ("[controller]", "[plant]\nmass = 0.0\n[controller]", "plant.mass = 0.0: must be a factor > 0"),
        ("mass = 2.0", "mass = 0.0", "bodies[1].mass = 0.0: must be a mass > 0"),
        ("[0.0, 0.33, 0.0]", "[0.0, 0.15, 0.0]", "initial.positions."),
    ],
)
def test_faults_name_the_key(tmp_path: Path, old: str, new: str, line: str) -> None:
    assert old in THREE_WHEELS
    with pytest.raises(InputError) as caught:
        build(load_scenario(on_profile(tmp_path, THREE_WHEELS.replace(old, new, 1))))
    assert line in str(caught.value)


def test_bodies_of_parts_and_sets_are_found_by_their_names() -> None:
    scenario = load_scenario("rover-sinusoid", ["bodies.base.mass=25.0"])
    wheels: dict[str, Any] = {b["name"]: b.get("curve") for b in scenario.parts["elliptic-wheels"].resolve()["bodies"]}
    assert wheels["rear-wheel"] == {"type": "ellipse", "semi_axes": [0.13, 0.11]}
    assert wheels["base"] is None
    for one in (scenario, scenario.parts["elliptic-wheels"]):
        assert {b["name"]: b["mass"] for b in one.resolve()["bodies"]}["base"] == 25.0
    with pytest.raises(InputError, match="hull"):
        load_scenario("rover-sinusoid", ["bodies.hull.mass=25.0"])


@pytest.mark.parametrize(
    ("sets", "status"),
    [
        (["controller.torque_limit=1.4"], tr.Status.SUCCESS),
        (["controller.torque_limit=1.0"], tr.Status.GOAL_NOT_REACHED),  # too weak: it stays where it began
        (["simulation.duration=1.0"], tr.Status.GOAL_NOT_REACHED),  # on its way
        (["simulation.duration=1.0", "controller.tasks.x.tolerance=1.2"], tr.Status.SUCCESS),
        (["controller.tasks.x.tolerance=0.01"], tr.Status.GOAL_NOT_REACHED),
        (["controller.torque_limit=1.0", 'reference.x={type="ramp", rate=0.0}'], tr.Status.SUCCESS),  # no goal
        (["controller.tasks.x.tolerance=0.01", 'reference.x={type="ramp", rate=0.0}'], tr.Status.GOAL_NOT_REACHED),
    ],
)
def test_a_run_succeeds_only_at_its_goals(sets: list[str], status: tr.Status) -> None:
    run = run_of("rock-hill", *sets)
    assert run.status is status
    assert ("the task x ends up to" in run.metadata.get("message", "")) == (status is not tr.Status.SUCCESS)
    off = np.abs(metrics_planar.recompute_tasks(run)["x"].error[run.time >= 0.9 * run.time[-1]]).max()
    wanted = run.metadata["control"]["tasks"][0].get("tolerance", np.inf)
    assert (off <= wanted) == (status is tr.Status.SUCCESS)


def test_a_reference_from_a_csv_file_is_followed(tmp_path: Path) -> None:
    t = np.linspace(0.0, 4.0, 41)
    np.savetxt(tmp_path / "pitch.csv", np.stack([t, 0.1 * np.sin(1.5 * t)], axis=1), delimiter=",", header="time,value")
    text = (Path(metrics_planar.__file__).parent / "rover-sinusoid.toml").read_text()
    (tmp_path / "rover.toml").write_text(text.split("[acceptance]")[0])
    sets = ["simulation.duration=2.0", 'reference.pitch={type="samples", file="pitch.csv"}']
    run = run_of(str(tmp_path / "rover.toml"), *sets)
    task = metrics_planar.recompute_tasks(run)["pitch"]
    np.testing.assert_allclose(task.wanted, 0.1 * np.sin(1.5 * run.time), atol=1e-5)
    assert np.abs(task.error[run.time > 1.0]).max() < 4e-3
    assert run.status is tr.Status.SUCCESS
    written = tr.run(load_scenario(str(tmp_path / "rover.toml"), sets), out=tmp_path / "out", plots=False)
    assert (written.directory / "scenario.toml").exists()
    again = load_scenario(str(tmp_path / "out" / "scenario.toml"))
    assert work_of(again.file).signals == work_of(str(tmp_path / "rover.toml"), *sets).signals
    for content, fault in (("0.0,1.0\n", "at least 2 rows"), ("0,1\n0,2\n", "increasing"), ("0,1\n1,nan\n", "finite")):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(InputError) as caught:
            work_of(str(tmp_path / "rover.toml"), 'reference.pitch={type="samples", file="bad.csv"}')
        assert "reference.pitch.file" in str(caught.value)
        assert fault in str(caught.value)
    for name in ("../pitch.csv", "none.csv"):
        with pytest.raises(InputError, match=r"reference\.pitch\.file"):
            work_of(str(tmp_path / "rover.toml"), f'reference.pitch={{type="samples", file="{name}"}}')

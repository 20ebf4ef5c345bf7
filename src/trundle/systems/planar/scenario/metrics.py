"""Metrics of robots in the plane: task errors, recomputed from poses and velocities, and times of controller calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trundle.contact.laws import SEPARATED
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_plane
from trundle.records import Trajectory
from trundle.report import Metric, MetricGroup, Quantity, RunSet, general, measure
from trundle.report.metrics import QUANTITIES as GENERAL
from trundle.report.metrics import energy, physics, relative_drift
from trundle.report.runs import Runs
from trundle.status import Status
from trundle.systems.planar.scenario import estimates
from trundle.systems.planar.scenario.metrics_walker import WALKER
from trundle.systems.planar.signals import SecondOrder, signal

Array = NDArray[np.float64]

LATE = "_late_error"
"""End of the name of a task's largest error over the second half of a run, in the task's unit."""
END = 0.1
"""Share of a run's time at its end in which tasks have to be within their tolerance."""
SETTLED = 0.02
"""Share of a reference within which a task counts as settled."""
STEADY, BALANCED = 2.0, 5.0
"""Times (s) after which a rover and a leg have to be at their references."""
FALLEN = np.pi / 3
"""Angle (rad) from the vertical at which a leg has fallen."""


@dataclass(frozen=True)
class TrackedTask:
    """A task over time: its value and rate with their references, (n,) each, in the task's unit and unit per second.

    ``follows`` says whether the value is fed back; otherwise the rate alone. ``served`` (n,) says when the task is
    active, see `active` of [[controller.tasks]].
    """

    value: Array
    rate: Array
    wanted: Array
    wanted_rate: Array
    follows: bool
    unit: str
    served: NDArray[np.bool_]

    @property
    def error(self) -> Array:
        """Value minus reference (n,), or rate minus its reference where only the rate is followed."""
        return self.value - self.wanted if self.follows else self.rate - self.wanted_rate


def is_controlled(run: Trajectory) -> bool:
    """Return whether a run is one of task `track`."""
    return "control" in run.metadata


def recompute_tasks(run: Trajectory) -> dict[str, TrackedTask]:
    """Return the tasks of a run by name, recomputed from the poses and velocities of the bodies.

    Raises
    ------
    InputError
        If the run had no tasks.
    """
    if not is_controlled(run):
        raise InputError("metadata.control", None, "given, for this metric")
    return {str(task["name"]): _recompute_task(run, task) for task in run.metadata["control"]["tasks"]}


def _recompute_task(run: Trajectory, task: Mapping[str, Any]) -> TrackedTask:
    value, rate = _measure_quantity(run, task, str(task["body"]), task["arm"])
    if task.get("relative_to"):
        other = _measure_quantity(run, task, str(task["relative_to"]), task["relative_arm"])
        value, rate = value - other[0], rate - other[1]
    wanted, wanted_rate, _ = signal(task["reference"]).at(run.time)
    slides = task["type"] == "joint" and str(task["body"]) in run.metadata["control"].get("slides", ())
    unit = "m" if task["type"] == "position" or slides else "rad"
    return TrackedTask(value, rate, wanted, wanted_rate, float(task["kp"]) > 0, unit, _active_samples(run, task))


def missed_goals(run: Trajectory) -> str:
    """Return which tasks are off by more than their tolerance in the last tenth of a run, and by how much; else ''."""
    last = run.time >= run.time[-1] - END * (run.time[-1] - run.time[0])
    missed = []
    for entry, (name, task) in zip(run.metadata["control"]["tasks"], recompute_tasks(run).items(), strict=True):
        error = np.abs(task.error[last & task.served])
        if error.size and "tolerance" in entry and not np.max(error) <= float(entry["tolerance"]):
            unit = task.unit if task.follows else f"{task.unit}/s"
            most = f"more than {float(entry['tolerance']):g} {unit}"
            missed.append(f"the task {name} ends up to {np.max(error):.3g} {unit} off, {most}")
    return "; ".join(missed)


def _active_samples(run: Trajectory, task: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return when (n,) a task is active, which depends on whether the bodies in its `contacts` touch the terrain."""
    active = task.get("active", "always")
    if active == "always":
        return np.ones(len(run), dtype=bool)
    body_of, bodies = run.metadata["contacts"], task.get("contacts")
    slots = [k for k, name in enumerate(run["contact"]) if bodies is None or body_of[str(name)] in bodies]
    touching = np.any(run["mode"][:, slots] != SEPARATED.name, axis=1)
    return touching if active == "touching" else ~touching


def _measure_quantity(run: Trajectory, task: Mapping[str, Any], body: str, arm: Sequence[float]) -> tuple[Array, Array]:
    """Return value and rate (n,) of a body's quantity; `arm` (2,) m from its centre of mass, body axes."""
    if task["type"] == "joint":
        j = [str(name) for name in run["joint"]].index(body)
        return run["joint_position"][:, j], run["joint_velocity"][:, j]
    k = [str(name) for name in run["body"]].index(body)
    angle, w = run["body_angle"][:, k], run["body_angular_velocity"][:, k]
    if task["type"] == "angle":
        return angle, w
    axis = "xz".index(str(task["axis"]))
    lever = rotation_plane(angle) @ np.asarray(arm)
    around = w[:, None] * np.stack([-lever[:, 1], lever[:, 0]], axis=1)
    return (run["body_position"][:, k] + lever)[:, axis], (run["body_velocity"][:, k] + around)[:, axis]


def loop(run: Trajectory) -> dict[str, float]:
    """Return measured times (s) of controller calls, how many missed the period, relaxed limits, failed or met slip."""
    statuses = run.metadata["control"]["statuses"]
    if not statuses:
        return {}
    times = run.metadata.get("policy", {})
    values = {f"tick_{key}": float(times[key]) for key in ("median", "p99", "max") if times}
    values["ticks_missed"] = float(times.get("missed", 0))
    values["ticks_relaxed"] = float(statuses.get(Status.LIMITS_RELAXED.label, 0))
    if "slip" in run.metadata["control"]:
        slip = run.metadata["control"]["slip"]
        values |= {"ticks_slipping": float(slip["ticks"]), "friction_estimate": min(slip["friction"].values())}
    solved = (Status.SUCCESS.label, Status.LIMITS_RELAXED.label)
    values["ticks_unsolved"] = float(sum(count for label, count in statuses.items() if label not in solved))
    return values


def tracking(run: Trajectory) -> dict[str, float]:
    """Return the largest error of each task over the second half of a run, in the task's unit, and `loop`.

    Samples at which a task is not active do not count; a task that is not active in this half has no error.
    """
    late = run.time >= (run.time[0] + run.time[-1]) / 2
    errors = {name: np.abs(task.error[late & task.served]) for name, task in recompute_tasks(run).items()}
    return {f"{name}{LATE}": float(np.max(error)) for name, error in errors.items() if error.size} | loop(run)


def rock_hill(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Distance of the runs without a cone from the linear response x'' = kp (goal - x) - kd x' (paper 4, (17))."""
    names = {"ideal_deviation_free": "no-cone", "ideal_deviation_free_1khz": "no-cone-1khz"}
    values = {key: ideal_deviation(parts[part]) for key, part in names.items() if part in parts}
    return values | {"ideal_deviation": ideal_deviation(run)}


def ideal_deviation(run: Trajectory) -> float:
    """Return the largest distance (m) of the first task's value from its linear response, from the same start."""
    _, value, wanted = ideal_response(run)
    return float(np.max(np.abs(value - wanted)))


def ideal_response(run: Trajectory) -> tuple[str, Array, Array]:
    """Return the first task's name, its value (n,) and the linear response (n,) of its gains to a constant goal."""
    task = run.metadata["control"]["tasks"][0]
    one = _recompute_task(run, task)
    response = SecondOrder(
        start=float(one.value[0]),
        goal=float(one.wanted[0]),
        kp=float(task["kp"]),
        kd=float(task["kd"]),
        start_rate=float(one.rate[0]),
    )
    return str(task["name"]), one.value, response.at(run.time - run.time[0])[0]


def leg_balance(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Errors of shin and ankle once balanced, and when the leg falls without its controller."""
    values = {f"{name}_error": _late(run, name, BALANCED) for name in ("shin", "ankle")}
    if "uncontrolled" in parts:
        values["uncontrolled_fall_time"] = fall_time(parts["uncontrolled"], "shin")
    return values


def fall_time(run: Trajectory, body: str) -> float:
    """Return when a body is first more than 60 degrees from the vertical, s; else the end of a failed run, or inf."""
    k = [str(name) for name in run["body"]].index(body)
    down = np.abs(run["body_angle"][:, k]) > FALLEN
    if np.any(down):
        return float(run.time[np.argmax(down)])
    return float("inf") if run.status is Status.SUCCESS else float(run.time[-1])


def rover_sinusoid(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Settling of the speed to 2 percent."""
    return {"settling_time": settling_time(run, "speed")}


def rover_4legs(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Return the largest errors of speed, height and pitch after 2 s."""
    names = {"velocity_error": "speed", "height_error": "height", "pitch_error": "pitch"}
    return {key: _late(run, task, STEADY) for key, task in names.items()}


def settling_time(run: Trajectory, name: str) -> float:
    """Return from when on a task's error stays within 2 percent of its reference, s; inf if it does not at the end."""
    task = recompute_tasks(run)[name]
    outside = np.abs(task.error) > SETTLED * np.abs(task.wanted if task.follows else task.wanted_rate)
    if not np.any(outside):
        return 0.0
    last = int(np.flatnonzero(outside)[-1])
    return float(run.time[last + 1]) if last + 1 < len(run) else float("inf")


def _late(run: Trajectory, name: str, after: float) -> float:
    """Return the largest error of a task from the time `after` (s) on; the run has to be longer than that."""
    late = run.time >= after
    tasks = recompute_tasks(run)
    if name not in tasks:
        raise InputError("controller.tasks", sorted(tasks), f"with a task {name!r}, for this metric")
    if not np.any(late):
        raise InputError("simulation.duration", float(run.time[-1]), f"longer than {after:g} s, for this metric")
    return float(np.max(np.abs(tasks[name].error[late])))


def rock_undulating(run: Trajectory, parts: Runs) -> dict[str, float]:
    """Energy drift relative to m g 0.2 m."""
    kinetic, potential = energy(run)
    known = physics(run)
    weight = float(known["mass"]) * float(np.linalg.norm(known["gravity"]))
    return {"energy_drift": relative_drift(kinetic + potential, weight * 0.2)}


_RATES = {
    "velocity_error": Quantity("m/s", "largest error of the task `speed` after 2 s"),
    "height_error": Quantity("m", "largest error of the task `height` after 2 s"),
    "pitch_error": Quantity("rad", "largest error of the task `pitch` after 2 s"),
}
QUANTITIES = {
    **GENERAL,
    **estimates.QUANTITIES,
    "tick": Quantity("s", "time of a controller's call"),
    "ticks": Quantity("1", "controller calls that missed their period, relaxed limits, had no solution, or met slip"),
    "friction_estimate": Quantity("1", "lowest coefficient of friction that the controller believes in at the end"),
}
GROUPS = (
    MetricGroup(
        {"energy_drift": Quantity("1", "largest change of the energy over m g 0.2 m")},
        rock_undulating,
        applies=lambda run, parts: "mass" in run.metadata.get("physics", {}),
    ),
    MetricGroup(
        {
            "ideal_deviation": Quantity("m", "largest |x - ideal linear response|"),
            "ideal_deviation_free": Quantity("m", "the same, part no-cone, 100 Hz"),
            "ideal_deviation_free_1khz": Quantity("m", "the same, part no-cone-1khz"),
        },
        rock_hill,
    ),
    MetricGroup(
        {
            "shin_error": Quantity("rad", "largest error of the task `shin` after 5 s"),
            "ankle_error": Quantity("m", "largest error of the task `ankle` after 5 s"),
            "uncontrolled_fall_time": Quantity("s", "time until the shin has fallen in the part `uncontrolled`"),
        },
        leg_balance,
    ),
    MetricGroup({"settling_time": Quantity("s", "of the task `speed`, to 2 %")}, rover_sinusoid),
    MetricGroup(_RATES, rover_4legs),
    WALKER,
)


def metrics(runs: RunSet) -> Mapping[str, Metric]:
    """Return the metrics of a run of kind `planar`."""
    return measure(runs, GROUPS, _of_run, QUANTITIES | _tasks(runs))


def _of_run(run: Trajectory) -> dict[str, float]:
    return general(run) | (tracking(run) | estimates.metrics(run) if is_controlled(run) else {})


def _tasks(runs: RunSet) -> dict[str, Quantity]:
    """Return the quantities ``<task>_late_error``: m or rad where a task follows a value, over s where a rate alone."""
    found: dict[str, Quantity] = {}
    for part, run in runs.all.items():
        suffix = f"_{part.replace('-', '_')}" if part else ""
        for name, task in (recompute_tasks(run) if is_controlled(run) else {}).items():
            unit = task.unit if task.follows else f"{task.unit}/s"
            found[f"{name}{LATE}{suffix}"] = Quantity(unit, "largest error of the task over the second half of the run")
    return found

"""Builder of kind `walking`, task `estimate`: ground forces and joint torques of a measured walk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.status import Status
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.tracking import Tracking, mean_between
from trundle.systems.walking.robots.avatar import Avatar
from trundle.systems.walking.scenario.measured.gait_data import read_gait
from trundle.systems.walking.scenario.measured.measured_cycle import MeasuredCycle, measured_cycle, scaled_avatar
from trundle.systems.walking.scenario.measured.schema_estimate import WalkingEstimate

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.systems.walking.gait.walking import Walking
    from trundle.systems.walking.plan.plan import WalkPlan

LEG = ("hip_pitch", "knee", "ankle_pitch")


def build(scenario: Scenario) -> MeasuredWalk:
    """Return the experiment of a scenario of task `estimate`."""
    tables = scenario.read(WalkingEstimate)
    table, subject = tables.data, tables.subject
    names = {what: name for what, name in table.markers.model_dump().items() if name is not None}
    paths = {
        key: scenario.data_path(f"data.{key}", name) for key in ("file", "forces") if (name := getattr(table, key))
    }
    with error_context("data", scenario, {"DATA": "data.file", "FORCES": "data.forces"}):
        data = read_gait(
            paths["file"],
            ankle=names["ankle"],
            knee=names["knee"],
            plate=table.plate,
            hip=names["hip"],
            further=[names[what] for what in names if what not in ("ankle", "knee", "hip")],
            forces=paths.get("forces"),
            forward=table.forward,
            up=table.up,
        )
        cycle = measured_cycle(data, names, table.threshold)
        avatar, scales = scaled_avatar(data, names, cycle, subject.sex, subject.mass, subject.height)
    if tables.foot is not None:
        sole = shape_of(scenario, tables.foot.shape, "foot.shape")
        with error_context("foot", scenario):
            avatar = avatar.on_foot(sole, tables.foot.center)
    with error_context("tracking", scenario):
        tracking = cycle.tracking(9.81 * avatar.robot.mass, **tables.tracking.values(Tracking))
        single, double = tracking.durations
        gait = Gait(
            speed=tables.tracking.speed or cycle.speed,
            single=(single, single),
            double=(double, double),
            landing=None,
            clearance=0.0,
            **tables.tracking.values(Gait),
            **tables.plan.values(),
        )
        gait.check(avatar)
    return MeasuredWalk(scenario, avatar, gait, tracking, cycle, scales)


@dataclass(frozen=True)
class MeasuredWalk:
    """A measured walk whose forces and torques are to be estimated.

    Attributes
    ----------
    scenario, avatar, gait, tracking : as given
    cycle : MeasuredCycle
    scales : mapping of str to float
        Segments over those of an avatar of the same stature.
    """

    scenario: Scenario
    avatar: Avatar
    gait: Gait
    tracking: Tracking
    cycle: MeasuredCycle
    scales: Mapping[str, float]

    def parts(self) -> Iterator[Part]:
        """Yield the estimate, then the one whose plate is left out."""
        twice = self.scenario.read(WalkingEstimate).tracking.leave_out
        yield Part("", lambda share: self._estimate(self.tracking, share), "solve", int(twice))
        if twice:
            yield Part("left-out", lambda share: self._estimate(replace(self.tracking, plate=False), share), "solve")

    def _estimate(self, tracking: Tracking, share: PartProgress | None) -> Trajectory:
        from trundle.systems.walking.gait.walking import Walking
        from trundle.systems.walking.plan.measured import deviations, residuals
        from trundle.systems.walking.plan.record import record_walk
        from trundle.systems.walking.plan.walking import plan_walk, transcribe

        table = self.scenario.read(WalkingEstimate).plan
        walking = Walking(self.avatar, self.gait, tracking)
        made = transcribe(walking)
        plan = plan_walk(
            self.gait,
            max_iterations=table.max_iterations,
            walking=walking,
            made=made,
            progress=(lambda it: share(it.share)) if share else None,
        )
        found: dict[str, object] = {
            "period": self.cycle.period,
            "swing": self.cycle.swing,
            "speed": self.gait.speed,
            "contacts": self.cycle.contacts,
            "swings": self.cycle.swings,
            "missing_rows": self.cycle.missing,
            "scales": dict(self.scales),
            "plate": tracking.plate,
            "force_sigma": tracking.force_sigma,
            "residuals": self._rms(walking, residuals(walking, plan)),
        }
        if plan.status is Status.SUCCESS:
            found |= self._cycle(plan, deviations(walking, plan, made))
        run = record_walk(walking, plan, table.steps)
        return replace(run, metadata=dict(run.metadata) | {"estimate": found})

    def _rms(self, walking: Walking, off: FloatArray) -> dict[str, float]:
        """Return the root mean square of each marker's residuals, m."""
        found: dict[str, float] = {}
        for name, (link, *_) in self.tracking.places.items():
            columns = [i for i, (_, what, _) in enumerate(walking.tracked.names) if what == name]
            sigma = self.tracking.foot_sigma if link == "foot" else self.tracking.marker_sigma
            found[name] = sigma * float(np.sqrt(2 * np.mean(off[:, columns] ** 2)))
        return found

    def _cycle(self, plan: WalkPlan, deviation: tuple[FloatArray, FloatArray]) -> dict[str, object]:
        """Return estimates, their deviations and the measured forces of the measured leg's cycle, from its lift-off.

        Forces (2N, 2) are forward and up, N; torques (2N, 3) of hip, knee and ankle, N m; at `times` (2N,), s.
        """
        columns = [[plan.joints.index(f"{side}_{name}") for name in LEG] for side in ("right", "left")]
        middle = (plan.times[1:] + plan.times[:-1]) / 2
        edges = np.append(plan.times, plan.times[1:] + plan.times[-1]) / self.cycle.period
        of_force, of_torque = deviation
        return {
            "times": np.append(middle, middle + plan.times[-1]).tolist(),
            "force": np.vstack([plan.force[:, i][:, [0, 2]] for i in (1, 0)]).tolist(),
            "force_deviation": np.vstack([of_force[:, i][:, [0, 2]] for i in (1, 0)]).tolist(),
            "force_measured": mean_between(self.cycle.forces[:, :2], edges).tolist(),
            "torque": np.vstack([plan.torque[:, each] for each in columns]).tolist(),
            "torque_deviation": np.vstack([of_torque[:, each] for each in columns]).tolist(),
        }

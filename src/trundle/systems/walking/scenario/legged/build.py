"""Builder of kind `walking`, task `walk`, of a robot from a URDF: its optimal steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import radians
from typing import TYPE_CHECKING

from trundle.models.rigid_body import Hand
from trundle.models.urdf.visuals import with_visuals
from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.faults import guard_policy
from trundle.scenarios.robots import description_of
from trundle.scenarios.scenario import Scenario
from trundle.status import Status
from trundle.systems.walking.gait.ground import SmoothGround
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.systems.walking.scenario.legged.schema import LeggedTable
from trundle.systems.walking.scenario.robot import foot_of, surface_on
from trundle.systems.walking.scenario.schema import WalkingWalk

if TYPE_CHECKING:
    from trundle.records import Policy, Trajectory
    from trundle.systems.walking.plan.robot_steps import RobotWalk


def build(scenario: Scenario, table: LeggedTable) -> PlannedSteps:
    """Return the experiment of a scenario of task `walk` with a table [robot]."""
    tables = scenario.read(WalkingWalk)
    described = description_of(scenario, table, "robot")
    feet = {name: foot_of(scenario, name, foot) for name, foot in tables.feet.items()}
    renamed = {"urdf": "robot", "posture": "robot.posture", "free": "robot.free"}
    with error_context("robot", scenario, renamed | {f"feet.{name}.frame": f"feet.{name}.frame" for name in feet}):
        robot = LeggedRobot(described, feet, table.posture, table.free, table.heading)
    given = tables.gait.values() | {"slope": radians(tables.gait.slope), "swings": tables.gait.swings}
    with error_context("gait", scenario):
        gait = RobotGait(**given, intervals=tables.plan.intervals)
        gait.groups(robot.partners, robot.left)
    with error_context("ground", scenario, {"ground.shape": "ground.shape"}):
        at = tables.ground
        ground = None if at is None else Hand(surface_on(scenario, at), at.position, at.rpy)
        if ground is not None:
            SmoothGround(ground)
    return PlannedSteps(scenario, robot, gait, ground)


@dataclass(frozen=True)
class PlannedSteps:
    """Steps of a robot to plan.

    Attributes
    ----------
    scenario, robot, gait, ground : as given
    found : dict
        The plan, under ``plan``, once its part was run.
    """

    scenario: Scenario
    robot: LeggedRobot
    gait: RobotGait
    ground: Hand | None = None
    found: dict[str, RobotWalk] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        """Yield the plan, then its replay in the simulator, if [replay] asks for one and the plan succeeded."""
        steps = self.scenario.read(WalkingWalk).replay.steps
        yield Part("", self.plan, "solve", int(steps > 0))
        walk = self.found.get("plan")
        if steps and walk is not None and walk.plan.status is Status.SUCCESS:
            yield Part("replay", self.replay)

    def replay(self, share: PartProgress | None) -> Trajectory:
        """Return the plan's replay."""
        from trundle.systems.walking.plan.robot_steps import on_contacts
        from trundle.systems.walking.replay.walk_replay import replay_walk
        from trundle.systems.walking.scenario.record import label_replay

        table, walk = self.scenario.read(WalkingWalk).replay, self.found["plan"]
        run = replay_walk(walk.robot, on_contacts(walk), table.steps, period=table.period, around=self._around)
        return self._add_shapes(label_replay(run, table.steps))

    def plan(self, share: PartProgress | None) -> Trajectory:
        """Return the record of the optimal steps."""
        from trundle.systems.walking.plan.robot_steps import plan_steps, record_robot

        table = self.scenario.read(WalkingWalk).plan
        with error_context("robot", self.scenario):
            walk = plan_steps(
                self.robot,
                self.gait,
                ground=self.ground,
                max_iterations=table.max_iterations,
                perturbation=table.perturbation,
                seed=self.scenario.seed,
                progress=(lambda it: share(it.share)) if share else None,
            )
        self.found["plan"] = walk
        run = self._add_shapes(record_robot(walk, 1 if walk.plan.once else table.steps))
        count = self.scenario.read(WalkingWalk).replay.mujoco
        if not count or walk.plan.status is not Status.SUCCESS:
            return run
        told = {"steps": run.metadata["steps"] | {"mujoco": self._in_mujoco(walk, count)}}
        return replace(run, metadata=dict(run.metadata) | told)

    def _add_shapes(self, run: Trajectory) -> Trajectory:
        """Return the run with the shapes of the robot's description; meshes of others are not copied into it."""
        own = getattr(self.scenario.read(WalkingWalk).robot, "urdf", None) is not None
        return with_visuals(run, self.robot.urdf, own, self.robot.tree)

    @property
    def _around(self) -> Callable[[Policy, int], Policy]:
        return partial(guard_policy, tables=self.scenario.read(WalkingWalk), seed=self.scenario.seed)

    def _in_mujoco(self, walk: RobotWalk, count: int) -> dict[str, object]:
        """Return how a replay in MuJoCo went: steps walked, and why it ended before its time."""
        from trundle.systems.walking.plan.robot_steps import on_contacts
        from trundle.systems.walking.replay.walk_replay import replay_in_mujoco

        gravity, friction = walk.steps.gravity, walk.steps.gait.friction
        found = replay_in_mujoco(
            self.robot, on_contacts(walk), count, gravity=gravity, friction=friction, around=self._around
        )
        return {"steps": found.steps, "asked": count, "reason": found.run.reason}

"""Builder of kind `walking`, task `walk`: the optimal walk of the avatar, or of a robot from a URDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from math import radians
from typing import TYPE_CHECKING

from trundle.scenarios.engine.building import Part, PartProgress, error_context
from trundle.scenarios.faults import guard_policy
from trundle.scenarios.scenario import Scenario
from trundle.scenarios.shapes import shape_of
from trundle.status import Status
from trundle.systems.walking.gait.gait import TORQUES, Gait
from trundle.systems.walking.robots.avatar import Avatar, build_avatar
from trundle.systems.walking.robots.avatar_feet import Toes
from trundle.systems.walking.scenario.legged.build import PlannedSteps
from trundle.systems.walking.scenario.legged.build import build as build_steps
from trundle.systems.walking.scenario.schema import WalkingWalk

if TYPE_CHECKING:
    from trundle.records import Trajectory
    from trundle.systems.walking.plan.plan import WalkPlan


def build(scenario: Scenario) -> PlannedWalk | PlannedSteps:
    """Return the experiment of a scenario of task `walk`."""
    tables = scenario.read(WalkingWalk)
    if tables.robot is not None:
        return build_steps(scenario, tables.robot)
    with error_context("avatar", scenario):
        avatar = build_avatar(tables.avatar.sex, tables.avatar.mass, tables.avatar.height)
    for key, table in (("foot", tables.foot), ("right_foot", tables.right_foot)):
        if table is not None:
            sole = shape_of(scenario, table.shape, f"{key}.shape")
            with error_context(key, scenario):
                avatar = avatar.on_foot(sole, table.center, right=key == "right_foot")
    if tables.foot is not None and tables.foot.toe is not None:
        toe = tables.foot.toe
        sole = shape_of(scenario, toe.shape, "foot.toe.shape")
        with error_context("foot.toe", scenario, {"sole": "foot.toe.shape"}):
            avatar = avatar.with_toes(Toes(sole, **toe.values()))
    given = (tables.avatar, tables.walk, tables.phases, tables.cost, tables.limits, tables.plan)
    with error_context("walk", scenario, {"stretch": "avatar.stretch"}):
        gait = Gait(
            slope=radians(tables.walk.slope),
            torques={**TORQUES, **tables.cost.torques},
            **{name: value for table in given for name, value in table.values().items()},
        )
    renamed = {"ranges": "limits.joints", "periodicity": "phases.periodicity", "sole": "foot.shape", "toes": "foot.toe"}
    with error_context("walk", scenario, renamed):
        gait.check(avatar)
    guess = None
    if tables.plan.warm_from is not None:
        from trundle.records import load_trajectory
        from trundle.systems.walking.plan.record import walk_of

        with error_context("plan.warm_from", scenario, {"path": "plan.warm_from"}):
            guess = walk_of(load_trajectory(scenario.data_path("plan.warm_from", tables.plan.warm_from)))
    return PlannedWalk(scenario, avatar, gait, guess)


@dataclass(frozen=True)
class PlannedWalk:
    """A walk to plan.

    Attributes
    ----------
    scenario, avatar, gait : as given
    guess : WalkPlan, optional
        Initial guess of the optimisation.
    found : dict
        The plan, under ``plan``, once its part was run.
    """

    scenario: Scenario
    avatar: Avatar
    gait: Gait
    guess: WalkPlan | None = None
    found: dict[str, WalkPlan] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        """Yield the plan, then its replay in the simulator, if [replay] asks for one and the plan succeeded."""
        table = self.scenario.read(WalkingWalk).replay
        yield Part("", self.plan, "solve", int(table.steps > 0))
        plan = self.found.get("plan")
        if table.steps and plan is not None and plan.status is Status.SUCCESS and self.gait.sole == "rolling":
            yield Part("replay", self.replay)

    def replay(self, share: PartProgress | None) -> Trajectory:
        """Return the plan's replay."""
        from trundle.systems.walking.replay.walk_replay import replay_walk, walking_robot
        from trundle.systems.walking.scenario.record import label_replay

        table = self.scenario.read(WalkingWalk).replay
        plan = self.found["plan"]
        avatar = self.avatar if self.gait.stretch is None else self.avatar.stretch_sole(plan.stretch)
        robot = walking_robot(avatar, plan.gravity, self.gait.friction)
        around = partial(guard_policy, tables=self.scenario.read(WalkingWalk), seed=self.scenario.seed)
        run = replay_walk(robot, plan, table.steps, period=table.period, around=around)
        return label_replay(run, table.steps)

    def plan(self, share: PartProgress | None) -> Trajectory:
        """Return the record of the optimal walk."""
        from trundle.systems.walking.gait.walking import Walking
        from trundle.systems.walking.plan.record import record_walk
        from trundle.systems.walking.plan.walking import plan_walk

        table = self.scenario.read(WalkingWalk).plan
        walking = Walking(self.avatar, self.gait)
        plan = plan_walk(
            self.gait,
            self.avatar,
            self.guess,
            max_iterations=table.max_iterations,
            perturbation=table.perturbation,
            seed=self.scenario.seed,
            walking=walking,
            progress=(lambda it: share(it.share)) if share else None,
        )
        self.found["plan"] = plan
        return record_walk(walking, plan, table.steps)

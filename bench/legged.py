"""Walks of robots from a URDF, each from the built-in guess: CPU time of planning, steps here and in MuJoCo.

    python -m bench.legged [NAME ...] [--mujoco-only]

Feet are suggested from the collision geometry, as `trundle walk` does; four-legged ones trot.
"""

from __future__ import annotations

import sys
import time

from trundle.contact.patch import FlatPatch
from trundle.errors import TrundleError
from trundle.models.feet import Foot
from trundle.models.urdf.examples import load_example_robot
from trundle.systems.walking.gait.robot_gait import RobotGait
from trundle.systems.walking.plan.robot_steps import RobotWalk, on_contacts, plan_steps
from trundle.systems.walking.replay.walk_replay import replay_in_mujoco, replay_walk
from trundle.systems.walking.robots.legged import LeggedRobot
from trundle.systems.walking.robots.soles import suggest_feet

ROBOTS = {
    "talos_reduced": "left_sole_link right_sole_link",
    "romeo_small": "l_sole r_sole",
    "g1_29dof_rev_1_0": "left_ankle_roll_link right_ankle_roll_link",
    "icub_reduced": "l_sole r_sole",
    "bolt": "FL_FOOT FR_FOOT",
    "solo12": "FL_FOOT FR_FOOT HL_FOOT HR_FOOT",
    "a1": "FL_foot FR_foot RL_foot RR_foot",
    "hyq_no_sensors": "lf_foot rf_foot lh_foot rh_foot",
    "anymal_b_simple/anymal": "LF_FOOT RF_FOOT LH_FOOT RH_FOOT",
}
FEET = {"icub_reduced": {link: Foot(FlatPatch.rectangle(0.15, 0.07), link) for link in ("l_sole", "r_sole")}}
"""Where collision meshes do not show the sole."""
STEPS = 6


def replayed(walk: RobotWalk, mujoco: bool) -> str:
    """Return the steps walked, and the largest deviation of the base, or why not."""
    steps, plan = walk.steps, on_contacts(walk)
    try:
        if mujoco:
            trial = replay_in_mujoco(steps.robot, plan, STEPS, gravity=steps.gravity, friction=steps.gait.friction)
            return f"{trial.steps} (base {trial.largest[1:6].max():.3f}{trial.run.reason and ', ' + trial.run.reason})"
        robot = steps.robot.on_ground(steps.gravity, steps.gait.friction)
        found = replay_walk(robot, plan, STEPS, period=0.002)
        return f"{found.steps} (base {found.largest[1:6].max():.3f})"
    except TrundleError as error:
        return f"none: {error}"


def main(arguments: list[str]) -> None:
    """Print a line a robot."""
    alone = "--mujoco-only" in arguments
    for name in [one for one in arguments if not one.startswith("-")] or list(ROBOTS):
        urdf = load_example_robot(name)
        begin = time.process_time()
        feet = FEET.get(name) or suggest_feet(urdf, ROBOTS[name].split())
        walk = plan_steps(LeggedRobot(urdf, feet), RobotGait(pattern="trot"))
        spent = time.process_time() - begin
        statistics = walk.plan.statistics
        line = f"{name}: {walk.plan.status.label}, {spent:.1f} s CPU, {statistics['iterations']} iterations"
        line += f", {walk.steps.gait.speed:.2f} m/s; of {STEPS} steps in MuJoCo {replayed(walk, mujoco=True)}"
        print(line if alone else f"{line}, here {replayed(walk, mujoco=False)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

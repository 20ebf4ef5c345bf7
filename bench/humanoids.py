"""``python -m bench.humanoids [NAME ...]``: every humanoid of example-robot-data walks four steps, or says why not.

Rows: joints and mass of the robot, trials of `walk.toml` in the folder humanoids that held, the largest use of a
torque, and the line with which the robot is refused, or with which a walk that fails names the limit that binds. The
robots' files there have nothing but what is needed: description, soles, posture and joints that are locked. Alex, which
has no legs, and Cassie, which is no URDF, are left out.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import tomli_w
from rich.console import Console
from rich.table import Table

from trundle.errors import InputError
from trundle.models.robots.humanoid import load_humanoid
from trundle.scenarios import Scenario, build, load_scenario
from trundle.systems.multicontact.scenario.record import results

FOLDER = Path(__file__).parent / "humanoids"
ROBOTS: dict[str, tuple[str, list[str]]] = {
    "alexander_v1.lowerBodyOnly": ("alexander", []),
    "bolt": ("bolt", []),
    "g1_29dof_rev_1_0": ("g1", []),
    "g1_29dof_with_hand_rev_1_0": ("g1", ["*_hand_*"]),
    "human": ("human", []),
    "icub": ("icub", ["neck_*"]),
    "icub_reduced": ("icub", []),
    "romeo": ("romeo", ["?Hand", "?Finger*", "?Thumb*"]),
    "romeo_laas_small": ("romeo", ["?_gripper_joint"]),
    "romeo_small": ("romeo", []),
    "simple_humanoid": ("simple_humanoid", []),
    "simple_humanoid_classical": ("simple_humanoid", []),
    "talos_full_v2": ("talos", ["gripper_*"]),
    "talos_full_v2_box": ("talos", ["gripper_*"]),
    "talos_reduced": ("talos", []),
    "talos_reduced_box": ("talos", []),
    "talos_reduced_corrected": ("talos", []),
}
"""Descriptions of example-robot-data: the robot's file, and the joints that are locked in this one."""


def robot_file(name: str, folder: Path) -> Path:
    """Write the robot's file of a description of `ROBOTS` to a folder and return it."""
    file, locked = ROBOTS[name]
    data = tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))
    data["robot"] = {"urdf": name, "locked": locked}
    path = folder / f"{name}.toml"
    path.write_text(tomli_w.dumps(data), encoding="utf-8")
    return path


def walk(name: str, folder: Path) -> Scenario:
    """Return the walk of a description of `ROBOTS`, its files written to a folder."""
    robot, path = robot_file(name, folder), folder / "walk.toml"
    path.write_text((FOLDER / "walk.toml").read_text(encoding="utf-8"), encoding="utf-8")
    return load_scenario(path, [f'robot.name="{robot.name}"'])


def row(name: str) -> list[str]:
    """Return a row of the table."""
    with TemporaryDirectory() as place:
        scenario, size = walk(name, Path(place)), ["", ""]
        try:
            robot = load_humanoid(Path(place) / f"{name}.toml").robot
            size = [str(len(robot.joints)), f"{robot.mass:.1f}"]
            (part,) = build(scenario).parts()
            run = part.run(None)
        except InputError as error:
            return [name, *size, "refused", "", f"{error.key} = {error.value!r}: {error.allowed}"]
    trials = results(run)
    held, use = sum(one.survived for one in trials), max(one.torque_use for one in trials)
    return [name, *size, f"{held} of {len(trials)}", f"{use:.2f}", str(run.metadata["message"])]


def main() -> None:
    """Print the table."""
    table = Table("robot", "joints", "kg", "held", "torque", "limit")
    for name in sys.argv[1:] or ROBOTS:
        if name not in ROBOTS:
            raise SystemExit(f"{name} is none of {', '.join(ROBOTS)}")
        table.add_row(*row(name))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


if __name__ == "__main__":
    main()

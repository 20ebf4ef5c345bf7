"""What the moving picture of a wall-bouncing robot shows: robot, walls, boxes, forces, and both plans as ghosts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trundle.numerics.rotations import rotations_ypr
from trundle.records import Trajectory
from trundle.report.meshes import box, cylinder, polygon, sphere, square
from trundle.report.staging import Actor, Stage, frame_times, make_fixed_actor, sample_columns, turned_from_z
from trundle.systems.wallbounce.robot import BallBalancer
from trundle.systems.wallbounce.scenario.record import boxes, robot_of

Array = NDArray[np.float64]
Colour = tuple[int, int, int]

_BODY, _BALL, _ARM = (36, 110, 185), (70, 78, 88), (96, 108, 118)
_WALL, _FLOOR, _BOX = (190, 183, 169), (232, 228, 220), (201, 161, 94)
_GHOSTS: dict[str, tuple[Colour, float]] = {"implicit": ((224, 130, 20), 0.3), "hybrid": ((27, 120, 55), 0.3)}
_FORCE = 0.012  # m of arrow a newton


def stage(run: Trajectory) -> Stage:
    """Return the stage; ghosts show the postures both plans have 0.4 s ahead."""
    times, seconds, lapse = frame_times(run)
    base, rpy = sample_columns(run, run["base_position"], times), sample_columns(run, run["base_rpy"], times)
    posture = np.column_stack([base[:, :2], rpy[:, ::-1], sample_columns(run, run["joint_position"], times)])
    actors = _robot(run, "robot", posture, None, None, "robot")
    for level, (colour, opacity) in _GHOSTS.items():
        name = f"ahead_{level}"
        if name in run and np.any(run[f"solve_time_{level}"]):
            actors += _robot(
                run, f"plan_{level}", sample_columns(run, run[name], times), colour, opacity, f"plan in 0.4 s, {level}"
            )
    actors += _walls(run, len(times)) + _boxes(run, times)
    hands = [sample_columns(run, run["hand_position"][:, i], times) for i in (0, 1)]
    forces = [sample_columns(run, run["hand_force_measured"][:, i], times) for i in (0, 1)]
    planned = [sample_columns(run, run["hand_force_planned"][:, i], times) for i in (0, 1)]
    pushed = sample_columns(run, run["push_force"], times) if "push_force" in run else np.zeros_like(base)
    middle = base + np.array([0.0, 0.0, 0.5])
    look_at = 0.5 * (run["base_position"].min(axis=0) + run["base_position"].max(axis=0)) + [0.0, 0.0, 0.55]
    reach = 2.2 + 0.7 * float(np.max(np.ptp(run["base_position"][:, :2], axis=0)))
    arrows = [(middle, pushed, (123, 50, 148), "push")]
    arrows += [
        (hand, force, (27, 120, 55), "planned contact force") for hand, force in zip(hands, planned, strict=True)
    ]
    return Stage(
        seconds, lapse, tuple(actors),
        hands[0], np.tile([0.0, 0.0, 1.0], (len(times), 1)), forces[0], _FORCE, None, 0.4,
        look_at, look_at + reach * _view(run), (), ((hands[1], forces[1]),), tuple(arrows),
        ("left hand", "right hand"),
    )  # fmt: skip


def _view(run: Trajectory) -> Array:
    """Direction from which the camera looks: along the first wall, a little from behind the robot."""
    walls = run.metadata.get("walls", [])
    n = np.array(walls[0]["normal"]) if walls else np.array([-1.0, 0.0, 0.0])
    along = np.array([n[1], -n[0], 0.0])
    direction = along + 0.55 * np.array([n[0], n[1], 0.0]) + np.array([0.0, 0.0, 0.45])
    return direction / np.linalg.norm(direction)


def _robot(
    run: Trajectory, name: str, posture: Array, colour: Colour | None, opacity: float | None, label: str
) -> list[Actor]:
    """Actors of the robot at postures (k, 11): x, y, yaw, pitch, roll, joints."""
    robot = robot_of(run)
    r, top = robot.ball_radius, robot.height - robot.ball_radius
    width = float(run.metadata["torso_radius"])
    turn = rotations_ypr(posture[:, 2:5])
    q, R = np.asarray(turn.as_quat(scalar_first=True)), np.asarray(turn.as_matrix())
    origin = np.column_stack([posture[:, :2], np.full(len(q), r)])
    body = cylinder(width, 1.3 * r, top, colour or _BODY, 0.7 if colour is None else opacity)
    ball = sphere(r, colour or _BALL, opacity)
    ghost = opacity is not None
    pieces = {"torso": body, "ball": ball}
    actors = [Actor(f"{name}_{which}", (one,), origin, q, (), label, ghost) for which, one in pieces.items()]
    for side, first in ((1.0, 5), (-1.0, 8)):
        shoulder = np.asarray(robot.shoulder) * [1.0, side, 1.0]
        for part, (start, way, length) in enumerate(_links(robot, posture[:, first : first + 3], side)):
            place = origin + np.einsum("kij,kj->ki", R, shoulder + start)
            turned = turned_from_z(np.einsum("kij,kj->ki", R, way))
            arm = (cylinder(0.028, 0.0, length, colour or _ARM, opacity),)
            if part == 1:
                arm += (sphere(robot.hand_radius, colour or _ARM, opacity, length),)
            whole = f"{name}_{'left' if side > 0 else 'right'}_{part}"
            actors.append(Actor(whole, arm, place, turned, (), label, ghost))
    return actors


def _links(robot: BallBalancer, q: Array, side: float) -> list[tuple[Array, Array, float]]:
    """Start from the shoulder (k, 3), direction (k, 3) and length of both links, body axes."""
    s, c = np.sin(side * q[:, 0]), np.cos(side * q[:, 0])
    upper, fore = (np.column_stack([np.sin(a), s * np.cos(a), -c * np.cos(a)]) for a in (q[:, 1], q[:, 1] + q[:, 2]))
    first = robot.upper_arm
    return [(np.zeros_like(upper), upper, first), (first * upper, fore, robot.forearm)]


def _walls(run: Trajectory, count: int) -> list[Actor]:
    points = run["base_position"]
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    half = 0.9 + 0.5 * float(np.max(np.ptp(points[:, :2], axis=0)))
    actors = [make_fixed_actor("floor", square(half, [*middle[:2], -0.002], _FLOOR), count, "floor")]
    for i, wall in enumerate(run.metadata.get("walls", [])):
        n, p = np.array(wall["normal"]), np.array(wall["point"])
        up = np.array([0.0, 0.0, 1.0]) - n * n[2]
        up = up / np.linalg.norm(up) if np.linalg.norm(up) > 1e-6 else np.array([1.0, 0.0, 0.0])
        along = np.cross(up, n)
        start = middle - n * float((middle - p) @ n)
        start = start - up * (start[2] / up[2] if abs(up[2]) > 1e-6 else 0.0)
        corners = [start - half * along, start + half * along]
        corners += [corners[1] + 1.4 * up, corners[0] + 1.4 * up]
        actors.append(make_fixed_actor(f"wall_{i}", polygon(corners, _WALL, 0.55), count, "walls"))
    return actors


def _boxes(run: Trajectory, times: Array) -> list[Actor]:
    actors = []
    for i, (center, half, appears) in enumerate(boxes(run)):
        there = times >= appears - 1e-9
        at = np.tile([*center, half[2]], (len(times), 1))
        one = make_fixed_actor(f"box{i}", box(2 * half, _BOX, 0.85), len(times), "boxes")
        actors.append(replace(one, positions=at, shown=there))
    return actors

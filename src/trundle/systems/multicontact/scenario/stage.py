"""What the moving picture of a humanoid shows: the robot's own meshes where they are found, footholds and forces."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trundle.errors import TrundleError
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.examples import load_example_robot
from trundle.models.urdf.meshes import visual_meshes
from trundle.models.urdf.visuals import coarse
from trundle.numerics.rotations import quaternion_of
from trundle.records import Trajectory
from trundle.report.meshes import MeshPart, box, polygon, sphere, square
from trundle.report.staging import Actor, Stage, frame_times, make_fixed_actor, sample_columns
from trundle.report.tree_stage import shade, sticks

Array = NDArray[np.float64]

_GROUND, _HOLD = (214, 208, 196), (150, 160, 150)
_PARCEL = (196, 138, 74)
_BLOCK = (168, 150, 126)
_OBSTACLE = (150, 92, 84)
"""Triangles of a box whose corners are those of `humanoid.terrain.Block`, seen from outside."""
_FORCE = 0.0015  # m of arrow a newton
_CELL = 0.012  # m: vertices of a mesh within one cell are merged, which keeps a page small


def stage(run: Trajectory) -> Stage:
    """Return the stage; the robot is drawn with its meshes, or with sticks between the joints that the run tells."""
    times, seconds, lapse = frame_times(run)
    q = np.column_stack([run["base_position"], run["base_quaternion"], run["joint_position"]])
    index = np.clip(np.searchsorted(run.time, times), 0, len(run.time) - 1)
    actors = _robot(run, q[index])
    loads = np.abs(run["contact_force"]).max(axis=(0, 2))
    carrying = [i for i in range(len(loads)) if loads[i] > 0.0] or [0]
    points = [sample_columns(run, run["contact_position"][:, i], times) for i in carrying]
    pushes = [sample_columns(run, run["contact_force"][:, i], times) for i in carrying]
    low, high = run["com_position"].min(axis=0), run["com_position"].max(axis=0)
    middle, reach = 0.5 * (low + high), 1.9 + 0.6 * float(np.max(high[:2] - low[:2]))
    actors += _ground(run, len(times), middle, reach) + _obstacles(run, len(times), reach)
    if run.metadata.get("box"):
        place, turn = run["box_position"][index], run["box_quaternion"][index]
        actors.append(Actor("box", (box(run.metadata["box"], _PARCEL),), place, turn, label="box"))
    look_at = middle * [1.0, 1.0, 0.95]
    others = tuple(zip(points[1:], pushes[1:], strict=True))
    up = np.tile([0.0, 0.0, 1.0], (len(times), 1))
    path = (run["com_position"][:: max(1, len(run.time) // 400)], (36, 110, 185), "path of the centre of mass")
    return Stage(
        seconds, lapse, tuple(actors), points[0], up, pushes[0], _FORCE, None, 0.35,
        look_at, look_at + reach * np.array([0.55, -1.0, 0.35]), (path,), others,
        contacts=tuple(str(run["contact"][i]) for i in carrying),
        mass_centre=sample_columns(run, run["com_position"], times),
    )  # fmt: skip


def _robot(run: Trajectory, q: Array) -> list[Actor]:
    """Return an actor for each link of the robot that has a mesh; sticks where none is found or none may be shown."""
    urdf, shapes = _read_description(run.metadata["description"]) if run.metadata["notice"] else (None, {})
    if urdf is None or not shapes:
        own = {body.name: body for body in getattr(run, "scene", ()) if body.faces is not None}
        return sticks(run.metadata["bodies"], q, own)
    robot, names = Articulated(urdf), list(shapes)
    places, turns = np.empty((len(names), len(q), 3)), np.empty((len(names), len(q), 4))
    for k, state in enumerate(q):
        for i, motion in enumerate(robot.terms(state, np.zeros(robot.nv), names).motions):
            places[i, k], turns[i, k] = motion.p, quaternion_of(motion.R)
    return [Actor(name, shapes[name], places[i], turns[i], label="robot") for i, name in enumerate(names)]


@lru_cache(maxsize=2)
def _read_description(name: str) -> tuple[CheckedUrdf | None, dict[str, tuple[MeshPart, ...]]]:
    """Return a description in example-robot-data and its meshes, read once: all parts of a run show the same robot."""
    try:
        urdf = load_example_robot(name)
    except TrundleError:
        return None, {}
    return urdf, link_meshes(urdf)


def link_meshes(urdf: CheckedUrdf) -> dict[str, tuple[MeshPart, ...]]:
    """Return the coarse meshes of the links that have one on this machine, in the links' axes."""
    found: dict[str, tuple[MeshPart, ...]] = {}
    for visual in visual_meshes(urdf):
        part = MeshPart(
            *coarse(visual.vertices, visual.faces, _CELL), visual.colour or shade(visual.link), None, True, True
        )
        found[visual.link] = (*found.get(visual.link, ()), part)
    return found


def _obstacles(run: Trajectory, count: int, reach: float) -> list[Actor]:
    """Return an actor for each obstacle; of a half-space a piece of its plane."""
    actors = []
    for one in run.metadata.get("obstacles", []):
        if one["kind"] == "box":
            part = box(one["size"], _OBSTACLE)
        elif one["kind"] == "half-space":
            part = square(0.3 * reach, np.zeros(3), _OBSTACLE, 0.5)
        else:
            ball, half = sphere(one["size"][0], _OBSTACLE), 0.5 * sum(one["size"][1:])
            part = replace(ball, vertices=ball.vertices + half * np.sign(ball.vertices) * [0.0, 0.0, 1.0])
        turn = np.tile(quaternion_of(np.array(one["axes"])), (count, 1))
        actors.append(
            Actor(f"obstacle_{one['name']}", (part,), np.tile(one["position"], (count, 1)), turn, label="obstacles")
        )
    return actors


def _ground(run: Trajectory, count: int, middle: Array, reach: float) -> list[Actor]:
    terrain = run.metadata.get("terrain", {"floor": True, "blocks": []})
    actors = []
    if terrain["floor"]:
        actors.append(make_fixed_actor("floor", square(0.6 * reach, [*middle[:2], -0.004], _GROUND), count, "ground"))
    for i, block in enumerate(terrain["blocks"]):
        actors.append(
            make_fixed_actor(block["name"] or f"block_{i}", box((), _BLOCK, corners=block["corners"]), count, "blocks")
        )
    for i, place in enumerate(run.metadata.get("footholds", [])):
        corners = np.array(place["corners"]) + np.array([0.0, 0.0, 0.003])
        if len(corners) >= 3:
            actors.append(
                make_fixed_actor(f"foothold_{i}", polygon(corners, _HOLD, 0.8, sharp=True), count, "footholds")
            )
    return actors

"""Animation of a walk: the body's segments on the slope, and the total ground force."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from trundle.records import SceneBody, Trajectory
from trundle.report import build_stage
from trundle.report.meshes import MeshPart
from trundle.report.staging import Actor, Stage, corners, frame_points, frame_times, sample_columns, sample_rotations
from trundle.systems.walking.scenario.figures import tilt, uphill

Array = NDArray[np.float64]
_COLOURS = {"left": (224, 130, 20), "right": (36, 110, 185)}
_MIDDLE = (112, 122, 132)
_GROUND = ((214, 205, 188), (196, 186, 168))
_SQUARE = 0.25  # m: of the chequered ground


def stage(run: Trajectory) -> Stage:
    """Return the stage of a walk; the slope is drawn inclined, with gravity downwards."""
    if "walk" not in run.metadata:
        return build_stage(run)
    times, seconds, lapse = frame_times(run)
    lean = Rotation.from_euler("y", -tilt(run))
    actors = [_actor(run, body, times, lean) for body in run.scene if body.role == "body"]
    x = run["base_position"][:, 0]
    actors.append(_ground(float(x.min()) - 1.0, float(x.max()) + 1.5, times, lean))
    force = run["contact_force"].sum(axis=1)
    share = run["contact_force"][..., 2:] / np.maximum(force[:, None, 2:], 1e-9)
    at = np.sum(share * run["contact_position"], axis=1)
    size = 0.5
    look_at, camera = frame_points(
        np.concatenate([corners(actor) for actor in actors[:-1]]), np.array([0.35, -1.25, 0.25])
    )
    return Stage(
        seconds, lapse, tuple(actors),
        sample_columns(run, uphill(run, at), times),
        np.tile(uphill(run, np.array([0.0, 0.0, 1.0])), (len(times), 1)),
        sample_columns(run, uphill(run, force), times),
        0.7 / (9.81 * float(run.metadata["physics"]["mass"])),
        None,
        size, look_at, camera, contacts=("ground, total",),
    )  # fmt: skip


def _actor(run: Trajectory, body: SceneBody, times: Array, lean: Rotation) -> Actor:
    k = [str(name) for name in run["body"]].index(body.name)
    turn = Rotation.from_quat(run["body_quaternion"][:, k], scalar_first=True)
    origin = run["body_position"][:, k] - turn.apply(np.array(body.center_of_mass))
    turns = sample_rotations(run, np.asarray((lean * turn).as_quat(scalar_first=True)), times)
    colour = _COLOURS.get(body.name.split("_")[0], _MIDDLE)
    part = MeshPart(np.asarray(body.vertices), np.asarray(body.faces), colour)
    positions = sample_columns(run, lean.apply(origin), times)
    label = {_COLOURS["left"]: "left leg", _COLOURS["right"]: "right leg"}.get(colour, "trunk")
    return Actor(f"body_{body.name}", (part,), positions, turns, label=label)


def _ground(low: float, high: float, times: Array, lean: Rotation) -> Actor:
    """Return a strip of squares below the walk."""
    first, count = np.floor(low / _SQUARE), int(np.ceil((high - low) / _SQUARE)) + 1
    squares: tuple[list[Array], list[Array]] = ([], [])
    for i in range(count):
        for j in range(-4, 4):
            corner = _SQUARE * np.array([first + i, j, 0.0])
            steps = _SQUARE * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
            squares[(i + j) % 2].append(corner + steps)
    parts = []
    for colour, quads in zip(_GROUND, squares, strict=True):
        faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * i for i in range(len(quads))])
        parts.append(MeshPart(np.concatenate(quads), faces, colour, double=True))
    still = np.tile(lean.as_quat(scalar_first=True), (len(times), 1))
    return Actor("ground", tuple(parts), np.zeros((len(times), 3)), still, label="ground")

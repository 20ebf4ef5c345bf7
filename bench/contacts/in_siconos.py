"""The scenes in Siconos: spheres, planes and boxes, free or on hinges and slides of the world; contacts are rigid.

Its step, solvers and tolerances are those of its own `MechanicsHdf5Runner.run`, as it comes. Distributions build it for
their own Python and their own numpy, so it runs in a process of the interpreter that the environment variable
SICONOS_PYTHON names (default: this one).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench.contacts.statement import MOST, Statement, UnstatedError
from bench.contacts.truth import rotations
from trundle.interop.peers import PeerRun
from trundle.interop.scene import PeerBody, PeerGeom, PeerScene
from trundle.numerics.rotations import quaternion_of

STEP = 5e-4
"""s, default of its `MechanicsHdf5Runner.run`."""
WORKER = Path(__file__).with_name("siconos_steps.py")
SLAB = (2.0, 2.0, 0.5)
"""m, half sides of a box that stands for a plane that moves: as MuJoCo has it."""
NAMED = "SICONOS_PYTHON"


@cache
def interpreter() -> str | None:
    """Return the Python that has Siconos; None where there is none."""
    named = os.environ.get(NAMED)
    if named is None:
        return None if find_spec("siconos") is None else sys.executable
    asked = [named, "-c", "import siconos.mechanics.collision.bullet"]
    try:
        return named if subprocess.run(asked, capture_output=True, check=False).returncode == 0 else None
    except OSError:
        return None


def run(statement: Statement, times: np.ndarray, step: float, every: int) -> PeerRun:
    """Run a scene in a process of its own."""
    scene = statement.scene
    asked = written(scene if statement.row.boxes is None else statement.row.boxes())
    count = every * (len(times) - 1)
    asked |= {"step": step, "every": every, "count": count, "limit": MOST}
    asked |= {"forces": statement.forces(step, count).tolist()}
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        given, left = Path(folder) / "asked.json", Path(folder) / "found.npz"
        given.write_text(json.dumps(asked))
        command = [str(interpreter()), str(WORKER), str(given), str(left)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | single)
        if not left.exists():
            raise UnstatedError("failed: " + "".join(done.stderr.strip().splitlines()[-1:]))
        with np.load(left) as kept:
            samples, seconds, failed = kept["samples"], float(kept["seconds"]), int(kept["failed"])
    found = PeerRun.of(scene, len(samples), MOST)
    found.seconds = seconds
    for k, body in enumerate(scene.bodies):
        found.bodies[:, k] = of_frame(body, samples[:, k])
    if len(samples) < len(times):
        found.note = f"stopped at {times[len(samples) - 1]:.3g} s"
    if failed:
        found.note = ", ".join([*([found.note] if found.note else []), f"{failed} steps not solved"])
    return found


def of_frame(body: PeerBody, samples: np.ndarray) -> np.ndarray:
    """Return samples (n, 13) of a body's frame from those of its centre of mass, whose spin is in the body's axes."""
    R = rotations(samples)
    spin = np.einsum("nij,nj->ni", R, samples[:, 10:])
    arm = R @ body.com
    return np.hstack([samples[:, :3] - arm, samples[:, 3:7], spin, samples[:, 7:10] - np.cross(spin, arm)])


def written(scene: PeerScene) -> dict[str, Any]:
    """Return a scene as the worker takes it.

    Raises
    ------
    UnstatedError
        If there are other shapes than spheres, planes and boxes, or joints between bodies.
    """
    boxed = any(geom.form.kind == "box" or (geom.form.kind == "plane" and geom.body) for geom in scene.geoms)
    return {
        "gravity": scene.gravity.tolist(),
        "boxed": boxed,
        "bodies": [_body(body) for body in scene.bodies],
        "geoms": [_geom(geom, scene) for geom in scene.geoms],
        "contacts": [[one.first, one.second, one.friction, one.restitution] for one in scene.contacts],
    }


def _body(body: PeerBody) -> dict[str, Any]:
    if body.parent or body.joint not in ("free", "hinge", "slide") or body.value:
        raise UnstatedError("not stated: joints between bodies")
    if body.actuated and body.joint != "slide":
        raise UnstatedError("not stated: such a drive")
    axis, place = body.R @ body.axis, body.position + body.R @ body.com
    velocity, spin = body.twist[3:] + np.cross(body.twist[:3], body.R @ body.com), body.twist[:3]
    if body.joint == "slide":
        velocity = body.rate * axis
    elif body.joint == "hinge":
        spin = body.rate * axis
        velocity = np.cross(spin, body.R @ body.com)
    return {
        "name": body.name,
        "joint": body.joint,
        "mass": body.mass,
        "inertia": body.inertia.tolist(),
        "place": [*place.tolist(), *np.asarray(quaternion_of(body.R)).tolist()],
        "twist": [*velocity.tolist(), *(body.R.T @ spin).tolist()],
        "hinge": body.position.tolist(),
        "axis": axis.tolist(),
        "high": body.high if np.isfinite(body.high) else None,
        "weight": (0.0 if body.weightless else body.mass),
        "actuated": body.actuated,
    }


def _geom(geom: PeerGeom, scene: PeerScene) -> dict[str, Any]:
    """Return a shape; one of a body in the axes of its centre of mass."""
    kind, size, place = geom.form.kind, list(geom.form.size), geom.position
    if kind not in ("sphere", "plane", "box"):
        raise UnstatedError(f"not stated: contacts of {kind}s")
    if kind == "plane" and geom.body:
        kind, size, place = "box", list(SLAB), place - SLAB[2] * geom.R[:, 2]
    if geom.body:
        place = place - scene.body(geom.body).com
    turn = np.asarray(quaternion_of(geom.R)).tolist()
    return {
        "name": geom.name,
        "body": geom.body,
        "kind": kind,
        "size": size,
        "place": [*place.tolist(), *turn],
        "normal": geom.R[:, 2].tolist(),
    }

"""The scenes in other simulators: MuJoCo with its own contacts and with hard ones, Exudyn, Siconos.

Each runs with a step of its own, MuJoCo's default or what the others' own examples have, and with one of 0.1 ms.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec

import numpy as np

from bench.contacts import in_exudyn, in_siconos
from bench.contacts.scene import Scene
from bench.contacts.statement import MOST, PeerTime, Statement, Steps, UnstatedError, state, timed
from trundle.interop.mujoco import spec_of, start_of
from trundle.interop.peers import Contact, PeerRun

DEFAULT, SHORT = 2e-3, 1e-4  # s, MuJoCo's own step and a short one


def _mujoco(statement: Statement, times: np.ndarray, step: float, every: int, contact: Contact) -> PeerRun:
    """Run a scene in MuJoCo, with contacts as `trundle.interop.mujoco.to_mjcf` has them."""
    import mujoco

    if statement.row.mjcf is not None and contact == "default":
        model = mujoco.MjModel.from_xml_string(statement.row.mjcf())
        model.opt.timestep = step
        data = mujoco.MjData(model)
    else:
        model = spec_of(statement.scene, step, contact, "implicitfast").compile()
        data = start_of(model)
    found = PeerRun.of(statement.scene, len(times), MOST)
    forces = statement.forces(step, every * (len(times) - 1))
    driven = statement.drive is not None
    numbers = [model.body(body.name).id for body in statement.scene.bodies]
    for i in range(len(times)):
        for k in range(every if driven else 1) if i else ():
            if driven:
                data.ctrl[:] = forces[(i - 1) * every + k]
            begin = time.process_time()
            mujoco.mj_step(model, data, 1 if driven else every)
            found.seconds += time.process_time() - begin
        mujoco.mj_forward(model, data)
        for k, number in enumerate(numbers):
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, number, twist, 0)
            found.bodies[i, k] = [*data.xpos[number], *data.xquat[number], *twist]
        if found.late(i, times[i]):
            break
    if np.any([warning.number for warning in data.warning]):
        found.note = "MuJoCo warned of a bad state"
    return found


RUNS: tuple[tuple[str, Steps, float], ...] = (
    ("MuJoCo", partial(_mujoco, contact="default"), DEFAULT),
    ("MuJoCo", partial(_mujoco, contact="default"), SHORT),
    ("MuJoCo hard", partial(_mujoco, contact="hard"), SHORT),
    ("Exudyn", in_exudyn.run, in_exudyn.STEP),
    ("Exudyn", in_exudyn.run, SHORT),
    ("Siconos", in_siconos.run, in_siconos.STEP),
    ("Siconos", in_siconos.run, SHORT),
)
"""Simulator, what runs it, and its step (s)."""


def installed() -> dict[str, bool]:
    """Return which simulators are here."""
    return {
        "MuJoCo": find_spec("mujoco") is not None,
        "Exudyn": find_spec("exudyn") is not None,
        "Siconos": in_siconos.interpreter() is not None,
    }


def peer_times(row: Scene, places: Mapping[str, list[float]]) -> list[PeerTime]:
    """Return what other simulators take and how true they are, or why there is no number.

    `places` are those of bodies where a run here ends, (3,) m.
    """
    there = [name for name, is_there in installed().items() if is_there]
    found = [PeerTime(name, None, "not installed") for name in installed() if name not in there]
    if not there:
        return found
    try:
        statement = state(row)
    except UnstatedError as reason:
        return [*found, *(PeerTime(name, None, str(reason)) for name in there)]
    for label, run, step in RUNS:
        if label.split(" ", maxsplit=1)[0] in there:
            one = timed(label, statement, step, run, places)
            if one not in found:  # what cannot be stated is said once
                found.append(one)
    return found

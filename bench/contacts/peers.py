"""The scenes in other simulators: MuJoCo at its defaults and with steps of 0.1 ms; who is absent is named."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from bench.contacts.scene import Case, Scene
from trundle.errors import TrundleError
from trundle.interop.peers import peer, spaced
from trundle.interop.scene import scene_of

DEFAULT, SHORT = 2e-3, 1e-4  # s, MuJoCo's own step and a short one
SAMPLES = 1e-2  # s
MOST = 60.0  # s of processor time of a run


class PeerTime(NamedTuple):
    """Which simulator with which step, the processor time (s) of the steps, and what is to be said."""

    label: str
    seconds: float | None
    note: str = ""


def peer_times(scene: Scene) -> list[PeerTime]:
    """Return what MuJoCo takes, or why there is no number, and the names of simulators that are not here."""
    found = [PeerTime(name, None, "not installed") for name in ("exudyn", "siconos") if find_spec(name) is None]
    if find_spec("mujoco") is None:
        return [PeerTime("MuJoCo", None, "not installed"), *found]
    if scene.mjcf is not None:
        xml, duration = scene.mjcf()
        return [*(_mujoco(xml, duration, step) for step in (None, SHORT)), *found]
    if not scene.peers:
        return [PeerTime("MuJoCo", None, "has no such thing, or it needs the policy"), *found]
    case = scene.build()
    if not isinstance(case, Case):
        return [PeerTime("MuJoCo", None, "a controller's replay"), *found]
    return [*(_handed(case, step) for step in (DEFAULT, SHORT)), *found]


def _handed(case: Case, step: float) -> PeerTime:
    """Return the time of a scene that the package hands over, with MuJoCo's own contacts."""
    times = np.linspace(0.0, case.duration, 1 + max(1, round(case.duration / SAMPLES)))
    label = f"MuJoCo, {1e3 * spaced(times, step)[0]:.2g} ms"
    try:
        run = peer("mujoco").run(scene_of(case.model, case.start), times, step, MOST, contact="default")
    except TrundleError as problem:
        return PeerTime(label, None, str(problem).splitlines()[0])
    return PeerTime(label, run.seconds, run.note)


def _mujoco(xml: str, duration: float, step: float | None) -> PeerTime:
    """Return the time of a scene in MuJoCo's own words."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(xml)
    if step is not None:
        model.opt.timestep = step
    data, begin = mujoco.MjData(model), time.process_time()
    label = f"MuJoCo, {1e3 * model.opt.timestep:.2g} ms"
    while data.time < duration:
        mujoco.mj_step(model, data)
        if time.process_time() - begin > MOST:
            return PeerTime(label, None, f"stopped at {data.time:.3g} s")
    return PeerTime(label, time.process_time() - begin)

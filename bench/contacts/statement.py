"""A timed scene as other simulators take it, and what their runs leave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bench.contacts.scene import Case, Drive, Scene
from bench.contacts.truth import energy_made, momentum_lost, overlap
from trundle.errors import TrundleError
from trundle.interop.peers import PeerRun, divide_interval
from trundle.interop.scene import PeerScene, scene_of

SAMPLES, FEWEST = 1e-2, 500  # s between samples at most, and samples of a shorter run
REACH = 8.0  # m, half the width of uneven ground
MOST = 150.0  # s of processor time of a run


class UnstatedError(Exception):
    """What a simulator cannot state, in a short phrase."""


class PeerTime(NamedTuple):
    """Which simulator with which step, the processor time (s) of the steps, and what is to be said."""

    label: str
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class Statement:
    """A row of the table as other simulators take it.

    Attributes
    ----------
    scene : PeerScene
    duration : float, s
    drive : Drive or None
    row : Scene
        What it states.
    """

    scene: PeerScene
    duration: float
    drive: Drive | None
    row: Scene

    def times(self, step: float) -> np.ndarray:
        """Return the times (n,), s, of samples of a run with steps of about `step` (s)."""
        spacing = max(step, min(SAMPLES, self.duration / FEWEST))
        return np.linspace(0.0, self.duration, 1 + max(1, round(self.duration / spacing)))

    def forces(self, step: float, count: int) -> np.ndarray:
        """Return the forces (count, n_u), N or N m, that are held in each step (s)."""
        if self.drive is None:
            return np.zeros((count, 0))
        period, forces = self.drive.period, self.drive.forces
        return np.array([forces(period * np.floor(i * step / period + 1e-9)) for i in range(count)])


def state(row: Scene) -> Statement:
    """Return a row as other simulators take it.

    Raises
    ------
    UnstatedError
        If it has a controller, or something that no other simulator has.
    """
    if row.stated is not None:
        scene, duration = row.stated()
        return Statement(scene, duration, None, row)
    case = row.build()
    if not isinstance(case, Case):
        raise UnstatedError("a controller's replay")
    try:
        scene = scene_of(case.model, case.start, reach=REACH)
    except TrundleError as problem:
        raise UnstatedError(str(problem).splitlines()[0]) from None
    return Statement(scene, case.duration, case.drive, row)


Steps = Callable[[Statement, np.ndarray, float, int], PeerRun]
"""Takes a statement, times of samples, the step (s) and how many there are from one sample to the next."""


def timed(name: str, statement: Statement, step: float, run: Steps, places: Mapping[str, list[float]]) -> PeerTime:
    """Return the time of a run of a simulator, and how true it is; `places`: where bodies end here, (3,) m."""
    times = statement.times(step)
    own, every = divide_interval(times, step)
    label = f"{name}, {1e3 * own:.2g} ms"
    try:
        found = run(statement, times, own, every)
    except UnstatedError as reason:
        return PeerTime(name, None, str(reason))
    told = [found.note] if found.note else []
    whole = len(found.bodies) == len(times)
    if np.isfinite(found.bodies).all() and len(found.bodies) > 1:
        told += judge(statement, times[: len(found.bodies)], found.bodies, places if whole else {})
    else:
        told.append("diverged")
    return PeerTime(label, found.seconds if whole else None, ", ".join(told))


def judge(statement: Statement, times: np.ndarray, samples: np.ndarray, places: Mapping[str, list[float]]) -> list[str]:
    """Return what is wrong with samples (n, bodies, 13) at `times` (n,), each by what is known."""
    scene, row, told = statement.scene, statement.row, []
    if row.exact is not None:
        told.append(row.exact(times, samples))
    if row.closed:
        told.append(f"energy made {100 * energy_made(scene, times, samples):.2g} %")
    if not np.any(scene.gravity) and row.closed:
        told.append(f"momentum lost {100 * momentum_lost(scene, samples):.2g} %")
    depth = overlap(scene, samples)
    if depth is not None:
        told.append(f"{1e3 * depth:.2g} mm deep")
    known = [i for i, body in enumerate(scene.bodies) if body.name in places]
    if row.unique and known:
        here = np.array([places[scene.bodies[i].name] for i in known])
        away = np.linalg.norm(samples[-1, known, :3] - here, axis=1).max()
        told.append(f"{1e3 * away:.3g} mm from trundle's end")
    return told

"""The same scene in trundle and in other simulators: gap, slip, energy and path against the time step."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from types import MappingProxyType
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, choice, integer, positive
from trundle.contact.laws import LAWS
from trundle.errors import InputError, MissingExtraError
from trundle.interop.peers import PEERS, Contact, Peer, PeerRun, divide_interval, peer
from trundle.interop.scene import Model, PeerScene, scene_of
from trundle.models.tree.approach import Approach
from trundle.models.tree.closing import Closure
from trundle.models.tree.system import Atlas, ContactSystem, Start
from trundle.models.tree.touching import touch_function
from trundle.report import Figure, style
from trundle.simulate.mode import Mode
from trundle.simulate.run import checked_duration, chosen_method, first_of
from trundle.simulate.runner import Runner

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "PeerRow", "compare"]

OWN = "trundle"
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)
COLUMNS = {
    "gap": ("gap (m)", "Largest gap"),
    "slip": ("slip (m/s)", "Largest slip"),
    "energy": ("energy (1)", "Largest error of the energy"),
    "path": ("path (m)", "Largest distance from trundle's path"),
    "seconds": ("CPU (s)", "of stepping"),
}
"""Numbers of a row: their heads in the table, and what they are."""
_FLOOR = 1e-16  # least value drawn on a logarithmic axis: round-off
_LIMIT = 60.0  # s of CPU of one run of another simulator


@dataclass(frozen=True)
class PeerRow:
    """How one simulator did with one step.

    Attributes
    ----------
    peer : str
    step : float, s
    gap : float, m
        Largest |gap| of the exact shapes at their poses there, of contacts that are closed in trundle.
    slip : float, m/s
        Largest velocity of material points along these contacts where they roll in trundle.
    energy : float
        Largest difference of the energy from trundle's, over the largest kinetic energy or the span of the potential.
    path : float, m
        Largest distance of a body's frame from where it is in trundle's run with an adaptive step.
    seconds : float
        CPU time of stepping.
    note : str
        Why there are no numbers, or what is to be said of them.
    """

    peer: str
    step: float
    gap: float = np.nan
    slip: float = np.nan
    energy: float = np.nan
    path: float = np.nan
    seconds: float = np.nan
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    rows : tuple of PeerRow
    missing : mapping of str to str
        Simulators that are left out, and why.
    notes : tuple of str
        What is another thing in other simulators than here.
    duration : float, s
        That was compared.
    """

    rows: tuple[PeerRow, ...]
    missing: Mapping[str, str]
    notes: tuple[str, ...]
    duration: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing", MappingProxyType(dict(self.missing)))

    def __reduce__(self) -> tuple[type[Comparison], tuple[object, ...]]:
        return type(self), (self.rows, dict(self.missing), self.notes, self.duration)

    def table(self) -> str:
        """Return the table as Markdown."""
        heads = ["peer", "step (ms)", *(head for head, _ in COLUMNS.values())]
        lines = [heads, ["---"] * len(heads)]
        for row in self.rows:
            values = (getattr(row, name) for name in COLUMNS)
            lines.append([row.peer, f"{1e3 * row.step:g}", *("-" if np.isnan(v) else f"{v:.2e}" for v in values)])
        text = ["| " + " | ".join(line) + " |" for line in lines]
        said = [f"- {row.peer}, {1e3 * row.step:g} ms: {row.note}" for row in self.rows if row.note]
        said += [f"- {name} is left out: {why}" for name, why in self.missing.items()]
        return "\n".join([*text, "", *said, *(f"- {note}" for note in self.notes)]).rstrip()

    def figure(self) -> Figure:
        """Return the figure: gap, slip, energy and path against the step, a line a simulator."""
        caption = "Gap, slip, energy and path of the same scene in several simulators, against their time step."
        return Figure(self._draw, (9.0, 6.6), caption)

    def _draw(self, ax: Axes) -> None:
        names = list(dict.fromkeys(row.peer for row in self.rows))
        places = style.panels(ax, 2, 2, apart=(0.27, 0.38))
        for k, (panel, name) in enumerate(zip(places, ("gap", "slip", "energy", "path"), strict=True)):
            for who, colour in zip(names, cycle(style.PALETTE), strict=False):
                steps, values = np.array([(r.step, getattr(r, name)) for r in self.rows if r.peer == who]).T
                panel.loglog(1e3 * steps, np.maximum(values, _FLOOR), "o-", color=colour, label=who, markersize=4)
            shown = sorted({1e3 * row.step for row in self.rows})
            panel.set_xticks(shown, [f"{step:g}" for step in shown])
            panel.set_xticks([], minor=True)
            style.dress(panel, COLUMNS[name][1], "time step (ms)", COLUMNS[name][0])
            if k == 2:
                style.legend(panel, columns=len(names))


def compare(
    model: Model,
    start: Start,
    duration: float,
    *,
    peers: Sequence[str] = PEERS,
    steps: Sequence[float] = STEPS,
    samples: int = 100,
    cells: int = 200,
    contact: Contact = "hard",
) -> Comparison:
    """Run the same scene in trundle and in other simulators with several time steps.

    Compared up to where trundle's run ends or another has taken a minute of CPU. Who is not installed is named.

    Parameters
    ----------
    model : RollingPair, RollingTree or ContactSystem
    start : Start
    duration : float, s
    peers : sequence of "mujoco", "pybullet" and "drake"
    steps : sequence of float, s
        Or the next that divides the time between samples.
    samples, cells : int
        At which everything is compared; of terrain written as heights.
    contact : "hard" (as a step allows) or "default" (as the simulators come)

    Raises
    ------
    InputError
        If other simulators have no such thing, see `to_mjcf`, or a name or a number is wrong.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.5), tr.Hand(tr.Plane(), rpy=(0, 0.1, 0)))
    >>> found = tr.interop.comparison.compare(pair, pair.place(), 0.5, peers=["mujoco"], steps=[1e-3])
    >>> [row.peer for row in found.rows], found.rows[1].path < 1e-3  # m
    (['trundle', 'mujoco'], True)
    """
    asked = [choice("peers", name, PEERS) for name in ([peers] if isinstance(peers, str) else peers)]
    chosen = [positive("steps", step, "s") for step in steps]
    integer("samples", samples, minimum=2, maximum=100_000)
    choice("contact", contact, ("hard", "default"))
    system = model if isinstance(model, ContactSystem) else model.system
    if any(spec.joint.by_contact for spec in system.model(start.atlas).specs):
        raise InputError("coordinates", "rolling", "'pose', to compare with other simulators")
    times = _times(checked_duration(duration), samples, max(chosen))
    reference = _Reference(system, _own(system, start, times, None))
    scene = scene_of(system, start, reach=reference.reach(), cells=cells)
    rows = [_own_row(reference, start, step) for step in chosen]
    missing: dict[str, str] = {}
    for name in asked:
        try:
            rows += [_row(reference, name, peer(name), scene, step, contact) for step in chosen]
        except MissingExtraError as error:
            missing[name] = str(error)
    last = float(reference.times[-1])
    ended = [f"compared up to {last:.4g} s, where trundle's run ends"] if last < times[-1] else []
    return Comparison(tuple(rows), missing, (*ended, *scene.notes), last)


def _times(duration: float, samples: int, step: float) -> FloatArray:
    """Return about `samples` even times, s, whose spacing the longest step divides, unless the run is too short."""
    if 2 * step > duration:
        raise InputError("steps", step, f"at most half of the duration, {duration:g} s")
    spacing = step * max(1, round(duration / samples / step))
    return spacing * np.arange(int(duration / spacing * (1 + 1e-12)) + 1, dtype=np.float64)


def _own_row(reference: _Reference, start: Start, step: float) -> PeerRow:
    """Return what trundle does with a fixed step."""
    step, _ = divide_interval(reference.times, step)
    run = _own(reference.system, start, reference.times, step)
    short = "" if len(run.states) == len(reference.times) else f"ends at {run.times[-1]:.4g} s"
    return reference.row(OWN, step, run.states, run.seconds, short)


def _row(reference: _Reference, name: str, found: Peer, scene: PeerScene, step: float, contact: Contact) -> PeerRow:
    """Return what a simulator does with a step, or why it does not."""
    step, _ = divide_interval(reference.times, step)
    try:
        run = found.run(scene, reference.times, step, _LIMIT, contact=contact)
    except InputError as error:
        return PeerRow(name, step, note=str(error))
    if not np.all(np.isfinite(run.bodies)):
        return PeerRow(name, step, seconds=run.seconds, note=run.note or "the run is not finite")
    return reference.row(name, step, reference.states_of(scene, run), run.seconds, run.note)


@dataclass(frozen=True, eq=False)
class _SampledState:
    """Trundle's own run: states (n, n_x) at the first n of the times that were asked for, and the modes there."""

    times: FloatArray
    states: FloatArray
    modes: tuple[Mode, ...]
    seconds: float


def _own(system: ContactSystem, start: Start, times: FloatArray, step: float | None) -> _SampledState:
    """Run trundle, with an adaptive step where none is given."""
    method = chosen_method(float(times[-1]), None, step, None, "projection")
    runner, first = Runner(system, method, None, times, None), first_of(system, start)
    _ = runner.phase(first.mode).integrator
    begin = clock.process_time()
    runner.run(first, float(times[-1]))
    seconds = clock.process_time() - begin
    segments = runner.log.segments
    at = np.concatenate([segment.times for segment in segments])
    states = np.concatenate([segment.states for segment in segments])
    modes = [segment.phase.mode for segment in segments for _ in segment.times]
    count = int(np.searchsorted(times, at[-1] * (1 + 1e-12) + 1e-12, side="right"))
    rows = np.searchsorted(at, times[:count] * (1 + 1e-12) + 1e-12, side="right") - 1
    return _SampledState(times[:count], states[rows], tuple(modes[i] for i in rows), seconds)


class _Reference:
    """Trundle's run with an adaptive step, and the measures of others by it."""

    def __init__(self, system: ContactSystem, run: _SampledState) -> None:
        self.system, self.run, self.times = system, run, run.times
        model = system.model()
        self._energy = ca.Function("energy", [model.x], [model.energy()])
        frames = [motion.p for name, motion in model.motions.items() if name in model.columns]
        self._places = ca.Function("places", [model.x], [ca.vertcat(*frames)])
        self.energy, self.places = self._energies(run.states), self._place_frames(run.states)
        rest = np.array(run.states)
        for name in model.columns:
            spec = next(spec for spec in model.specs if spec.name == name)
            for key in spec.joint.velocity():
                rest[:, model.layout[f"{name}.{key}"]] = 0.0
        potential = self._energies(rest)
        self.scale = max(float(np.max(self.energy - potential)), float(np.ptp(potential))) or 1.0
        if len(self.times) < 2:
            raise InputError("start", "a run that ends at once", "one that goes on: simulate says how it ends")

    def _energies(self, states: FloatArray) -> FloatArray:
        return np.asarray(self._energy(states.T)).ravel()

    def _place_frames(self, states: FloatArray) -> FloatArray:
        """Return the origins (n, bodies, d) of the frames of all bodies that move, m, world."""
        return np.asarray(self._places(states.T)).T.reshape(len(states), -1, self.system.d)

    def reach(self) -> float:
        """Return half the width of the terrain that the run needs, m."""
        far = float(np.max(np.abs(self.places - self.places[0])))
        sizes = (pair.shape_A.reference_length for pair in self.system.contact_pairs)
        return far + 3.0 * max(sizes, default=1.0)  # without contacts none is needed: any

    def row(self, name: str, step: float, states: FloatArray, seconds: float, note: str) -> PeerRow:
        """Return the measures of a run by its states (n, n_x)."""
        n = len(states)
        gap, slip = self._touches(states)
        energy = float(np.max(np.abs(self._energies(states) - self.energy[:n]))) / self.scale
        path = float(np.max(np.linalg.norm(self._place_frames(states) - self.places[:n], axis=2)))
        return PeerRow(name, step, gap, slip, energy, path, seconds, note)

    def _touches(self, states: FloatArray) -> tuple[float, float]:
        """Return the largest |gap|, m, of contacts closed here, and the largest slip, m/s, of those that roll."""
        near: dict[int, Approach] = {}
        gaps, slips = [0.0], [0.0]
        for x, mode in zip(states, self.run.modes, strict=False):
            for i, law in enumerate(mode.laws):
                if not LAWS[law].touching or self.system.contact_pairs[i].joint is not None:
                    continue
                try:
                    there, near[i] = self._near(x, i, mode.atlas, near.get(i))
                except InputError:
                    gaps.append(np.nan)
                    continue
                gaps.append(abs(near[i].gap))
                v, n = (np.asarray(value).ravel() for value in
                        touch_function(self.system, there.atlas, i)(there.x)[1:3])  # fmt: skip
                if not LAWS[law].slipping:
                    slips.append(float(np.linalg.norm(v - n * (n @ v))))
        return float(np.max(gaps)), float(np.max(slips))

    def _near(self, x: FloatArray, contact: int, atlas: Atlas, before: Approach | None) -> tuple[Closure, Approach]:
        seen = {} if before is None else {contact: before}
        found, near = Closure(self.system, (contact,), x, atlas).with_approaches(seen)
        return found, near[contact]

    def states_of(self, scene: PeerScene, run: PeerRun) -> FloatArray:
        """Return the states (n, n_x) of another simulator's run; hands move as they do here."""
        model, states = self.system.model(), np.array(self.run.states[: len(run.bodies)])
        for k, body in enumerate(scene.bodies):
            if body.name not in model.columns:
                continue
            p, q, w, v = np.split(run.bodies[:, k], (3, 7, 10), axis=1)
            values: dict[str, FloatArray] = {"joint": run.joints[:, k, :1], "rate": run.joints[:, k, 1:]}
            if body.joint == "free":
                values = {"position": p, "orientation": q, "angular_velocity": w, "velocity": v}
            elif body.joint == "in-plane":
                turn = 2.0 * np.arctan2(-q[:, 2], q[:, 0])
                angle = np.unwrap(turn)[:, None]
                before = states[0, model.layout[f"{body.name}.orientation"]]
                angle += 2.0 * np.pi * np.round((before - angle[0]) / (2.0 * np.pi))
                values = {"position": p[:, ::2], "orientation": angle, "angular_velocity": -w[:, 1:2]}
                values["velocity"] = v[:, ::2]
            for key, value in values.items():
                states[:, model.layout[f"{body.name}.{key}"]] = value
        return states

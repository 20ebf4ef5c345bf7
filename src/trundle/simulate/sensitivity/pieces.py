"""Pieces: measured motions, cut where another start is looked for, and how far a simulation is from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice, instance, positive
from trundle.errors import InputError
from trundle.models.linear.names import entries, numbers_of
from trundle.models.linear.point import OperatingPoint
from trundle.models.tree.system import ContactSystem, Start
from trundle.simulate.compiled_mode import project_state
from trundle.simulate.many.feedback import LinearFeedback
from trundle.simulate.run import first_of
from trundle.simulate.runner import Runner
from trundle.simulate.sensitivity.trace import Directions, runner_of
from trundle.status import Status

_DIFFERENCE = 1e-6  # of coordinates of order one: central differences have 1e-10 there


@final
@dataclass(frozen=True, eq=False)
class Measured:
    """A measured motion.

    Parameters
    ----------
    times : (N,) s
        Ascending; the motion begins at the first.
    values : mapping of str to (N,) or (N, size)
        States by their names, such as ``"body.position"`` or ``"body.position.x"``; what was not measured is NaN.
    start : Start
        Where it begins, as far as that is known.
    deviations : mapping of str to float, optional
        Standard deviation of the noise of each of `values`, in its unit: how much it counts; 1 unless given.
    policy : LinearFeedback, optional
        What the inputs were.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> seen = tr.Measured([0.0, 0.5, 1.0], {"body.position.x": [0.0, 0.08, 0.32]}, pair.place())
    >>> seen.values["body.position.x"].shape
    (3, 1)
    """

    times: ArrayLike
    values: Mapping[str, ArrayLike]
    start: Start
    deviations: Mapping[str, float] = field(default_factory=dict)
    policy: LinearFeedback | None = None

    def __post_init__(self) -> None:
        times = array("times", self.times, (None,), unit="s")
        if len(times) < 2 or not np.all(np.diff(times) > 0):
            raise InputError("times", self.times, "at least two ascending times (s)")
        instance("start", self.start, Start, "a Start, what model.place(...) returns")
        if not isinstance(self.values, Mapping) or not self.values:
            raise InputError("values", self.values, "arrays of measured states by their names")
        values = {}
        for name, given in self.values.items():
            try:
                column = np.array(given, dtype=np.float64).reshape(len(times), -1)
            except (TypeError, ValueError):
                raise InputError(f"values[{name!r}]", given, f"{len(times)} numbers, or rows of them") from None
            column.setflags(write=False)
            values[name] = column
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)
        for name, deviation in self.deviations.items():
            positive(f"deviations[{choice('deviations', name, values)!r}]", deviation)


@dataclass(frozen=True, eq=False)
class RunPiece:
    """A part of a measured motion that is simulated in one go, from a start that may be looked for.

    Attributes
    ----------
    times : (N,) s
        From 0.
    columns : (n_y,)
        The states that are measured.
    values, deviations : (N, n_y), (n_y,)
    start : Start
        In its mode.
    directions : (n_x, n_z)
        What the start may be moved by: x = x0 + directions z, on the constraints.
    rows : (n_z, n_x)
        Coordinates in which a piece begins where the one before ends; without any, it is the first.
    policy : LinearFeedback or None
    """

    times: FloatArray
    columns: np.ndarray
    values: FloatArray
    deviations: FloatArray
    start: Start
    directions: FloatArray
    rows: FloatArray
    policy: LinearFeedback | None

    def runner(self, system: ContactSystem, relative_tolerance: float) -> Runner:
        """Return what simulates the piece."""
        return runner_of(system, self.times, self.policy, relative_tolerance)

    def begin_at(self, system: ContactSystem, z: FloatArray) -> Start:
        """Return the start moved by `z` (n_z,), on the constraints of the system."""
        moved = replace(self.start, x=self.start.x + self.directions @ z)
        first = first_of(system, moved)
        phase = self.runner(system, 1e-10).phase(first.mode)
        x, p = first.x, phase.parameters(np.zeros(phase.input_count))
        for _ in range(3):
            x = project_state(phase, 0.0, x, p)
        return replace(moved, x=x)

    def states(self, system: ContactSystem, z: FloatArray, relative_tolerance: float) -> FloatArray | None:
        """Return the states (N, n_x) of the simulation, or None where it ends early."""
        runner = self.runner(system, relative_tolerance)
        status = runner.run(first_of(system, self.begin_at(system, z)), float(self.times[-1]))
        states = runner.log.states_at(self.times)
        return states if status is Status.SUCCESS and len(states) == len(self.times) else None

    def off(self, states: FloatArray) -> FloatArray:
        """Return how far the states (N, n_x) are from what was measured, in deviations."""
        error = (states[:, self.columns] - self.values) / self.deviations
        return error[~np.isnan(self.values)]

    def slope(self, derivatives: FloatArray) -> FloatArray:
        """Return the derivatives of `off` from those (N, n_x, m) of the states."""
        return (derivatives[:, self.columns] / self.deviations[:, None])[~np.isnan(self.values)]

    def along(self, system: ContactSystem, z: FloatArray) -> Directions:
        """Return the directions of the free numbers, then of z."""
        names = () if system.free is None else system.free.names
        n, n_z = len(names), len(z)
        start = np.zeros((len(self.start.x), n + n_z))
        for i, e in enumerate(np.eye(n_z) * _DIFFERENCE):
            start[:, n + i] = (self.begin_at(system, z + e).x - self.begin_at(system, z - e).x) / (2 * _DIFFERENCE)
        numbers = np.hstack([np.eye(n), np.zeros((n, n_z))])
        labels = (*names, *(f"start[{i}]" for i in range(n_z)))
        return Directions(labels, start, numbers, np.zeros((0, 0, 0)))


def piece_of(system: ContactSystem, data: Measured, initial: Sequence[str]) -> RunPiece:
    """Return a measured motion as one piece, with these coordinates of its start free."""
    times = np.asarray(data.times) - np.asarray(data.times)[0]
    model = system.model(data.start.atlas)
    known = entries(model, model.layout)
    columns: list[int] = []
    deviations: list[float] = []
    for name, value in data.values.items():
        found = numbers_of("values", name, known)
        if len(found) != np.shape(value)[1]:
            raise InputError(f"values[{name!r}]", np.shape(value), f"{len(found)} columns")
        columns += found
        deviations += [float(data.deviations.get(name, 1.0))] * len(found)
    values = np.hstack([np.asarray(value) for value in data.values.values()])
    X, _ = coordinates(system, data.start, initial) if initial else (np.zeros((len(data.start.x), 0)), None)
    none = np.zeros((0, len(data.start.x)))
    return RunPiece(times, np.array(columns), values, np.array(deviations), data.start, X, none, data.policy)


def coordinates(system: ContactSystem, start: Start, names: Sequence[str] | None) -> tuple[FloatArray, FloatArray]:
    """Return X (n_x, n) and P (n, n_x) of independent coordinates of a start, or of those of these `names`."""
    model = system.model(start.atlas)
    found, P, X = OperatingPoint.of(system, start).independent(start.x, np.zeros(model.u.shape[0]), names or ())
    kept = None if names is None else len({i for name in names for i in numbers_of("initial", name, found)})
    return X[:, :kept], P[:kept]  # those of the names come first

"""Identification: parameters of a model with their covariance from measured motions, by least squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from trundle.checks import FloatArray, array, choice, number, positive
from trundle.errors import InputError, SimulationError
from trundle.models.numbers.changed import Model, at_values, free_numbers, system_of, with_parameters
from trundle.models.tree.system import ContactSystem, Start
from trundle.simulate.sensitivity.forward import carry_directions
from trundle.simulate.sensitivity.pieces import Measured, RunPiece, piece_of
from trundle.simulate.sensitivity.shooting import windows_of
from trundle.simulate.sensitivity.trace import trace_run
from trundle.status import Status

Loss = Literal["linear", "soft_l1", "huber", "cauchy", "arctan"]


@final
@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters that fit measured motions.

    Attributes
    ----------
    parameters : dict of str to float
    covariance : (n, n)
        Of the parameters; those of starts that were found, too, are taken into account.
    model : ContactSystem
        The model with these parameters.
    starts : tuple of Start
        Where the measured motions begin.
    residual : float
        Root of the mean square of what is left, in `Measured.deviations`.
    status : Status
        SUCCESS, or NOT_CONVERGED.
    evaluations : int
        Simulations of all data.

    Examples
    --------
    >>> robot = tr.Robot(gravity=0.0)
    >>> arm = robot.revolute(None, (0, 0), 1.0, 0.01, name="arm")  # kg, kg m2
    >>> robot.resist(arm, damping=0.02)  # N m s/rad; measured is the decay of 0.03
    >>> tree, times = robot.finish(), [0.0, 0.5, 1.0]  # s
    >>> seen = tr.Measured(times, {"arm.rate": np.exp([0.0, -1.5, -3.0])}, tree.place(rates={"arm": 1.0}))
    >>> found = tr.identify(tree, seen, parameters=["arm.damping"])
    >>> round(found.parameters["arm.damping"], 6), found.deviations["arm.damping"] < 1e-6
    (0.03, True)
    """

    parameters: dict[str, float]
    covariance: FloatArray
    model: ContactSystem = field(repr=False)
    starts: tuple[Start, ...]
    residual: float
    status: Status
    evaluations: int

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviation of each parameter, in its unit."""
        return dict(zip(self.parameters, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def correlation(self) -> FloatArray:
        """Correlation (n, n) of the parameters: near 1 or -1 the data do not tell two of them apart."""
        size = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(size, size)


def identify(
    model: Model,
    data: Measured | Sequence[Measured],
    *,
    parameters: Sequence[str] | Mapping[str, float],
    initial: Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    loss: Loss = "linear",
    outlier: float = 1.0,
    window: float | None = None,
    relative_tolerance: float = 1e-10,
) -> Identification:
    """Return the parameters with which simulations fit measured motions best, and their covariance.

    Least squares, r = (x(t_i; q) - y_i)/sigma, with the derivatives of `sensitivities` (scipy's `least_squares`). The
    covariance is s^2 (J'J)^-1, s^2 = r'r/(N - n): deviations matter relative to each other; of a robust loss Huber's.

    Parameters
    ----------
    data : Measured, or several
    parameters : names of `tr.parameters_of(model)`, or a mapping of these to first guesses
    initial : names of coordinates of the starts that are found, too, see `LinearModel.states`
    bounds : mapping of parameter to (low, high), optional
    loss : "linear", "soft_l1", "huber", "cauchy" or "arctan"
        Robust ones count residuals beyond `outlier` (deviations) less.
    window : float, s, optional
        Multiple shooting: long data are cut in windows that begin with states of their own, found too, and end where
        the next begins, each short enough for a first guess that is far off.

    Raises
    ------
    InputError, SimulationError
        If an argument is out of range or a name not known; if the motion of the first guess ends before the data.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.1), mass=0.5), tr.Ground(tr.Line(slope=-0.1)))
    >>> heavy = tr.with_parameters(pair, {"body.inertia": 0.004})  # kg m2; of the pair 0.0025
    >>> run = tr.simulate(heavy, pair.place(), duration=1.0, output_step=0.1)
    >>> seen = tr.Measured(run.time, {"body.position": run["body_position"][:, 0]}, pair.place())
    >>> found = tr.identify(pair, seen, parameters=["body.inertia"])
    >>> found.status.label, round(found.parameters["body.inertia"], 6)
    ('success', 0.004)
    """
    several = [data] if isinstance(data, Measured) else list(data)
    if not several or not all(isinstance(one, Measured) for one in several):
        raise InputError("data", data, "a Measured, or several")
    choice("loss", loss, get_args(Loss))
    if isinstance(parameters, Mapping):
        model = with_parameters(model, parameters)
    system = free_numbers(system_of(model), list(parameters))
    if system.free is None:
        raise InputError("parameters", list(parameters), "at least one name")
    pieces = [piece_of(system, one, initial) for one in several]
    if window is not None:
        cut = (windows_of(system, piece, window, relative_tolerance) for piece in pieces)
        pieces = [part for parts in cut for part in parts]
    problem = _Problem(system, pieces, relative_tolerance)
    return problem.solve(_limits(system.free.names, bounds or {}, problem.first), loss, positive("outlier", outlier))


_JOINED = 1e4
"""Weight of the gap (SI) between the end of a window and the begin of the next: one of 1e-4 counts as a deviation."""


_TOLD = 1e-9
"""Singular value of residuals' slopes, over the largest, that tells nothing."""


class _Problem:
    """Residuals and Jacobian by the parameters, then by what is looked for of every start."""

    def __init__(self, system: ContactSystem, pieces: Sequence[RunPiece], relative_tolerance: float) -> None:
        self.system, self.pieces, self.tolerance = system, pieces, relative_tolerance
        values = np.zeros(0) if system.free is None else system.free.values
        self.count = len(values)
        self.ends = self.count + np.cumsum([0, *(piece.directions.shape[1] for piece in pieces)])
        self.first = np.concatenate([values, np.zeros(self.ends[-1] - self.count)])
        self.sizes = np.where(self.first == 0.0, 1.0, np.abs(self.first))
        counts = [(len(piece.rows), int(np.sum(~np.isnan(piece.values)))) for piece in pieces]
        self.measured = np.repeat([False, True] * len(pieces), [n for pair in counts for n in pair])
        self._at: tuple[bytes, ContactSystem] = (values.tobytes(), system)

    def solve(self, limits: tuple[FloatArray, FloatArray], loss: Loss, scale: float) -> Identification:
        """Return what fits best within limits."""
        if not np.all(np.isfinite(self.residuals(self.first))):
            raise SimulationError("the motion of the first guess ends before the data", Status.NOT_CONVERGED)
        solved = least_squares(
            self.residuals,
            self.first,
            self.jacobian,
            bounds=limits,
            x_scale=self.sizes,
            loss=lambda z: self.loss(z, loss),
            f_scale=scale,
            xtol=1e-10,
            ftol=1e-12,
            gtol=1e-12,
        )
        return self.found(np.asarray(solved.x), loss, scale, bool(solved.success), int(solved.nfev))

    def system_at(self, unknowns: FloatArray) -> ContactSystem:
        """Return the system with the parameters of these unknowns."""
        values = np.array(unknowns[: self.count])
        if self._at[0] != values.tobytes():
            self._at = values.tobytes(), at_values(self.system, values)
        return self._at[1]

    def residuals(self, unknowns: FloatArray) -> FloatArray:
        """Return all residuals; infinite where a simulation ends early or the parameters belong to no model."""
        parts, before = [], np.zeros(0)
        try:
            system = self.system_at(unknowns)
        except InputError:
            return np.full(len(self.measured), np.inf)
        for piece, begin, end in zip(self.pieces, self.ends, self.ends[1:], strict=False):
            states = piece.states(system, unknowns[begin:end], self.tolerance)
            if states is None:
                return np.full(len(self.measured), np.inf)
            if len(piece.rows):
                parts.append(_JOINED * (piece.rows @ (states[0] - before)))
            parts.append(piece.off(states))
            before = states[-1]
        return np.concatenate(parts)

    def loss(self, z: FloatArray, name: str) -> FloatArray:
        """Return a loss of z = (r/scale)^2 with its derivatives (3, N): of what was measured; what is joined is not."""
        whole, weight, slope = _losses(z, name)
        linear = z, np.ones_like(z), np.zeros_like(z)
        pairs = zip((whole, weight, slope), linear, strict=True)
        return np.array([np.where(self.measured, robust, plain) for robust, plain in pairs])

    def jacobian(self, unknowns: FloatArray) -> FloatArray:
        """Return the derivatives of `residuals`."""
        system, rows, before = self.system_at(unknowns), [], np.zeros((0, 0))
        for piece, begin, end in zip(self.pieces, self.ends, self.ends[1:], strict=False):
            z = unknowns[begin:end]
            trace = trace_run(piece.runner(system, self.tolerance), piece.begin_at(system, z))
            derived = carry_directions(trace, piece.along(system, z)).derivatives
            whole = np.zeros((*derived.shape[:2], len(unknowns)))
            whole[..., : self.count], whole[..., begin:end] = derived[..., : self.count], derived[..., self.count :]
            if len(piece.rows):
                rows.append(_JOINED * (piece.rows @ (whole[0] - before)))
            rows.append(piece.slope(whole))
            before = whole[-1]
        return np.vstack(rows)

    def found(self, unknowns: FloatArray, loss: str, scale: float, success: bool, count: int) -> Identification:
        """Return what was found."""
        r, J, system = self.residuals(unknowns), self.jacobian(unknowns), self.system_at(unknowns)
        covariance = _covariance(r, J, self.measured, loss, scale)[: self.count, : self.count]
        covariance.setflags(write=False)
        names = () if system.free is None else system.free.names
        starts = (
            piece.begin_at(system, unknowns[begin:end])
            for piece, begin, end in zip(self.pieces, self.ends, self.ends[1:], strict=False)
            if not len(piece.rows)
        )
        return Identification(
            dict(zip(names, unknowns[: self.count].tolist(), strict=True)),
            covariance,
            system,
            tuple(starts),
            float(np.sqrt(np.mean(r[self.measured] ** 2))),
            Status.SUCCESS if success else Status.NOT_CONVERGED,
            count,
        )


def _covariance(r: FloatArray, J: FloatArray, measured: NDArray[np.bool_], loss: str, scale: float) -> FloatArray:
    """Return the covariance of all unknowns (Huber 1981, sec. 7.6): of a linear loss s^2 (J'J)^-1.

    Of unknowns that the residuals do not tell, alone or from one another, it is very large: singular values of J, its
    columns of one size, below `_TOLD` are round-off and count as that.
    """
    spare = len(r) - J.shape[1]
    if spare <= 0:
        return np.full((J.shape[1], J.shape[1]), np.inf)
    seen = r[measured]
    z = (seen / scale) ** 2
    _, weight, slope = _losses(z, loss)
    score, steep = float(np.sum((weight * seen) ** 2)), float(np.mean(weight + 2.0 * z * slope))
    size = np.linalg.norm(J, axis=0)
    size[size == 0.0] = 1.0
    _, told, axes = np.linalg.svd(J / size, full_matrices=False)
    root = axes / np.maximum(told, _TOLD * told[0])[:, None] / size
    return np.asarray(root.T @ root * (score / spare / steep**2), dtype=np.float64)


def _losses(z: FloatArray, loss: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a loss of z = (r/scale)^2 with its first and second derivative: the first is how much r counts."""
    one, far = np.ones_like(z), np.maximum(z, 1.0)
    return {
        "linear": (z, one, 0.0 * one),
        "soft_l1": (2 * (1 + z) ** 0.5 - 2, (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5),
        "huber": (np.where(z > 1, 2 * far**0.5 - 1, z), far**-0.5, np.where(z > 1, -0.5 * far**-1.5, 0.0)),
        "cauchy": (np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2),
        "arctan": (np.arctan(z), 1 / (1 + z**2), -2 * z / (1 + z**2) ** 2),
    }[loss]


def _limits(
    names: Sequence[str], bounds: Mapping[str, tuple[float, float]], first: FloatArray
) -> tuple[FloatArray, FloatArray]:
    low, high = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    for name, pair in bounds.items():
        i = list(names).index(choice("bounds", name, names))
        low[i], high[i] = (number(f"bounds[{name!r}]", end) for end in array(f"bounds[{name!r}]", pair, (2,)))
        if not low[i] < high[i]:
            raise InputError(f"bounds[{name!r}]", pair, "(low, high) with low < high")
        if not low[i] <= first[i] <= high[i]:
            raise InputError(f"bounds[{name!r}]", pair, f"around the first guess, {first[i]:g}")
    return low, high

"""Linear models of bodies in contact: x' = f(x, u) about a state, in independent coordinates of its mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, positive
from trundle.errors import InputError
from trundle.models.linear.differences import refuse_mismatch
from trundle.models.linear.point import Model, OperatingPoint, point_of
from trundle.models.linear.steady import Steady
from trundle.models.tree.system import Start

EXACT = 1e-9
"""Rates and accelerations (SI) that count as zero."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """z' = drift + A z + B (u - u0), y = y0 + C z + D (u - u0), for small z; sampled: z+ = A z + B (u - u0).

    Attributes
    ----------
    A, B, C, D : (n, n), (n, n_u), (n_y, n), (n_y, n_u)
    states, inputs, outputs : tuple of str
        Names of z, u and y: a joint's ``hip.joint``, ``hip.rate``, ``hip.torque``, a body's ``trunk.position.x``. An
        orientation in space counts as a rotation vector about world axes, rad.
    directions : (n_x, n)
        dx/dz: the change of the whole state, contact coordinates and dependent velocities too, for each z.
    drift : (n,)
        z' at z = 0: zero at an equilibrium and, seen from a frame that moves along, in a steady motion.
    steady : Steady or None
        The rates of the steady motion that the state is in.
    output : (n_y,)
        y0, the outputs at z = 0.
    period : float s, or None
        Sampling period with inputs held; None: continuous time.

    Examples
    --------
    >>> robot = tr.Robot()
    >>> arm = robot.revolute(None, (0, 0), 1.0, 0.01, center_of_mass=(0.0, -0.2), name="arm")  # kg, kg m2, m
    >>> tree = robot.finish()
    >>> hanging = tr.linearize(tree, tree.place())
    >>> hanging.states, hanging.A.round(2).tolist()  # m g 0.2 m / 0.05 kg m2
    (('arm.joint', 'arm.rate'), [[0.0, 1.0], [-39.24, 0.0]])
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    directions: FloatArray
    drift: FloatArray
    steady: Steady | None
    output: FloatArray
    period: float | None = None

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of A, by real part, then imaginary part; 1/s, or factors a period."""
        return np.sort_complex(np.asarray(np.linalg.eigvals(self.A), dtype=np.complex128))

    def sampled(self, period: float) -> LinearModel:
        """Return the model at the times 0, T, 2 T, ... with the input held in between (exact).

        Raises
        ------
        InputError
            If the model is sampled already, or its state drifts.
        """
        from scipy.signal import cont2discrete

        if self.period is not None:
            raise InputError("period", self.period, "of a model in continuous time: this one is sampled")
        T = positive("period", period, "s")
        if np.any(self.drift):
            raise InputError("drift", self.drift.tolist(), "zeros: an equilibrium or a steady motion")
        A, B, C, D, _ = cont2discrete((self.A, self.B, self.C, self.D), T)
        return replace(self, A=A, B=B, C=C, D=D, period=T)


def linearize(
    model: Model,
    start: Start,
    *,
    inputs: ArrayLike | None = None,
    outputs: Sequence[str] = (),
    states: Sequence[str] = (),
    period: float | None = None,
) -> LinearModel:
    """Return the linear model of a robot or a pair about a state, in the mode it is in.

    The state moves on the manifold of its constraints c(x) = 0 (gaps, rolling velocities, lengths of quaternions).
    With independent coordinates z = P dx and the tangents dx = X z, dc/dx X = 0,

        z' = P f(x0, u0) + P df/dx X z + P df/du (u - u0).

    Which constraints count is decided in natural sizes, and every call is checked against differences of f between
    states that a simulation's projection puts onto the manifold.

    Place, heading and wheels' angles stay, with eigenvalues of zero. In a steady motion (see `equilibrium`) z is what
    an observer sees who moves with it: A is constant along it.

    Parameters
    ----------
    model : RollingPair, RollingTree (what `Robot.finish` returns) or ContactSystem
    start : Start
        From ``model.place(...)``.
    inputs : (n_u,), optional
        u0; zero unless given.
    outputs : sequence of str
        Names of states, ``"<contact>.force"`` (N, world) or ``"energy"`` (J), all components where none is said.
    states : sequence of str
        Coordinates that come first, and others only where those do not tell all: for models along a run, at
        ``tr.start_at(run, time)``, the `states` of the first.
    period : float, s, optional
        Of a sampled model, see `LinearModel.sampled`.

    Raises
    ------
    InputError
        If there is no such output or coordinate, the state is at a chart's pole or off its constraints, a number is
        not finite, or differences do not agree: where f jumps, as rolling friction at rest.

    Examples
    --------
    A disc that stands on edge falls with the rate sqrt(m g r / (I + m r^2)); rolling fast enough it does not.

    >>> robot = tr.Robot(gravity=(0, 0, -9.81))
    >>> disc = robot.free(1.0, [0.0025, 0.0025, 0.005], shape=tr.Disc(0.1), name="disc")  # kg, kg m2, m
    >>> robot.terrain(tr.Plane(), friction=1.0)
    >>> tree, half = robot.finish(), 0.5**0.5
    >>> standing = tree.place(disc=(0, 0, 0.1, half, half, 0, 0))
    >>> linear = tr.linearize(tree, standing)
    >>> round(float(linear.eigenvalues[-1].real ** 2), 6)  # m g r / (I + m r^2)
    78.48
    """
    point, x, u = point_of(model, start, inputs)
    found = _linear(point, x, u, outputs, states)
    return found if period is None else found.sampled(period)


def _linear(
    point: OperatingPoint, x: FloatArray, u: FloatArray, outputs: Sequence[str], states: Sequence[str]
) -> LinearModel:
    rate, F, G = point.at(x, u)
    found, P, X = point.independent(x, u, states)
    refuse_mismatch(point, x, u, P, X, F, G)
    steady = point.fields.steady(P, X, x, rate, F)
    moving = 0.0 if steady is None else steady.slope
    stays = steady is not None or float(np.max(np.abs(P @ rate), initial=0.0)) <= EXACT
    labels, y, C, D = point.outputs(outputs, x, u)
    return LinearModel(
        A=P @ (F - moving) @ X,
        B=P @ G,
        C=C @ X,
        D=D,
        states=tuple(entry.name for entry in found),
        inputs=tuple(entry.name for entry in point.inputs),
        outputs=labels,
        directions=X,
        drift=np.zeros(len(found)) if stays else P @ rate,
        steady=steady,
        output=y,
    )

"""Linear models of bodies in contact: x' = f(x, u) about a state, in independent coordinates of its mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from trundle.checks import FloatArray, array, positive
from trundle.contact.laws import laws_of
from trundle.errors import InputError
from trundle.models.linear.coordinates import independent
from trundle.models.linear.names import POSES, Entry, axes_of, entries, is_quaternion, numbers_of
from trundle.models.linear.steady import Fields, Steady
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.model import TIME, TreeModel
from trundle.models.tree.multibody import Dynamics, Mode
from trundle.models.tree.system import ContactSystem, Start

EXACT = 1e-9
"""Rates and accelerations (SI) that count as zero."""
Model = RollingPair | RollingTree | ContactSystem


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


def kept(model: TreeModel, dynamics: Dynamics, mode: Mode) -> ca.SX:
    """Return what a motion keeps: the constraints' rows, aligned contact coordinates, lengths of quaternions, time."""
    terms = dynamics.terms
    parts = [terms.position, terms.velocity]
    for constraint, law, k in zip(model.constraints, laws_of(model.constraints, mode), terms.kin, strict=True):
        parts.append(k.shift if law.touching else constraint.s)
    parts += [ca.sumsqr(model.x[where]) for key, where in model.layout.items() if is_quaternion(model, key)]
    if TIME in model.layout:
        parts.append(model.x[model.layout[TIME]])
    return ca.densify(ca.vertcat(*parts))


class Point:
    """The equations of motion of a system in the mode of a start, with their derivatives."""

    def __init__(self, system: ContactSystem, start: Start) -> None:
        mode = start.laws or system.start_laws
        self.model: TreeModel = system.model(start.atlas)
        self.dynamics: Dynamics = self.model.dynamics(mode)
        x, u, rate = self.model.x, self.model.u, self.dynamics.xdot
        rows = kept(self.model, self.dynamics, mode)
        self.kept = ca.Function("kept", [x, u], [rows, ca.jacobian(rows, x)])
        self._rates = ca.Function("rates", [x, u], [rate, ca.jacobian(rate, x), ca.jacobian(rate, u)])
        self._margins = ca.Function("margins", [x, u], [ca.vertcat(*self.dynamics.margins.values())])
        self.fields = Fields(system, self.model)

    @classmethod
    def of(cls, system: ContactSystem, start: Start) -> Point:
        """Return the one for a start, made once."""
        return system.kept(("linear", start.atlas, start.laws), lambda: cls(system, start))

    def at(self, x: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return x' (n_x,), dx'/dx, dx'/du, and the gradients (m, n_x) of what is kept."""
        rate, F, G = (np.asarray(v) for v in self._rates(x, u))
        N = np.asarray(self.kept(x, u)[1])
        if not all(np.all(np.isfinite(M)) for M in (rate, F, G, N)):
            raise InputError(
                "start", x.tolist(), "a state whose rate and derivatives are finite: away from chart poles"
            )
        return rate.ravel(), F, G, N

    @property
    def inputs(self) -> list[Entry]:
        """The entries of u."""
        return entries(self.model, self.model.input_layout)

    def at_rest(self, x: FloatArray) -> FloatArray:
        """Return the state with velocities of zero."""
        still = np.array(x)
        for key, where in self.model.layout.items():
            if key != TIME and key.rpartition(".")[2] not in POSES:
                still[where] = 0.0
        return still

    def margins(self, x: FloatArray, u: FloatArray) -> dict[str, float]:
        """Return the margins of the mode by name."""
        named = self.dynamics.margins
        values = np.asarray(self._margins(x, u)).ravel().tolist()
        return dict(zip(named, values, strict=True))

    def outputs(
        self, names: Sequence[str], x: FloatArray, u: FloatArray
    ) -> tuple[tuple[str, ...], FloatArray, FloatArray, FloatArray]:
        """Return the names of outputs with their components, their values y (n_y,), dy/dx and dy/du."""
        model, found = self.model, self.dynamics
        forces = {f"{c.name}.force": model.to_world @ f for c, f in zip(model.constraints, found.forces, strict=True)}
        known, labels, values = entries(model, model.layout), [], [ca.SX(0, 1)]
        for name in names:
            if name == "energy":
                labels.append(name)
                values.append(found.energy)
            elif name in forces:
                labels += [f"{name}.{axis}" for axis in axes_of(model.d)]
                values.append(forces[name])
            else:
                chosen = numbers_of("outputs", name, known, ["energy", *forces])
                labels += [known[i].name for i in chosen]
                values.append(model.x[chosen])
        y = ca.densify(ca.vertcat(*values))
        read = ca.Function("read", [model.x, model.u], [y, ca.jacobian(y, model.x), ca.jacobian(y, model.u)])
        y0, C, D = (np.asarray(v) for v in read(x, u))
        return tuple(labels), y0.ravel(), C, D


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
        If there is no such output or coordinate, the state is at a chart's pole, or a number is not finite.

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


def _linear(point: Point, x: FloatArray, u: FloatArray, outputs: Sequence[str], states: Sequence[str]) -> LinearModel:
    rate, F, G, N = point.at(x, u)
    found, P, X = independent(point.model, x, N, states)
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


def point_of(model: Model, start: Start, inputs: ArrayLike | None) -> tuple[Point, FloatArray, FloatArray]:
    """Return the equations of motion in the mode of a start, its state and the inputs, checked."""
    system = model if isinstance(model, ContactSystem) else model.system
    system.check_start("start", start)
    point = Point.of(system, start)
    sizes = point.model.x.shape[0], point.model.u.shape[0]
    u = np.zeros(sizes[1]) if inputs is None else array("inputs", inputs, (sizes[1],))
    return point, array("start", start.x, (sizes[0],)), u

"""The equations of motion of a system in one mode, with their derivatives and the manifold its states are on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array
from trundle.contact.laws import Law, laws_of
from trundle.errors import InputError
from trundle.models.linear.constraints import kept_parts
from trundle.models.linear.coordinates import Gradients, independent
from trundle.models.linear.names import POSES, NamedEntry, axes_of, entries, is_quaternion, numbers_of
from trundle.models.linear.sizes import Sizes, Yardstick
from trundle.models.linear.steady import Fields
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.model import TIME, TreeModel
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.system import ContactSystem, Start
from trundle.threads import cached_property

Model = RollingPair | RollingTree | ContactSystem

_PROJECTIONS = 10
"""Most steps of the simulation's projection: each squares what is left."""


class OperatingPoint:
    """The equations of motion of a system in the mode of a start, with their derivatives."""

    def __init__(self, system: ContactSystem, start: Start) -> None:
        self.system = system
        self._mode = start.laws or system.start_laws
        self.model: TreeModel = system.model(start.atlas)
        self.dynamics: Dynamics = self.model.dynamics(self._mode)
        x, u, rate = self.model.x, self.model.u, self.dynamics.xdot
        anchor = ca.SX.sym("anchor", x.shape[0])
        parts = list(kept_parts(self.model, self.dynamics, self._mode, anchor))
        rows = ca.densify(ca.vertcat(*(part.rows for part in parts)))
        self._kept = ca.Function("kept", [x, u, anchor], [rows, ca.densify(ca.jacobian(rows, x))])
        derivatives = [rate, ca.jacobian(rate, x), ca.jacobian(rate, u)]
        self._rates = ca.Function("rates", [x, u], [ca.densify(value) for value in derivatives])
        self._margins = ca.Function("margins", [x, u], [ca.vertcat(*self.dynamics.margins.values())])
        self._yardstick = Yardstick(system, self.model, parts)
        self.fields = Fields(system, self.model)

    @classmethod
    def of(cls, system: ContactSystem, start: Start) -> OperatingPoint:
        """Return the one for a start, made once."""
        return system.keep(("linear", start.atlas, start.laws), lambda: cls(system, start))

    def at(self, x: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return x' (n_x,), dx'/dx and dx'/du."""
        rate, F, G = (np.asarray(value) for value in self._rates(x, u))
        _refuse_infinite(x, rate, F, G)
        return rate.ravel(), F, G

    def rate(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return x' (n_x,)."""
        return np.asarray(self._rate(x, u)).ravel()

    @cached_property
    def _rate(self) -> ca.Function:
        return ca.Function("rate", [self.model.x, self.model.u], [ca.densify(self.dynamics.xdot)])

    def residual(self, x: FloatArray, u: FloatArray, anchor: FloatArray) -> FloatArray:
        """Return how far (m,) a state is off the manifold that the state `anchor` is on."""
        return np.asarray(self._kept(x, u, anchor)[0]).ravel()

    def gradients(self, x: FloatArray, u: FloatArray) -> Gradients:
        """Return the constraints to first order."""
        N = np.asarray(self._kept(x, u, x)[1])
        _refuse_infinite(x, N)
        return Gradients(N, self.sizes(x))

    def sizes(self, x: FloatArray) -> Sizes:
        """Return the natural sizes of the state's entries and of the constraints."""
        return self._yardstick.at(x)

    def independent(
        self, x: FloatArray, u: FloatArray, wanted: Sequence[str] = ()
    ) -> tuple[tuple[NamedEntry, ...], FloatArray, FloatArray]:
        """Return independent coordinates, see `trundle.models.linear.coordinates.independent`."""
        return independent(self.model, x, self.gradients(x, u), wanted)

    def off(self, x: FloatArray, u: FloatArray, anchor: FloatArray) -> float:
        """Return how far a state is off the manifold, the largest row in natural sizes."""
        rows = self.residual(x, u, anchor) / self.sizes(x).rows
        return float(np.max(np.abs(rows), initial=0.0))

    def nearest(self, x: FloatArray, u: FloatArray, anchor: FloatArray, held: Collection[int] = ()) -> FloatArray:
        """Return the state on the manifold next to `x`, by Newton's method; as near as round-off lets it.

        Entries that are `held` stay.
        """
        best, off = x, self.off(x, u, anchor)
        for _ in range(_PROJECTIONS):
            if not off > 0.0:
                break
            x = x + self.gradients(x, u).smallest(self.residual(x, u, anchor), held)
            now = self.off(x, u, anchor)
            if not now < off:
                break
            best, off = x, now
        return best

    def project(self, x: FloatArray, u: FloatArray, anchor: FloatArray) -> FloatArray:
        """Return the state on the manifold next to `x` (n_x,) that a simulation would go on from.

        Apart from unit quaternions of prescribed bodies this shares nothing with `nearest`: neither the rows of the
        constraints nor the decision which of them count.
        """
        for _ in range(_PROJECTIONS):
            x = np.array(x)
            for key, where in self.model.layout.items():
                if is_quaternion(self.model, key):
                    x[where] /= np.linalg.norm(x[where])
            after = np.asarray(self._projection(x, u)).ravel()
            moved = float(np.max(np.abs(after - x) / self.sizes(anchor).entries, initial=0.0))
            x = after
            if moved < 1e-15:
                break
        return x

    @cached_property
    def _projection(self) -> ca.Function:
        return ca.Function("projection", [self.model.x, self.model.u], [self.model.project(self._mode)])

    @property
    def laws(self) -> Sequence[Law]:
        """The laws of the mode, one a contact."""
        return laws_of(self.model.constraints, self._mode)

    @property
    def inputs(self) -> list[NamedEntry]:
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


def _refuse_infinite(x: FloatArray, *values: FloatArray) -> None:
    if not all(np.all(np.isfinite(value)) for value in values):
        allowed = "a state whose rate and derivatives are finite: away from chart poles"
        raise InputError("start", x.tolist(), allowed)


def point_of(model: Model, start: Start, inputs: ArrayLike | None) -> tuple[OperatingPoint, FloatArray, FloatArray]:
    """Return the equations of motion in the mode of a start, its state and the inputs, checked."""
    system = model if isinstance(model, ContactSystem) else model.system
    system.check_start("start", start)
    point = OperatingPoint.of(system, start)
    sizes = point.model.x.shape[0], point.model.u.shape[0]
    u = np.zeros(sizes[1]) if inputs is None else array("inputs", inputs, (sizes[1],))
    return point, array("start", start.x, (sizes[0],)), u

"""Linearisation of the local error's dynamics along a reference, by algorithmic differentiation."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.control.regulators.local_error import LocalError
from trundle.errors import InputError
from trundle.models.linear.constraints import stack_kept_rows
from trundle.models.tree.multibody import Dynamics
from trundle.numerics.space import cross


@dataclass(frozen=True, eq=False)
class Linearization:
    """e' = A(t) e + B(t) (u - u_ref) near a reference (final).

    With e = E(x_ref, x), the dynamics of the error are e' = dE/dx_ref f(x_ref, u_ref) + dE/dx f(x, u). Then
    B = d(e')/du and A = d(e')/dx X, where X = dx/de solves [dE/dx; N] X = [I; 0] at x = x_ref: N is the gradient
    of what the motion keeps (`trundle.models.linear`), as quaternions' lengths.

    Parameters
    ----------
    error : LocalError
    """

    error: LocalError

    def along(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A (N, n_e, n_e) and B (N, n_e, n_u) at N states (rolling coordinates) and inputs.

        Raises
        ------
        InputError
            If the coordinates are singular at a state: a chart's pole, bodies curved alike.
        """
        A, B, _ = self.with_directions(states, inputs)
        return A, B

    def with_directions(self, states: FloatArray, inputs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, B as `along`, and X = dx/de (N, n_x, n_e)."""
        n = self.error.size
        phi, rate, P, J, Ju, N = _each(self._motion, states, inputs)
        Ep, H = _each(self._map, phi[:, :, 0], rate[:, :, 0])
        N = np.linalg.svd(N)[2][:, : N.shape[2] - n] if np.all(np.isfinite(N)) else N  # independent rows
        rows = np.concatenate([Ep @ P, N], axis=1)
        if not all(np.all(np.isfinite(M)) for M in (rows, J, Ju)) or np.any(np.linalg.cond(rows) > 1e12):
            raise InputError("states", "singular coordinates", "states away from a chart's pole and from conformity")
        X = np.asarray(np.linalg.inv(rows)[:, :, :n], dtype=np.float64)
        return (Ep @ J + H @ P) @ X, Ep @ Ju, X

    @property
    def _motion(self) -> ca.Function:
        """(x, u) -> features, their rates, dphi/dx, d(phi')/dx, d(phi')/du, N."""

        def build() -> ca.Function:
            error, found = self.error, dynamics_of(self.error)
            model = error.model
            phi, _ = error.features_of(model)
            rate = self._feature_rates(found, phi)
            outputs = [phi, rate, *(ca.jacobian(*pair) for pair in ((phi, model.x), (rate, model.x), (rate, model.u)))]
            outputs.append(self._beyond(found))
            return ca.Function("motion", [model.x, model.u], [ca.densify(v) for v in outputs])

        return self.error.twin.system.keep(("motion", self.error.atlas), build)

    @property
    def _map(self) -> ca.Function:
        """(phi, phi') -> dE/dphi and d/dphi (dE/dphi phi' + dE/dphi_ref phi_ref'), both at phi = phi_ref."""

        def build() -> ca.Function:
            size = self._motion.size1_out(0)
            ref, phi, rate = (ca.SX.sym(name, size) for name in ("ref", "phi", "rate"))
            e = self.error.expression(ref, phi)
            edot = ca.jtimes(e, ref, rate) + ca.jtimes(e, phi, rate)
            both = ca.Function("both", [ref, phi, rate], [ca.jacobian(e, phi), ca.jacobian(edot, phi)])
            return ca.Function("map", [phi, rate], [ca.densify(v) for v in both(phi, phi, rate)])

        return self.error.twin.system.keep(("map", self.error.rolled), build)

    def _feature_rates(self, found: Dynamics, phi: ca.SX) -> ca.SX:
        """Return phi': what is simple by mechanics so, the rest by differentiation along x'."""
        error = self.error
        d, model = error.d, error.model
        contact_pair, k = error.pair.system.contact_pairs[0], found.kin[0]
        A, B = model.motions[contact_pair.body_A], model.motions[contact_pair.body_B]
        to_hand = B.R.T
        al = found.nudot[: B.w.shape[0]] - B.al
        w_rel = A.w - B.w
        if d == 3:
            al, w_rel = to_hand @ (al - ca.cross(B.w, w_rel)), to_hand @ w_rel
        tangents = phi[phi.shape[0] - d * (d - 1) :]
        return ca.vertcat(
            _turning(B.w, B.R),
            B.v,
            _turning(w_rel, to_hand @ A.R),
            to_hand @ k.sB,
            model.u,
            al,
            ca.jtimes(tangents, model.x, found.xdot),
        )

    def _beyond(self, found: Dynamics) -> ca.SX:
        """Return N: what any model keeps and, in the plane, the arc lengths of both surfaces, which roll as one."""
        error, model = self.error, self.error.model
        N = ca.jacobian(stack_kept_rows(model, found, error.pair.law), model.x)
        if model.d == 3:
            return N
        name = next(name for name in model.layout if name.endswith(".relative_velocity"))
        along = ca.jacobian(found.kin[0].rates, model.x[model.layout[name]])
        row = ca.SX(1, model.x.shape[0])
        row[model.layout[f"{model.constraints[0].name}.coordinates"]] = ca.horzcat(-along[1], along[0])
        return ca.vertcat(N, row)


def _turning(w: ca.SX, R: ca.SX) -> ca.SX:
    """Return vec(R') of axes that turn with the angular velocity `w` (k,)."""
    return ca.vertcat(*(cross(w, column) for column in ca.horzsplit(R)))


def _each(function: ca.Function, *values: FloatArray) -> list[FloatArray]:
    """Return the outputs (N, rows, columns) of a function of vectors at N of each, (N, size)."""
    count = len(values[0])
    results = [np.asarray(v) for v in function.map(count)(*(value.T for value in values))]
    return [np.moveaxis(v.reshape(v.shape[0], count, -1), 1, 0) for v in results]


def dynamics_of(error: LocalError) -> Dynamics:
    """Return the equations of motion of the pair of `error` in rolling coordinates, made once."""
    error.pair.check_smooth()
    system = error.twin.system
    return system.keep(("dynamics", error.atlas), lambda: system.model(error.atlas).dynamics(error.pair.law))

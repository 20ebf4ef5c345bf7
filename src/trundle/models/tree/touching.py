"""What a state says of where two bodies touch: Jacobian, normal, velocity and points of one contact."""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.linalg import null_space

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.system import Atlas, ContactSystem

_RANK = 1e-10


def touch_function(system: ContactSystem, atlas: Atlas, contact: int) -> ca.Function:
    """X -> (J, vrel, n, spin row, spin rate, M, x_A, x_B, n in B) of one contact, world axes."""

    def build() -> ca.Function:
        """Build the function of one atlas."""
        model = system.model(atlas)
        joined = model.constraints[contact]
        W = model.to_world
        law = LAWS["pure-rolling"] if model.d == 3 else LAWS["rolling"]
        laws = [law if i == contact else LAWS["separated"] for i in range(len(model.constraints))]
        terms = model.terms(laws)
        k = terms.kin[contact]
        d = model.d
        tA, tB = joined.contact.touch(joined.A, joined.B, joined.s)
        center = ca.SX(ca.DM(system.contact_pairs[contact].center_A))
        J = terms.J[terms.split[contact], :]
        spin_row = J[d:, :] if d == 3 else ca.SX(1, model.nv)
        spin_rate = ca.dot(k.n, k.wrel) if d == 3 else ca.SX(1, 1)
        outputs = [
            W @ J[:d, :], W @ k.vrel, W @ k.n, spin_row, spin_rate, terms.M,
            joined.A.R.T @ tA.r - center, joined.B.R.T @ tB.r, joined.B.R.T @ tB.n,
        ]  # fmt: skip
        return ca.Function("touch", [model.x], outputs)

    return system.kept(("touch", atlas, contact), build)


def contact_points(
    system: ContactSystem, atlas: Atlas, x: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (x_A, x_B, n_B): the contact's points in the frames of both shapes and B's normal in B's frame."""
    values = touch_function(system, atlas, contact)(x)
    return tuple(np.asarray(v).ravel() for v in values[6:9])  # type: ignore[return-value]


def points_on_first(system: ContactSystem, atlas: Atlas, states: FloatArray, contact: int) -> FloatArray:
    """Return the contact's points (N, d), m, in the frame of A's shape at the states (N, n_x)."""
    return np.asarray(touch_function(system, atlas, contact)(states.T)[6]).T


def abscissae(system: ContactSystem, atlas: Atlas, states: FloatArray, contact: int) -> FloatArray:
    """Return the contact's first coordinate (N,), m, in the frame of B's shape at the states (N, n_x)."""
    return np.asarray(touch_function(system, atlas, contact)(states.T)[7])[0]


def velocities_changed(system: ContactSystem, atlas: Atlas, x: FloatArray, jump: FloatArray) -> FloatArray:
    """Return x with nu + `jump` (nv,) in place of nu."""

    def build() -> ca.Function:
        model = system.model(atlas)
        step = ca.SX.sym("jump", model.nv)
        s = ca.vertcat(*(joined.s for joined in model.constraints))
        return ca.Function("changed", [model.x, step], [model.replaced(s, model.nu + step)])

    return np.asarray(system.kept(("changed", atlas), build)(x, jump)).ravel()


def inertia_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray:
    """Return M (nv, nv)."""
    model = system.model(atlas)
    return np.asarray(
        system.kept(("inertia", atlas), lambda: ca.Function("inertia", [model.x], [model.inertia_terms()[0]]))(x)
    )


def loops_at(system: ContactSystem, atlas: Atlas, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return J (m, nv) and the distances (m,), m, of all pins; m = 0: there are none."""

    def build() -> ca.Function:
        model = system.model(atlas)
        J, apart = ca.SX(0, model.nv), ca.SX(0, 1)
        for loop in model.loops:
            rows, _, _, position = loop.rows
            J, apart = ca.vertcat(J, rows), ca.vertcat(apart, position)
        return ca.Function("pins", [model.x], [J, apart])

    J, apart = system.kept(("pins", atlas), build)(x)
    return np.asarray(J), np.asarray(apart).ravel()


def free_directions(system: ContactSystem, atlas: Atlas, x: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis (nv, k) of the velocities that the pins allow, or None where there are no pins."""
    if not system.model(atlas).loops:
        return None
    return np.asarray(null_space(loops_at(system, atlas, x)[0], rcond=_RANK), dtype=np.float64)

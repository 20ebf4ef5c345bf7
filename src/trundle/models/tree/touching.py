"""What a state says of where two bodies touch: Jacobian, normal, velocity and points of one contact."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS
from trundle.models.tree.system import Atlas, ContactSystem


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
        spin_row = terms.J[d:, :] if d == 3 else ca.SX(1, model.nv)
        spin_rate = ca.dot(k.n, k.wrel) if d == 3 else ca.SX(1, 1)
        outputs = [
            W @ terms.J[:d, :], W @ k.vrel, W @ k.n, spin_row, spin_rate, terms.M,
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


def points_on_both(
    system: ContactSystem, atlas: Atlas, states: FloatArray, contact: int
) -> tuple[FloatArray, FloatArray]:
    """Return the contact's points (N, d), m, in the frames of A's and of B's shape at the states (N, n_x)."""
    values = touch_function(system, atlas, contact)(states.T)
    return np.asarray(values[6]).T, np.asarray(values[7]).T


def velocities_changed(system: ContactSystem, atlas: Atlas, x: FloatArray, jump: FloatArray) -> FloatArray:
    """Return x with nu + `jump` (nv,) in place of nu."""

    def build() -> ca.Function:
        model = system.model(atlas)
        step = ca.SX.sym("jump", model.nv)
        s = ca.vertcat(*(joined.s for joined in model.constraints))
        return ca.Function("changed", [model.x, step], [model.replaced(s, model.nu + step)])

    return np.asarray(system.kept(("changed", atlas), build)(x, jump)).ravel()

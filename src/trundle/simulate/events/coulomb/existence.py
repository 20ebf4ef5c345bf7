"""Whether contacts have impulses by Coulomb's law at all: what tells "there are none" from "none were found"."""

from __future__ import annotations

import numpy as np

from trundle.checks import FloatArray

_SLACK = 1e-9
"""Of the largest speed: how far outside the cones is round-off of a cone program."""
_PROVEN = 1e-6
"""Of the largest speed: how far inside each other bodies go at the least where none keep them apart. Cone programs of
contacts that lock a body, whose clearance is zero, end up to 1e-8 short of it."""


def has_answer(D: FloatArray, before: FloatArray, friction: FloatArray) -> bool | None:
    """Return whether impulses obey Coulomb's law, or None where neither is proven.

    They do if velocities v = before + D w lie in the dual cones, v_n >= mu |v_t| (Acary, Cadoux, Lemarechal & Malick
    2011); without a limit of friction, v_t = 0 in its place. They do not if none keep bodies apart, v_n >= 0.

    Parameters
    ----------
    D : (m d, m d) 1/kg
    before : (m, d) m/s
    friction : (m,)
    """
    if _clearance(D, before, friction) >= -_SLACK:
        return True
    return None if keeps_apart(D, before) else False


def keeps_apart(D: FloatArray, before: FloatArray) -> bool:
    """Return whether any impulses keep the bodies from going into each other; if not, none obey Coulomb's law."""
    return _clearance(D, before, np.zeros(len(before))) >= -_PROVEN


def _clearance(D: FloatArray, before: FloatArray, friction: FloatArray) -> float:
    """Return the largest t, one at most, with v_n - t speed >= mu |v_t| at all contacts, by a cone program."""
    from clarabel import DefaultSettings, DefaultSolver, NonnegativeConeT, SecondOrderConeT, ZeroConeT
    from scipy import sparse

    m, d = before.shape
    size, speed = float(np.abs(D).max(initial=0.0)), float(np.abs(before).max(initial=0.0))
    if not speed > 0.0:
        return 1.0
    # Of the unknowns (w, t): s = b - A (w, t) lies in the cones.
    blocks, sides, cones = [np.eye(1, m * d + 1, m * d)], [np.ones(1)], [NonnegativeConeT(1)]
    for i, mu in enumerate(friction):
        rows = np.hstack([-D[d * i : d * i + d] / (size if size > 0.0 else 1.0), np.eye(d, 1)])
        side = before[i] / speed
        if np.isinf(mu):
            blocks += [rows[1:], rows[:1]]
            sides += [side[1:], side[:1]]
            cones += [ZeroConeT(d - 1), NonnegativeConeT(1)]
            continue
        weights = np.concatenate([[1.0], np.full(d - 1, mu)])
        blocks.append(weights[:, None] * rows)
        sides.append(weights * side)
        cones.append(SecondOrderConeT(d))
    settings = DefaultSettings()
    settings.verbose = False
    n = m * d + 1
    goal = np.zeros(n)
    goal[-1] = -1.0
    nothing = sparse.csc_matrix((n, n))
    A, b = sparse.csc_matrix(np.vstack(blocks)), np.concatenate(sides)
    found = DefaultSolver(nothing, goal, A, b, cones, settings).solve()
    return float(found.x[-1]) if np.all(np.isfinite(found.x)) else -np.inf

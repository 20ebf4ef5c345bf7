"""Rest: whether forces inside the friction cones can hold a body on two contacts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from trundle.checks import FloatArray
from trundle.contact.laws import LAWS, ROLLING
from trundle.models.tree.model import TIME

if TYPE_CHECKING:
    from trundle.simulate.events.transitions import EventHandler, HybridState

_REACH = 1e3  # sizes of the body within which a force is looked for
_ENDS = ("extent", "data")
"""Margins at which what a contact rests on ends."""
_STILL = 1e-14
"""Rates (rad/s, m/s) of a hand that stands still: only round-off is left of a zero."""


@dataclass(frozen=True)
class Hold:
    """One contact of a body at rest: point (d,) m, unit normal out of the base (d,), a force on it (d,) N, and mu."""

    point: FloatArray
    normal: FloatArray
    force: FloatArray
    mu: float

    def margin(self, extra: FloatArray) -> float:
        """Return mu f_n - |f_t| of the force plus `extra` (d,), N; f_n without friction limit."""
        force = self.force + extra
        f_n = float(self.normal @ force)
        if np.isinf(self.mu):
            return f_n
        return self.mu * f_n - float(np.linalg.norm(force - f_n * self.normal))


def can_rest(holds: list[Hold]) -> bool:
    """Return whether some forces with the same resultant lie inside both cones.

    The forces of two contacts are known up to a pair c e, -c e along the line that joins them, e =
    (p_2 - p_1)/|p_2 - p_1|; the smallest margin is a concave function of c, whose largest value is looked for.
    """
    if len(holds) != 2:
        return all(hold.margin(np.zeros_like(hold.force)) >= 0 for hold in holds)
    apart = holds[1].point - holds[0].point
    along = apart / np.linalg.norm(apart)
    size = max(float(np.linalg.norm(hold.force)) for hold in holds)

    def worst(c: float) -> float:
        return -min(holds[0].margin(c * along), holds[1].margin(-c * along))

    best = minimize_scalar(
        worst, bounds=(-_REACH * size, _REACH * size), method="bounded", options={"xatol": 1e-9 * size}
    )
    return bool(-best.fun >= -1e-9 * size)


def resting(board: EventHandler, now: HybridState) -> HybridState:
    """Two contacts lock a planar body: on a base that stays still it rests for good if its forces fit the cones."""
    touching = [i for i, law in enumerate(now.mode.laws) if LAWS[law].touching]
    locked = len(touching) > 1 and all(now.mode.laws[i] == ROLLING.name for i in touching)
    if board.system.d != 2 or not locked or not _base_is_still(board, now):
        return now
    model, phase = board.system.model(now.mode.atlas), board.phase_of(now.mode)
    if model.nv > 3 or board.system.rubbing:
        return now  # a tree goes on moving about its joints
    if phase.held and model.input_layout:
        return now  # nobody knows what a policy will do
    p = phase.parameters(board.inputs(now.t), now.onsets)
    ends = [name for name in phase.margins if name.split(".", 1)[1].startswith(_ENDS)]
    values = phase.margin_values(now.t, now.x, p)
    if any(values[name] < 0.0 for name in ends):
        return now  # it is beyond the edge of what it touches: that ends the mode
    out = phase.outputs(np.array([now.t]), now.x[None, :], p[None, :])
    sticky = board.system.rules.on_slip == "ignore"
    holds = []
    for joined in (phase.model.constraints[i] for i in touching):
        point, normal, force = (out[f"{joined.name}.{what}"][0] for what in ("point", "normal", "force"))
        holds.append(Hold(point, normal, force, np.inf if sticky else joined.friction.mu))
    return replace(now, mode=replace(now.mode, rest=True)) if can_rest(holds) else now


def _base_is_still(board: EventHandler, now: HybridState) -> bool:
    """Whether the ground, or a hand that neither turns nor moves nor will: under a policy nobody knows."""
    if board.system.motions and board.phase_of(now.mode).held:
        return False
    layout = board.system.model(now.mode.atlas).layout
    if TIME in layout:
        return False
    return all(
        motion.is_still(now.t) and not np.any(np.abs(now.x[layout[f"{name}.twist"]]) > _STILL)
        for name, motion in board.system.motions.items()
    )

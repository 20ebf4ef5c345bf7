"""Ends of a transfer: what holds at the goal, as conditions none of which is redundant."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.laws import PURE_ROLLING
from trundle.models.tree.conversion import to_wxyz
from trundle.models.tree.tree import TreeModel
from trundle.optimal.phase import Condition
from trundle.optimal.problem import PhaseLinkage
from trundle.systems.juggling.transfer.charts import chart_contact
from trundle.systems.juggling.transfer.goal import Target, hand_angle, names_of
from trundle.systems.juggling.transfer.transfer import Transfer


@dataclass(frozen=True)
class Ends:
    """Conditions at the end of a transfer, and between its end and its start.

    Attributes
    ----------
    task : Transfer
    model : TreeModel
        In rolling coordinates.
    target : Target
    goal : (n_x,), or None
        A state at the goal.
    frame : (d, d)
        Contact frame to hand axes, of the model's state.
    forces : (d + 1,)
        Contact force and moment on the object over the weight.
    """

    task: Transfer
    model: TreeModel
    target: Target
    goal: FloatArray | None
    frame: ca.SX
    forces: ca.SX

    def conditions(self) -> list[Condition]:
        """Return what holds at the end."""
        found = [*self._hand(), *self._contact(), *self._rates()]
        if self.task.goal.release:
            rows = self.task.d + (1 if self.task.pair.law == PURE_ROLLING.name else 0)
            found.append(Condition("goal: contact force of a release", self.forces[:rows]))
        return found

    def links(self) -> list[PhaseLinkage]:
        """Return what a periodic motion has alike at its end and its start."""
        if not self.task.goal.periodic:
            return []
        x, (body, hand) = self.model.x, names_of(self.task)
        ends = [ca.SX.sym(name, x.shape[0]) for name in ("x_end", "x_start")]
        rolling = x[self.model.layout[f"{body}.relative_velocity"]]
        values = [self._hand_part("twist"), rolling, self.frame]
        (twist, rate, frame), (twist_0, rate_0, frame_0) = (ca.substitute(values, [x], [end]) for end in ends)
        if self.task.d == 3:
            # Compared in hand axes, written in the contact frame at the start: no row too many under pure rolling.
            n = rolling.shape[0]
            rate = (frame_0.T @ frame[:, :n] @ rate)[:n]
        rows = {f"period: velocity of {hand}": twist - twist_0, f"period: rolling of {body}": rate - rate_0}
        return [PhaseLinkage(0, 0, ends[0], ends[1], Condition(name, error)) for name, error in rows.items()]

    def _hand_part(self, quantity: str) -> ca.SX:
        return self.model.x[self.model.layout[f"{names_of(self.task)[1]}.{quantity}"]]

    def _hand(self) -> list[Condition]:
        target, end = self.target, []
        orientation = self._hand_part("orientation")
        if target.hand_orientation is not None:
            end.append(
                Condition(
                    "goal: hand's orientation", _orientation_error(orientation, target.hand_orientation, self.task)
                )
            )
        if target.hand_position is not None:
            error = self._hand_part("position") - ca.SX(ca.DM(target.hand_position))
            end.append(Condition("goal: hand's position", error))
        if target.hand_twist is not None:
            end.append(Condition("goal: hand at rest", self._hand_part("twist")))
        return end

    def _contact(self) -> list[Condition]:
        task, target, model, m = self.task, self.target, self.model, self.task.d - 1
        where = model.layout[f"{model.constraints[0].name}.coordinates"]
        s, end = model.x[where], []
        if task.d == 2:
            # Rolling has tied the object's angle, the contact on the hand and that on the object: one says all.
            return [] if self.goal is None else [Condition("goal: contact", s[:1] - float(self.goal[where][0]))]
        if target.contact_on_hand is not None and self.goal is not None:
            end.append(Condition("goal: contact on the hand", s[m:] - ca.SX(ca.DM(self.goal[where][m:]))))
        if target.orientation is None:
            return end
        body = names_of(task)[0]
        if target.hand_orientation is not None and self.goal is not None:
            # The orientation relative to the hand in contact coordinates: no false zero, no redundant row.
            away = s[:m] - ca.SX(ca.DM(self.goal[where][:m]))
            if any(r.periodic for r in chart_contact(model).chart_A.ranges[:1]):
                away[0] = ca.sin(away[0] / 2)
            end.append(Condition("goal: contact on the object", away))
            spin = model.layout[f"{body}.spin"]
            end.append(Condition("goal: spin", ca.sin((model.x[spin] - float(self.goal[spin][0])) / 2)))
            return end
        R = model.to_world @ model.motions[body].R
        end.append(Condition("goal: object's orientation", _gibbs(ca.SX(ca.DM(target.orientation)).T @ R)))
        return end

    def _rates(self) -> list[Condition]:
        """Return conditions on the object's velocities, in rolling coordinates or in the world."""
        task, target, model, end = self.task, self.target, self.model, []
        body = names_of(task)[0]
        if target.relative_velocity is not None:
            relative = model.x[model.layout[f"{body}.relative_velocity"]]
            wanted = ca.SX(ca.DM(target.relative_velocity))
            wanted = wanted if task.d == 2 else self.frame.T @ wanted
            end.append(Condition("goal: object's velocity", relative - wanted[: relative.shape[0]]))
        motion, W = model.motions[body], model.to_world
        if target.velocity is not None:
            end.append(Condition("goal: velocity of the release", W @ motion.v - ca.SX(ca.DM(target.velocity))))
        if target.angular_velocity is not None:
            w = motion.w if task.d == 2 else W @ motion.w
            end.append(Condition("goal: spin of the release", w - ca.SX(ca.DM(target.angular_velocity))))
        return end


def _gibbs(R: ca.SX) -> ca.SX:
    """Return tan(angle / 2) axis of a rotation: zero at R = 1 only, and growing without end towards half a turn."""
    vee = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    return vee / (1 + ca.trace(R))


def _orientation_error(orientation: ca.SX, wanted: FloatArray, task: Transfer) -> ca.SX:
    if task.d == 2:
        return orientation - float(hand_angle(task))
    w, x, y, z = (float(v) for v in to_wxyz(np.asarray(wanted)))
    # Vector part of conj(wanted) turn: three of its four entries, zero at +-wanted only.
    q0, q1, q2, q3 = orientation[0], orientation[1], orientation[2], orientation[3]
    return ca.vertcat(
        w * q1 - x * q0 - y * q3 + z * q2, w * q2 + x * q3 - y * q0 - z * q1, w * q3 - x * q2 + y * q1 - z * q0
    )

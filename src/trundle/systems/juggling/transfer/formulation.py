"""Formulation: a transfer as a problem in rolling coordinates, and poses back from them."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, array
from trundle.contact.laws import PURE_ROLLING
from trundle.errors import InputError
from trundle.models.rigid_body import Hand
from trundle.models.tree.conversion import pose_of, rolling_values, to_wxyz
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.system import Start
from trundle.models.tree.touching import contact_points
from trundle.models.tree.tree import TreeModel
from trundle.numerics.space import rotation
from trundle.optimal.phase import Condition, Phase
from trundle.optimal.problem import OptimalControlProblem
from trundle.systems.juggling.arm.arm import Arm
from trundle.systems.juggling.arm.coordinates import ArmCoordinates
from trundle.systems.juggling.transfer.charts import chart_bounds, chart_contact, common_charts, patch_on_hand
from trundle.systems.juggling.transfer.ends import Ends
from trundle.systems.juggling.transfer.goal import HandInstant, goal_errors, hand_pose, make_target, names_of
from trundle.systems.juggling.transfer.planar_goal import rolled_goal
from trundle.systems.juggling.transfer.reduction import Reduction, reduce_phase
from trundle.systems.juggling.transfer.transfer import Transfer
from trundle.threads import cached_property

Touch = tuple[FloatArray, FloatArray, FloatArray]
"""Points of a contact on object and hand and the hand's normal, each in its body's frame."""
_CURVATURE = 1e-2
"""Least relative curvature times the body's size along a plan, where it varies."""
_MOST_ROLLED = 1e3
"""Longest straight roll to a goal, rad: a guess takes 20 steps for each."""


class Formulation:
    """A transfer in rolling coordinates (final).

    Attributes
    ----------
    task : Transfer
    atlas : tuple
        Charts that hold both start and goal.
    model : TreeModel
        The twin of the task's pair, resolved in the contact frame.
    start : (n_x,)
        In the twin's layout.
    roll : (3,) rad
        Rotation vector of the straight roll from start to goal, hand axes; space.
    target : Target
    goal : (n_x,) or None
        A state of the twin that meets the goal, where contact and orientation are given.
    phase, hand : the whole phase and the one without constants
    reduction : what is planned: `hand`, or where an arm carries it the phase in the arm's joints
    problem : OptimalControlProblem
        Of the phase without constants.
    """

    def __init__(self, task: Transfer) -> None:
        if not isinstance(task, Transfer):
            raise InputError("task", task, "a Transfer")
        self.task = task
        pair = task.pair
        pair.check_smooth()
        self._x_hand, self._hand_orientation = hand_pose(task)
        self.target, placed = make_target(task, self._x_hand, self._hand_orientation)
        begin, end = _touching(task, task.start), None if placed is None else _touching(task, placed)
        self.roll = self._straight_roll(begin, end)
        R = pose_of(pair.system.model(task.start.atlas), task.start.x, names_of(task)[0])[0]
        roll = R.T @ self._hand_orientation @ self.roll if task.d == 3 else self.roll
        self.atlas, coordinates = common_charts(pair.body.shape, pair.base.shape, begin, end, roll)
        twin = replace(pair, coordinates="rolling", contact="auto", on_slip="stop", on_separation="stop")
        self.twin = twin
        self.model: TreeModel = twin.tree(self.atlas, resolve="contact")
        self.dynamics: Dynamics = self.model.dynamics(pair.law)
        self.start = self._state(task.start, coordinates[0])
        self.goal = None if placed is None else self._state(placed, coordinates[1])
        if self.goal is not None:
            spin = self.model.layout[f"{names_of(task)[0]}.spin"]
            self.goal[spin] = (
                self.start[spin] + np.remainder(self.goal[spin] - self.start[spin] + np.pi, 2 * np.pi) - np.pi
            )
        if task.d == 2:
            self.goal, self.target = rolled_goal(task, self.model, self.dynamics, self.start, self.target)
        self.phase = self._phase()
        fixed = {i: 0.0 for i in range(self.model.u.shape[0]) if i not in task.hand_limits.components(pair.d)}
        self.hand: Reduction = reduce_phase(self.phase, self.start, fixed, self._velocities())
        self.arm = None if task.arm is None else self._carry_by_arm(task.arm)
        self.reduction: Reduction | ArmCoordinates = self.arm or self.hand
        links = [self.reduction.link(link) for link in self.ends.links()]
        self.problem = OptimalControlProblem([self.reduction.phase], [link for link in links if link is not None])

    @property
    def on_belt(self) -> bool:
        """Whether the object rolls along a belt."""
        return self.atlas[0][0] >= len(self.task.pair.body.shape.representations.charts)

    @cached_property
    def physics(self) -> dict[str, float]:
        """Weight (N) and friction coefficient."""
        pair = self.task.pair
        return {
            "weight": pair.body.mass * (float(np.linalg.norm(pair.gravity)) or 1.0),
            "friction": pair.friction,
            "torsional": pair.torsional_friction,
        }

    def _state(self, start: Start, coordinates: FloatArray) -> FloatArray:
        """Return a state of the user's pair in the twin's layout."""
        model = self.task.pair.system.model(start.atlas)
        R, _, w, _ = pose_of(model, start.x, names_of(self.task)[0])
        hand = names_of(self.task)[1]
        values: dict[str, FloatArray] = {f"{self.model.constraints[0].name}.coordinates": coordinates}
        for quantity in ("position", "orientation", "twist"):
            values[f"{hand}.{quantity}"] = start.x[model.layout[f"{hand}.{quantity}"]]
        turn = np.array([np.arctan2(R[1, 0], R[0, 0])]) if self.task.d == 2 else to_wxyz(R)
        values |= rolling_values(self.twin.system.model(self.atlas), values, turn, w)
        x = np.zeros(self.model.x.shape[0])
        for name, value in values.items():
            x[self.model.layout[name]] = value
        return np.where(np.abs(x) < 1e-15, 0.0, x)

    def _straight_roll(self, begin: Touch, end: Touch | None) -> FloatArray:
        """Return the rotation vector (3,) of the straight roll between two contacts, hand axes."""
        if self.task.d == 2 or end is None:
            return np.zeros(3)
        roll = np.cross(begin[2], end[1] - begin[1]) / self.task.pair.body.shape.reference_length
        if (turned := np.linalg.norm(roll)) > _MOST_ROLLED:
            allowed = f"at most {_MOST_ROLLED:g} rad of rolling from the start, here {turned:.3g}"
            raise InputError("goal.contact_on_hand", self.task.goal.contact_on_hand, allowed)
        return roll

    # the problem ----------------------------------------------------------------------------------------

    def _phase(self) -> Phase:
        task, model, limits = self.task, self.model, self.task.hand_limits
        bound = limits.acceleration(task.d)
        free = self._velocities()
        known = [i for i in range(model.x.shape[0]) if i not in free]
        return Phase(
            name="transfer",
            x=model.x,
            u=model.u,
            rate=self.dynamics.xdot,
            duration=task.duration,
            path=self._path(),
            running=self._running(),
            start=[Condition("start", model.x[known], self.start[known], self.start[known])],
            end=self.ends.conditions(),
            x_bounds=self._x_bounds(),
            u_bounds=(-bound, bound),
            open_end=task.goal.release,
        )

    def _carry_by_arm(self, arm: Arm) -> ArmCoordinates:
        """Return the phase in the joints of the arm."""
        task, k = self.task, self.dynamics.kin[0]
        gravity, W = np.asarray(task.pair.gravity, dtype=np.float64), self.model.to_world
        force, lever = W @ self.dynamics.forces[0], rotation(self.model.x[self._where("orientation")]) @ self.on_hand()
        wrench = -ca.vertcat(W @ k.n * self.dynamics.moments[0] + ca.cross(lever, force), force)
        moving = (self.model.layout, names_of(task)[1], self.start, wrench, self._velocities())
        return ArmCoordinates(arm, gravity, self.phase, *moving, task.weights.joint_acceleration)

    def _velocities(self) -> list[int]:
        """Return which states are unknown at the start."""
        task, layout, (body, hand) = self.task, self.model.layout, names_of(self.task)
        if task.start_velocities == "given":
            return []
        rolling, twist = layout[f"{body}.relative_velocity"], layout[f"{hand}.twist"]
        moving = [twist.start + i for i in task.hand_limits.components(task.d)]
        return [*range(rolling.start, rolling.stop), *moving]

    @cached_property
    def ends(self) -> Ends:
        """What holds at the end."""
        return Ends(self.task, self.model, self.target, self.goal, self._frame_on_hand(), self.forces())

    def forces(self) -> ca.SX:
        """Return (f_n, f_t (d-1,), moment) on the object in the contact frame, over the weight."""
        k, force = self.dynamics.kin[0], self.dynamics.forces[0]
        return ca.vertcat(k.n.T @ force, k.T.T @ force, self.dynamics.moments[0]) / self.physics["weight"]

    def _path(self) -> list[Condition]:
        task, contact = self.task, self.task.contact_limits
        f = self.forces()
        f_n, f_t, moment = f[0], f[1 : task.d], f[task.d]
        path = [Condition("normal force", f_n, contact.normal_force, np.inf)]
        cone = contact.friction_margin * self.physics["friction"] * f_n
        if task.d == 2:
            path.append(Condition("friction", ca.vertcat(cone - f_t, cone + f_t), 0.0, np.inf))
        else:
            path.append(Condition("friction", cone**2 - ca.sumsqr(f_t), 0.0, np.inf))
        if task.pair.law == PURE_ROLLING.name and self.physics["torsional"] > 0:
            twist = contact.friction_margin * self.physics["torsional"] * f_n
            path.append(Condition("torsion", ca.vertcat(twist - moment, twist + moment), 0.0, np.inf))
        return [*path, *self._pose_limits(), *self._contact_limits()]

    def _contact_limits(self) -> list[Condition]:
        found, base = [], self.task.pair.base
        if isinstance(base, Hand) and base.extent is not None:
            half = np.asarray(base.extent) / 2
            found.append(Condition("hand extent", self.on_hand()[: half.size], -half, half))
        curvature = self._relative_curvature()
        if not _constant(curvature, self.model.x):
            found.append(Condition("relative curvature", curvature, _CURVATURE, np.inf))
        return found

    def _pose_limits(self) -> list[Condition]:
        task, limits = self.task, self.task.hand_limits
        if limits.tilt is None or task.d == 2:
            return []
        orientation = self.model.x[self._where("orientation")]
        axis = ca.SX(ca.DM(self._hand_orientation[:, 2]))
        return [Condition("hand tilt", ca.dot(rotation(orientation)[:, 2], axis), np.cos(limits.tilt), np.inf)]

    def _x_bounds(self) -> tuple[FloatArray, FloatArray]:
        task, model, limits = self.task, self.model, self.task.hand_limits
        low, high = np.full(model.x.shape[0], -np.inf), np.full(model.x.shape[0], np.inf)
        k = 1 if task.d == 2 else 3
        twist = self._where("twist")
        for part, bound in ((slice(0, k), limits.angular_velocity), (slice(k, k + task.d), limits.velocity)):
            if bound is not None:
                low[twist][part], high[twist][part] = -bound, bound
        if limits.position is not None:
            half = array("hand_limits.position", limits.position, (task.d,), minimum=0.0, unit="m")
            low[self._where("position")], high[self._where("position")] = self._x_hand - half, self._x_hand + half
        if task.d == 2 and limits.tilt is not None:
            angle = self.start[self._where("orientation")]
            low[self._where("orientation")], high[self._where("orientation")] = angle - limits.tilt, angle + limits.tilt
        at = model.layout[f"{model.constraints[0].name}.coordinates"].start
        contact = chart_contact(model)
        for chart in (contact.chart_A, contact.chart_B):
            for i in range(task.d - 1):
                low[at], high[at] = chart_bounds(chart, i)
                at += 1
        return low, high

    def _running(self) -> ca.SX:
        task, weights, model = self.task, self.task.weights, self.model
        bound = task.hand_limits.acceleration(task.d)
        given = (
            np.full(bound.shape, weights.acceleration) if np.ndim(weights.acceleration) == 0 else weights.acceleration
        )
        share = array("weights.acceleration", given, bound.shape, minimum=0.0)
        cost = ca.sumsqr(ca.SX(ca.DM(np.sqrt(share) / bound)) * model.u)
        length = sum(task.duration) / 2
        size = task.pair.body.shape.reference_length
        if weights.contact_speed:
            cost += weights.contact_speed * (length / size) ** 2 * ca.sumsqr(self.dynamics.kin[0].sB)
        if weights.hand_rate:
            k = 1 if task.d == 2 else 3
            twist = model.x[self._where("twist")]
            cost += weights.hand_rate * length**2 * (ca.sumsqr(twist[:k]) + ca.sumsqr(twist[k:]) / size**2)
        if weights.tilt:
            turned = rotation(model.x[self._where("orientation")]) - ca.SX(ca.DM(self._hand_orientation))
            cost += weights.tilt * ca.sumsqr(turned) / 2
        return (cost + weights.duration) / length

    def _where(self, quantity: str) -> slice:
        return self.model.layout[f"{names_of(self.task)[1]}.{quantity}"]

    def _frame_on_hand(self) -> ca.SX:
        patch = patch_on_hand(self.model)
        return ca.horzcat(patch.T, patch.n)

    def _relative_curvature(self) -> ca.SX:
        """Return det(K_A + K_B) times body size^(d-1): smooth, and positive until the bodies conform."""
        size = self.task.pair.body.shape.reference_length
        A, B = chart_contact(self.model).patches(self.model.constraints[0].s)
        if A.K is None or B.K is None:
            raise RuntimeError("no curvature")
        if self.task.d == 2:
            return size * (A.K + B.K)
        psi = self.model.x[self.model.layout[f"{names_of(self.task)[0]}.spin"]]
        c, s = ca.cos(psi), ca.sin(psi)
        turn = ca.vertcat(ca.horzcat(c, -s), ca.horzcat(-s, -c))
        K = turn @ A.K @ turn + B.K
        return size**2 * (K[0, 0] * K[1, 1] - K[0, 1] * K[1, 0])

    def on_hand(self) -> ca.SX:
        """Return the contact point (d,) in the hand's frame, m."""
        return patch_on_hand(self.model).x

    @cached_property
    def _poses(self) -> ca.Function:
        model, (body, hand) = self.model, names_of(self.task)
        W, A, B = model.to_world, model.motions[body], model.motions[hand]
        w = A.w if self.task.d == 2 else W @ A.w
        outputs = [self.on_hand(), W @ A.R, W @ B.R, W @ B.p, w, W @ A.v, model.x[self._where("twist")]]
        return ca.Function("poses", [model.x], outputs)

    def instant(self, x: FloatArray) -> HandInstant:
        """Return pose and velocities at a state (n_x,) of the twin."""
        on_hand, R, R_hand, *rest = (np.asarray(v) for v in self._poses(x))
        return HandInstant(on_hand.ravel(), R, R_hand, *(v.ravel() for v in rest))

    def goal_errors(self, first: HandInstant, last: HandInstant) -> dict[str, float]:
        """Return `trundle.systems.juggling.transfer.goal.goal_errors` of a motion from its first and last instant."""
        target = self.target
        if self.task.goal.periodic:
            target = replace(target, relative_velocity=first.relative_velocity, hand_twist=first.hand_twist)
        return goal_errors(target, last)


def _constant(value: ca.SX, x: ca.SX) -> bool:
    """Return whether an expression of x has one value wherever it is looked at, as a sphere's curvature."""
    samples = np.random.default_rng(0).normal(size=(x.shape[0], 16))
    found = np.asarray(ca.Function("value", [x], [value])(samples)).ravel()
    return bool(np.ptp(found) <= 1e-9 * np.max(np.abs(found)))


def _touching(task: Transfer, start: Start) -> Touch:
    return contact_points(task.pair.system, start.atlas, start.x, 0)

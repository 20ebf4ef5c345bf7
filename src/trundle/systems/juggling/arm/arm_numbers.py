"""Numbers of an arm by Pinocchio: inverse kinematics, rates and torques of its joints along a motion of the hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, load_pinocchio
from trundle.systems.juggling.arm.arm import Arm

if TYPE_CHECKING:
    from pinocchio import SE3

JOINT_USE = ("joint_range_use", "joint_speed_use", "joint_torque_use")
"""Of ranges (from their middles), rates and torques: 1 at a limit."""
_DONE, _REACHED = 1e-12, 1e-8
_STEPS, _TRIES, _POSTURES = 200, 15, (1e-2, 1e-8)


@dataclass(frozen=True)
class JointMotion:
    """What the joints of an arm do.

    Attributes
    ----------
    times : (N,) s
    position, rate, acceleration : (N, n)
        rad, rad/s, rad/s2; of a sliding joint m.
    torque : (N, n) N m
        Of a sliding joint N.
    missed : float, m
        Largest distance between the hand's origin and that of the joints' forward kinematics.
    """

    arm: Arm
    times: FloatArray
    position: FloatArray
    rate: FloatArray
    acceleration: FloatArray
    torque: FloatArray
    missed: float

    def use(self) -> dict[str, float]:
        """Return the largest `JOINT_USE` by name."""
        return dict(zip(JOINT_USE, (float(np.max(share)) for share in self._shares().values()), strict=True))

    def margins(self) -> dict[str, float]:
        """Return the least distance to the end of a range (rad), rate (rad/s) and torque (N m)."""
        lower, upper, rate, torque = self.arm.bounds
        left = {
            "range": np.minimum(self.position - lower, upper - self.position),
            "speed": rate - np.abs(self.rate),
            "torque": torque - np.abs(self.torque),
        }
        return {f"joint_{name}_margin": float(np.min(value)) for name, value in left.items()}

    def worst(self) -> str:
        """Return what joint comes nearest to a limit, or is farthest beyond it, with the number and the limit."""
        shares = self._shares()
        return self._describe_use(max(shares, key=lambda n: float(np.max(shares[n]))))

    def beyond(self) -> str:
        """Return the same of each of range, rate and torque that is beyond the arm's margin, or of the nearest."""
        names = [name for name, share in self._shares().items() if np.max(share) > self.arm.margin]
        return ", and ".join(map(self._describe_use, names)) or self.worst()

    def _describe_use(self, name: str) -> str:
        share = self._shares()[name]
        when, joint = np.unravel_index(int(np.argmax(share)), share.shape)
        lower, upper, rate, torque = (bound[joint] for bound in self.arm.bounds)
        label = self.arm.joints[joint]
        if name == "range":
            return f"{label} goes to {self.position[when, joint]:.4g} rad, its range is {lower:.4g} to {upper:.4g} rad"
        if name == "speed":
            return f"{label} turns at {abs(self.rate[when, joint]):.4g} rad/s, its limit is {rate:.4g} rad/s"
        return f"{label} needs {abs(self.torque[when, joint]):.4g} N m, its limit is {torque:.4g} N m"

    def _shares(self) -> dict[str, FloatArray]:
        (middle, half), (_, _, rate, torque) = self.arm.ranges, self.arm.bounds
        return {
            "range": np.abs(self.position - middle) / half,
            "speed": np.abs(self.rate) / rate,
            "torque": np.abs(self.torque) / torque,
        }


class ArmNumbers:
    """Pinocchio's model of an arm with its hand (final).

    Parameters
    ----------
    arm : Arm
    gravity : (3,) m/s2

    Raises
    ------
    MissingExtraError
        If Pinocchio is not installed.
    """

    def __init__(self, arm: Arm, gravity: FloatArray) -> None:
        self.arm = arm
        self._pin = pin = load_pinocchio("pinocchio")
        self._model = model = pin.buildModelFromXML(arm.chain.text)
        model.gravity.linear = arm.base.R.T @ gravity
        body = model.getFrameId(arm.link, pin.FrameType.BODY)
        joint = model.frames[body].parentJoint
        place = model.frames[body].placement * pin.SE3(arm.mount.R, arm.mount.p)
        if arm.mass:
            own = pin.Inertia(arm.mass, np.array(arm.center_of_mass), np.diag(arm.inertia))
            model.appendBodyToJoint(joint, own, place)
        self._frame = model.addFrame(pin.Frame("carried hand", joint, body, place, pin.FrameType.OP_FRAME))
        self._data = model.createData()
        self._base = pin.SE3(arm.base.R, arm.base.p)

    def pose(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return R (3, 3) and p (3,) m of the hand in the world."""
        place = self._base * self._place(q)
        return np.array(place.rotation), np.array(place.translation)

    def reach(self, R: FloatArray, p: FloatArray) -> FloatArray:
        """Return joint positions (n,) near the arm's posture with the hand at R (3, 3), p (3,), by Pink.

        Where the way from the posture ends elsewhere, from others drawn in the ranges.

        Raises
        ------
        InputError
            If there are none within the arm's margin of the ranges; it names a joint where one is in the way.
        """
        wanted, (lower, upper) = self._make_target(R, p), self.arm.usable
        near, draw = self.arm.start, np.random.default_rng(0)
        tries = [near, *draw.uniform(np.maximum(lower, -np.pi), np.minimum(upper, np.pi), (_TRIES, near.size))]
        found = [self._newton(self._pink(wanted, lower, upper, start), wanted) for start in tries[:1]]
        if not self._is_reached(found[0], wanted, lower, upper):
            found += [self._newton(self._pink(wanted, lower, upper, start), wanted) for start in tries[1:]]
        reached = [q for q in found if self._is_reached(q, wanted, lower, upper)]
        if reached:
            return np.clip(min(reached, key=lambda q: float(np.linalg.norm(q - near))), lower, upper)
        far = np.full(lower.shape, np.inf)
        anywhere = self._newton(self._pink(wanted, -far, far, near), wanted)
        beyond = np.maximum(lower - anywhere, anywhere - upper)
        i = int(np.argmax(beyond))
        if self._error(anywhere, wanted) <= _REACHED < beyond[i]:
            allowed = f"from {lower[i]:.4g} to {upper[i]:.4g} (rad) where the hand starts: its range's margin"
            raise InputError(f"arm.posture.{self.arm.joints[i]}", round(float(anywhere[i]), 6), allowed)
        place = ", ".join(f"{c:.4g}" for c in p)
        turn, shift = np.split(np.roll(self._away(min(found, key=lambda q: self._error(q, wanted)), wanted), 3), 2)
        missed = f"{np.linalg.norm(shift):.3g} m and {np.linalg.norm(turn):.3g} rad"
        allowed = f"such that the arm reaches the hand at ({place}) m, which it misses by {missed}"
        raise InputError("arm.position", list(self.arm.position), allowed)

    def _is_reached(self, q: FloatArray, wanted: SE3, lower: FloatArray, upper: FloatArray) -> bool:
        """Whether the hand is there within the ranges; what Newton's steps change beyond an end is round-off."""
        inside = np.all((q >= lower - _REACHED) & (q <= upper + _REACHED))
        return bool(inside) and self._error(q, wanted) <= _REACHED

    def follow(self, R: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return joint positions (N, n) along poses of the hand (N, 3, 3), (N, 3), each near the one before."""
        path = []
        for turn, place in zip(R, p, strict=True):
            q = self._newton(q, self._make_target(turn, place), 20)
            path.append(q)
        return np.array(path)

    def rates(self, q: FloatArray, twist: FloatArray) -> FloatArray:
        """Return the smallest rates (N, n) with which the hand has a `twist` (N, 6), hand axes, angular first."""
        return np.array([self._least(self._jacobian(a), np.roll(v, 3)) for a, v in zip(q, twist, strict=True)])

    def motion(
        self, times: FloatArray, q: FloatArray, rate: FloatArray, acceleration: FloatArray, wrench: FloatArray,
        places: FloatArray,
    ) -> JointMotion:  # fmt: skip
        """Return the motion with its torques, under a wrench (N, 6) on the hand's origin, world, moment first.

        `places` (N, 3) m are where the hand's origin should be.
        """
        pin, missed, torques = self._pin, 0.0, []
        turn = self.arm.base.R.T
        for now, v, a, w, p in zip(q, rate, acceleration, wrench, places, strict=True):
            J = pin.computeFrameJacobian(
                self._model, self._data, self._full(now), self._frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            )
            inertial = pin.rnea(self._model, self._data, self._full(now), v, a)
            torques.append(inertial - J.T @ np.concatenate([turn @ w[3:], turn @ w[:3]]))
            missed = max(missed, float(np.linalg.norm(self.pose(now)[1] - p)))
        return JointMotion(self.arm, times, q, rate, acceleration, np.array(torques), missed)

    def _full(self, q: FloatArray) -> FloatArray:
        """Return Pinocchio's configuration: joints without a range are (cos, sin) there."""
        return self._pin.integrate(self._model, self._pin.neutral(self._model), np.array(q))

    def _place(self, q: FloatArray) -> SE3:
        self._pin.framesForwardKinematics(self._model, self._data, self._full(q))
        return self._data.oMf[self._frame]

    def _make_target(self, R: FloatArray, p: FloatArray) -> SE3:
        return self._base.inverse() * self._pin.SE3(np.array(R), np.array(p))

    def _away(self, q: FloatArray, wanted: SE3) -> FloatArray:
        return self._pin.log6(self._place(q).actInv(wanted)).vector

    def _error(self, q: FloatArray, wanted: SE3) -> float:
        return float(np.linalg.norm(self._away(q, wanted)))

    def _jacobian(self, q: FloatArray) -> FloatArray:
        local = self._pin.ReferenceFrame.LOCAL
        return self._pin.computeFrameJacobian(self._model, self._data, self._full(q), self._frame, local)

    def _least(self, J: FloatArray, twist: FloatArray) -> FloatArray:
        return np.asarray(np.linalg.lstsq(J, twist, rcond=1e-6)[0], dtype=np.float64)

    def _newton(self, q: FloatArray, wanted: SE3, steps: int = 50) -> FloatArray:
        best, least = q, self._error(q, wanted)
        for _ in range(steps):
            step = self._away(q, wanted)
            if least <= _DONE:
                break
            q = q + self._least(self._jacobian(q), step)
            error = self._error(q, wanted)
            if error < least:
                best, least = q, error
            elif error > 2 * least:
                break
        return best

    def _pink(self, wanted: SE3, lower: FloatArray, upper: FloatArray, near: FloatArray) -> FloatArray:
        """Return joint positions near others, within bounds, with the hand as near as possible to `wanted`."""
        pin, pink, tasks = self._pin, load_pinocchio("pink"), load_pinocchio("pink.tasks")
        model = self._model.copy()
        for i, joint in enumerate(model.joints[1:]):
            if joint.nq == 1 and np.isfinite(upper[i] - lower[i]):
                model.lowerPositionLimit[joint.idx_q] = lower[i]
                model.upperPositionLimit[joint.idx_q] = upper[i]
            elif joint.nq == 1:
                model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q] = -1e3, 1e3
        start = self._full(np.clip(near, lower, upper))
        configuration = pink.Configuration(model, model.createData(), start)
        task = tasks.FrameTask("carried hand", 1.0, 1.0, lm_damping=1e-6)
        task.set_target(wanted)
        for weight in _POSTURES:
            rest = tasks.PostureTask(cost=weight)
            rest.set_target(start)
            for _ in range(_STEPS):
                step = pink.solve_ik(configuration, [task, rest], 1.0, solver="daqp", safety_break=False)
                configuration.integrate_inplace(step, 1.0)
                if float(np.abs(step).max()) < 1e-7:
                    break
        return pin.difference(model, pin.neutral(model), configuration.q)

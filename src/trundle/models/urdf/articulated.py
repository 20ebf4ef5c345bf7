"""Articulated: a free-floating robot from a checked URDF, its motions and inertia by Pinocchio (fast numbers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice, instance, non_negative, quaternion
from trundle.contact.packed import ContactRows, FrameMotion
from trundle.errors import InputError, load_pinocchio
from trundle.models.urdf.checks import CheckedUrdf
from trundle.models.urdf.joints import check_moving
from trundle.models.urdf.tree import refuse_idle
from trundle.threads import PerThread

_REFINEMENTS = 3  # of a solution by its residual


@dataclass(frozen=True)
class Momentum:
    """Centre of mass and angular momentum about it, world: their rates are J nu, and J nudot + bias.

    Attributes
    ----------
    com, com_rate : (3,) m, m/s
    J_com, com_bias : (3, nv), (3,) m/s2
    angular : (3,) kg m2/s
        L = J_angular nu.
    J_angular, angular_bias : (3, nv), (3,) N m
        L' = J_angular nudot + angular_bias.
    """

    com: FloatArray
    com_rate: FloatArray
    J_com: FloatArray
    com_bias: FloatArray
    angular: FloatArray
    J_angular: FloatArray
    angular_bias: FloatArray


@dataclass(frozen=True)
class PinocchioBody:
    """What a joint moves, links without a joint of their own included; the base first, whose joint is free.

    Attributes
    ----------
    name : str
        Of the joint; "base".
    parent : int
        Index of the body it hangs on; -1 for the base.
    R, p : (3, 3), (3,) m
        Place of the joint's frame, at zero, in that of the parent's.
    axis : (3,)
        Of the joint, in its frame; zero for the base.
    slides : bool
        Prismatic.
    mass, com, inertia : float kg, (3,) m, (3, 3) kg m2
        In the joint's frame; the inertia about the centre of mass.
    """

    name: str
    parent: int
    R: FloatArray
    p: FloatArray
    axis: FloatArray
    slides: bool
    mass: float
    com: FloatArray
    inertia: FloatArray


@dataclass(frozen=True)
class ArticulatedTerms:
    """M nudot + h = (0, torque) + J'f, and the motions of the frames asked for.

    Attributes
    ----------
    M, h : (nv, nv), (nv,)
    motions : tuple of FrameMotion
        World axes.
    momentum : Momentum or None
        Where it was asked for.
    """

    M: FloatArray
    h: FloatArray
    motions: tuple[FrameMotion, ...]
    momentum: Momentum | None = None


class Articulated:
    """A robot with a free base (final).

    Coordinates, all resolved in the world:

    - q = (position of the base (3), its quaternion (w, x, y, z), joint positions (n)),
    - nu = (angular velocity of the base (3), velocity of its origin (3), joint rates (n)).

    Pinocchio's own are (position, quaternion (x, y, z, w), joints) and the base's twist linear first in the axes
    of the base: v_p = T nu with T = blkdiag([[0, R'], [R', 0]], 1). Hence, and only here,

        M = T' M_p T,   h = T'(h_p + M_p c),   c = dT/dt nu = (-R'(w x v), 0, 0),

    and the accelerations of frames at nudot = 0 are Pinocchio's for v_p' = c. Joints that mimic others are free.

    Parameters
    ----------
    urdf : CheckedUrdf
        From `trundle.models.urdf.checks.load_urdf` or ``check_urdf``.
    gravity : (3,) m/s2
    armature : (n,) kg m2, optional
        Inertia of rotors and gears about the joints, added to M; a URDF does not have it.
    limited : bool
        False: its joints have no limits, as if the description had none.

    Attributes
    ----------
    joints : tuple of str
        Names in the order of q and nu.
    nq, nv : int
        7 + n and 6 + n.
    armature : (n,) kg m2
    lower, upper : (n,) rad or m
    rate_limit, torque_limit : (n,) rad/s, N m
        Of the description; infinite where it has none.

    Raises
    ------
    MissingExtraError
        If Pinocchio is not installed.
    InputError
        If a joint is planar or floating, or a joint moves nothing that has mass.
    """

    def __init__(
        self,
        urdf: CheckedUrdf,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        armature: ArrayLike | None = None,
        limited: bool = True,
    ) -> None:
        instance("urdf", urdf, CheckedUrdf, "a CheckedUrdf, as load_urdf and check_urdf return it")
        self._pin = load_pinocchio("pinocchio")
        self.urdf = urdf
        self.gravity = array("gravity", gravity, (3,), unit="m/s2")
        with urdf.naming():
            check_moving(urdf.joints)
            try:
                self._model = self._pin.buildModelFromXML(urdf.text, self._pin.JointModelFreeFlyer())
            except (ValueError, RuntimeError) as error:
                raise InputError("urdf", urdf.name, f"a description Pinocchio can read ({error})") from None
        self._model.gravity.linear = np.array(self.gravity)
        self._workspace = PerThread(self._model.createData)
        self._frames: dict[str, int] = {}
        self._limited = limited
        self.joints = tuple(str(name) for name in self._model.names)[2:]
        self.nv = int(self._model.nv)
        self.nq = 7 + len(self.joints)
        self._upper = np.tri(self.nv, dtype=bool).T
        rotors = np.zeros(len(self.joints)) if armature is None else armature
        self.armature = array("armature", rotors, (len(self.joints),), minimum=0.0, unit="kg m2")
        self._model.armature[6:] = self.armature
        self.lower, self.upper, self.rate_limit, self.torque_limit = self._limits()
        with urdf.naming():
            refuse_idle(urdf.name, self.terms(self.neutral, np.zeros(self.nv)).M, self.joints)

    def __reduce__(self) -> tuple[type[Articulated], tuple[object, ...]]:
        return type(self), (self.urdf, self.gravity, self.armature, self._limited)

    @property
    def neutral(self) -> FloatArray:
        """The state q (nq,) with the base at the origin, upright, and zero joint positions."""
        q = np.zeros(7 + len(self.joints))
        q[3] = 1.0
        return q

    @property
    def mass(self) -> float:
        """Mass of the robot, kg."""
        return float(self._pin.computeTotalMass(self._model))

    def bodies(self) -> tuple[PinocchioBody, ...]:
        """Return everything that moves, each after its parent: what another simulator builds the robot from."""
        pin, model, data, found = self._pin, self._model, self._workspace(), []
        pin.crba(model, data, pin.neutral(model))
        for i in range(1, model.njoints):
            place, inertia = model.jointPlacements[i], model.inertias[i]
            S = np.zeros(6) if i == 1 else np.array(data.joints[i].S).ravel()
            slides = bool(np.any(S[:3]))
            found.append(
                PinocchioBody(
                    "base" if i == 1 else str(model.names[i]),
                    int(model.parents[i]) - 1,
                    np.array(place.rotation),
                    np.array(place.translation),
                    S[:3] if slides else S[3:],
                    slides,
                    float(inertia.mass),
                    np.array(inertia.lever),
                    np.array(inertia.inertia),
                )
            )
        return tuple(found)

    def place_on_body(self, link: str) -> tuple[int, FloatArray, FloatArray]:
        """Return the index in `bodies` of what the link is part of, and R (3, 3), p (3,) m of the link there."""
        frame = self._model.frames[self._frame(link)]
        place = frame.placement
        return int(frame.parentJoint) - 1, np.array(place.rotation), np.array(place.translation)

    def path(self, link: str) -> tuple[int, ...]:
        """Return the indices in `bodies` of what moves the link, from the first after the base on."""
        joint = int(self._model.frames[self._frame(link)].parentJoint)
        return tuple(int(i) - 1 for i in self._model.supports[joint] if i > 1)

    def joint_places(self, q: ArrayLike) -> FloatArray:
        """Return the origins (n + 1, 3) m, world, of `bodies` in the state q (nq,): of the base and of each joint."""
        q_pin, _ = self._to_pinocchio(q)
        data = self._workspace()
        self._pin.forwardKinematics(self._model, data, q_pin)
        return np.array([place.translation for place in data.oMi][1:])

    def terms(
        self, q: ArrayLike, nu: ArrayLike, frames: Sequence[str] = (), *, momentum: bool = False
    ) -> ArticulatedTerms:
        """Return inertia, bias and the motions of the links named in `frames` at the state q (nq,), nu (nv,).

        With `momentum` also the centre of mass and the angular momentum.

        Raises
        ------
        InputError
            If a size is wrong, a number is not finite, the quaternion is not of unit length or a link is unknown.
        """
        pin, model, data = self._pin, self._model, self._workspace()
        ours = array("nu", nu, (self.nv,))
        q_pin, R = self._to_pinocchio(q)
        T = np.eye(self.nv)
        T[:6, :6] = 0.0
        T[:3, 3:6] = T[3:6, :3] = R.T
        c = np.zeros(self.nv)
        (wx, wy, wz), (vx, vy, vz) = ours[:3], ours[3:6]
        c[:3] = R.T @ (wz * vy - wy * vz, wx * vz - wz * vx, wy * vx - wx * vy)
        v_pin = T @ ours
        M = pin.crba(model, data, q_pin)  # its upper triangle
        M = np.where(self._upper, M, M.T)
        M[:6] = T[:6, :6].T @ M[:6]  # the rest of T is the identity
        M[:, :6] = M[:, :6] @ T[:6, :6]
        h_pin = np.array(pin.rnea(model, data, q_pin, v_pin, c))
        pin.computeJointJacobians(model, data, q_pin)
        pin.forwardKinematics(model, data, q_pin, v_pin, c)
        pin.updateFramePlacements(model, data)
        motions = tuple(self._motion(name, T) for name in frames)
        total = self._momentum(q_pin, v_pin, c, T) if momentum else None
        return ArticulatedTerms(M, T.T @ h_pin, motions, total)

    def displace(self, q: ArrayLike, step: ArrayLike) -> FloatArray:
        """Return q displaced by `step` (nv,) = nu dt: the base turns by exp([w dt]) in the world."""
        start, change = array("q", q, (self.nq,)), array("step", step, (self.nv,))
        angle = float(np.linalg.norm(change[:3]))
        # sin(a / 2) / a is 1/2 where a is too small to divide by.
        part = 0.5 if angle < 1e-9 else np.sin(angle / 2) / angle
        turn, (w, r) = part * change[:3], (start[3], start[4:7])
        cosine = np.cos(angle / 2)
        turned = np.array([cosine * w - turn @ r, *(cosine * r + w * turn + np.cross(turn, r))])
        return np.concatenate([start[:3] + change[3:6], turned / np.linalg.norm(turned), start[7:] + change[6:]])

    def _to_pinocchio(self, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Pinocchio's configuration and R (3, 3) of the base; unlimited joints are (cos, sin) there."""
        ours = array("q", q, (self.nq,))
        w, x, y, z = quaternion("q[3:7]", ours[3:7])
        if self._model.nq == self.nq:
            q_pin = ours.copy()
            q_pin[3:7] = x, y, z, w
            return q_pin, np.array(self._pin.Quaternion(w, x, y, z).toRotationMatrix())
        parts: list[float] = [*ours[:3], x, y, z, w]
        for angle, joint in zip(ours[7:], self._model.joints[2:], strict=True):
            parts += [np.cos(angle), np.sin(angle)] if joint.nq == 2 else [angle]
        return np.array(parts), np.array(self._pin.Quaternion(w, x, y, z).toRotationMatrix())

    def _momentum(self, q: FloatArray, v: FloatArray, c: FloatArray, T: FloatArray) -> Momentum:
        pin, model, data = self._pin, self._model, self._workspace()
        pin.ccrba(model, data, q, v)
        A = np.array(data.Ag) @ T
        pin.computeCentroidalMomentumTimeVariation(model, data, q, v, c)
        h, rate, m = data.hg, data.dhg, float(data.mass[0])
        return Momentum(
            np.array(data.com[0]),
            np.array(h.linear) / m,
            A[:3] / m,
            np.array(rate.linear) / m,
            np.array(h.angular),
            A[3:],
            np.array(rate.angular),
        )

    def _limits(self) -> tuple[FloatArray, ...]:
        model, lower, upper = self._model, [], []
        if not self._limited:
            free = np.full(len(self.joints), np.inf)
            return -free, free, free, free
        for joint in model.joints[2:]:
            free = joint.nq == 2
            lower.append(-np.inf if free else model.lowerPositionLimit[joint.idx_q])
            upper.append(np.inf if free else model.upperPositionLimit[joint.idx_q])
        rates, torques = (np.array(x[6:]) for x in (model.velocityLimit, model.effortLimit))
        bounds = (np.array(lower), np.array(upper), np.where(rates > 0, rates, np.inf))
        return *bounds, np.where(torques > 0, torques, np.inf)

    def _frame(self, name: str) -> int:
        if name not in self._frames:
            link = choice("frame", name, self.urdf.links)
            self._frames[name] = int(self._model.getFrameId(link, self._pin.FrameType.BODY))
        return self._frames[name]

    def _motion(self, name: str, T: FloatArray) -> FrameMotion:
        pin, model, data = self._pin, self._model, self._workspace()
        frame, axes = self._frame(name), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        place = data.oMf[frame]
        twist = pin.getFrameVelocity(model, data, frame, axes)
        rate = pin.getFrameClassicalAcceleration(model, data, frame, axes)
        J = np.array(pin.getFrameJacobian(model, data, frame, axes))
        J[:, :6] = J[:, :6] @ T[:6, :6]  # the rest of T is the identity
        R, p, w, v, al, a = (
            np.array(x)
            for x in (place.rotation, place.translation, twist.angular, twist.linear, rate.angular, rate.linear)
        )
        return FrameMotion(R, p, w, v, J[3:], J[:3], al, a)


def accelerations(
    terms: ArticulatedTerms, torque: ArrayLike, contacts: Sequence[ContactRows] = (), proximal: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return nudot (nv,) and the multipliers (m,) of M nudot + h = (0, torque) + G'lam, J nudot + b = 0.

    Parameters
    ----------
    terms : ArticulatedTerms
    torque : (n,) N m
        Of the joints.
    contacts : sequence of ContactRows
        Their multipliers are stacked in this order.
    proximal : float, 1/kg
        > 0 where rows may depend on each other: J nudot + proximal (lam - lam_before) = -b a few times over.

    Raises
    ------
    InputError
        If rows depend on each other and `proximal` is zero.
    """
    nv = terms.M.shape[0]
    top = np.concatenate([np.zeros(6), array("torque", torque, (nv - 6,), unit="N m")]) - terms.h
    if not contacts:
        return np.asarray(np.linalg.solve(terms.M, top), dtype=np.float64), np.zeros(0)
    J, G = np.vstack([rows.J for rows in contacts]), np.vstack([rows.G for rows in contacts])
    bottom = -np.concatenate([rows.b for rows in contacts])
    size = non_negative("proximal", proximal, "1/kg")
    by_mass = np.linalg.solve(terms.M, np.column_stack([G.T, top]))
    delassus, free = J @ by_mass[:, :-1], by_mass[:, -1]
    if size == 0 and np.linalg.cond(delassus) > 1e12:
        raise InputError("contacts", len(contacts), "contacts whose rows are independent; or give proximal > 0")
    lam = np.zeros(len(bottom))
    for _ in range(1 + _REFINEMENTS):
        error = bottom - J @ free - delassus @ lam
        lam = lam + np.linalg.solve(delassus + size * np.eye(len(lam)), error)
    return np.asarray(free + by_mass[:, :-1] @ lam, dtype=np.float64), lam

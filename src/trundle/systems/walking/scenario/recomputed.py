"""A walk recomputed from its record with Pinocchio, independently of the planner's code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation

from trundle.errors import InputError, load_pinocchio
from trundle.numerics.rotations import skew
from trundle.records import Trajectory
from trundle.scenarios.shapes import find_registered_shape
from trundle.threads import cached_property

Array = NDArray[np.float64]
_NORMS = ("sphere", "ellipsoid", "superellipsoid")
_STEP = 1e-30  # of a complex step: any that vanishes beside 1
_STEPS = 1j * _STEP * np.eye(3)
_BETWEEN = (0.2, 0.4, 0.5, 0.6, 0.8)


@dataclass(frozen=True)
class RecordedSole:
    """A sole from the record: lowest point of a smooth one, corners of a flat one, in the foot's frame."""

    shape: Mapping[str, Any]

    def point(self, R: Array) -> Array:
        """Return the lowest point (3,) of a foot with the orientation R, or the middle of a flat sole."""
        if self.shape["type"] == "flat":
            return np.mean(self.shape["corners"], axis=0)
        if self.shape.get("shape", "ellipsoid") not in _NORMS:
            return (
                np.array(self.shape["center"]) + find_registered_shape(self.shape["shape"]).points_with_normal(-R[2])[0]
            )
        # The gradient of the support function at -R'e_z, by complex steps.
        return np.array(self.shape["center"]) + [_support(self.shape, -R[2] + step).imag / _STEP for step in _STEPS]

    def gap(self, R: Array, p: Array) -> float:
        """Return the least height (m) of the sole above the ground; R, p are orientation and origin of the foot."""
        points = np.array(self.shape["corners"]) if self.shape["type"] == "flat" else self.point(R)[None]
        return float(np.min((points @ R.T + p)[:, 2]))


def _support(shape: Mapping[str, Any], u: NDArray[np.complex128]) -> np.complex128:
    """Return h(u) of a sphere, an ellipsoid or a superellipsoid: the dual norm of its exponents."""
    axes = np.full(3, shape["radius"]) if shape.get("shape") == "sphere" else np.array(shape["semi_axes"])
    p, q = np.broadcast_to(shape.get("exponents", 2.0), 2)
    rounding, length = float(shape.get("rounding", 0.0)), np.sqrt(u @ u)
    blunt = rounding if max(p, q) > 2.0 else 0.0
    x, y, z = (axes * u) ** 2 + (blunt * length) ** 2
    p, q = p / (p - 1), q / (q - 1)
    norm = ((x ** (p / 2) + y ** (p / 2)) ** (q / p) + z ** (q / 2)) ** (1 / q)
    return norm if blunt else norm + rounding * length


class Walk:
    """A walk in Pinocchio's coordinates: position and Euler angles (z, y, x) of the base, and joints (final)."""

    def __init__(self, run: Trajectory) -> None:
        if "walk" not in run.metadata:
            raise InputError("run", run.kind, "the record of a walk")
        self.pin = load_pinocchio("pinocchio")
        self.run, self.walk = run, run.metadata["walk"]
        root = self.pin.JointModelComposite(self.pin.JointModelTranslation())
        root.addJoint(self.pin.JointModelSphericalZYX())
        self.model = self.pin.buildModelFromXML(self.walk["urdf"], root)
        self.model.gravity.linear = np.array(run.metadata["physics"]["gravity"])
        self.data = self.model.createData()
        names = [str(name) for name in self.model.names][2:]
        self.order = [[str(name) for name in run["joint"]].index(name) for name in names]
        self.names = [str(name) for name in run["contact"]]
        self.frames = [self.model.getFrameId(f"{contact}_foot") for contact in self.names]
        self.sole = RecordedSole(self.walk["sole"])
        right = RecordedSole(self.walk.get("right_sole", self.walk["sole"]))
        toes = [RecordedSole(self.walk["toe_sole"])] * 2 if "toe_sole" in self.walk else []
        self.soles = (self.sole, *toes, right)

    @cached_property
    def q(self) -> Array:
        """Coordinates (n, 6 + joints): position, yaw, pitch, roll, joints."""
        turn = Rotation.from_quat(self.run["base_quaternion"], scalar_first=True)
        angles = np.unwrap(turn.as_euler("ZYX"), axis=0)
        return np.hstack([self.run["base_position"], angles, self.run["joint_position"][:, self.order]])

    @cached_property
    def nu(self) -> Array:
        """Rates of the coordinates (n, 6 + joints)."""
        yaw, pitch = self.q[:, 3], self.q[:, 4]
        w = self.run["base_angular_velocity"]
        # Along the axes of yaw, pitch and roll: w = e_z yaw' + e_y' pitch' + e_x'' roll'.
        ahead = np.cos(yaw) * w[:, 0] + np.sin(yaw) * w[:, 1]
        roll = ahead / np.cos(pitch)
        rates = np.stack([w[:, 2] + np.sin(pitch) * roll, np.cos(yaw) * w[:, 1] - np.sin(yaw) * w[:, 0], roll], axis=1)
        return np.hstack([self.run["base_velocity"], rates, self.run["joint_velocity"][:, self.order]])

    @cached_property
    def lasting(self) -> NDArray[np.bool_]:
        """Which intervals have a duration (n - 1,): the others are impacts, from the rates before to those after."""
        return np.diff(self.run.time) > 0

    def between(self, time: float) -> Array:
        """Return the coordinates at a time between samples, by cubic Hermite interpolation."""
        k = int(np.searchsorted(self.run.time, time, side="right")) - 1
        around = slice(k, k + 2)
        return np.asarray(CubicHermiteSpline(self.run.time[around], self.q[around], self.nu[around])(time))

    @cached_property
    def standing(self) -> NDArray[np.bool_]:
        """Which contacts bear in each interval (n - 1, C); the first ones are on the left, mirrored in the last."""
        names = self.walk["standing"]
        sides = {name: [contact in stands for contact in self.names] for name, stands in names.items()}
        flipped = {_other(name): stands[::-1] for name, stands in sides.items()}
        return np.array([(flipped | sides)[str(name)] for name in self.run["phase"][:-1]])

    @cached_property
    def bearing(self) -> NDArray[np.bool_]:
        """Of each contact, whether its foot bears anywhere (n - 1, C)."""
        half = len(self.names) // 2
        sides = [np.any(part, axis=1, keepdims=True) for part in (self.standing[:, :half], self.standing[:, half:])]
        return np.repeat(np.hstack(sides), half, axis=1)

    @cached_property
    def at_nodes(self) -> NDArray[np.bool_]:
        """Which feet stand at each sample: before or after it."""
        first, last = self.standing[:1], self.standing[-1:]
        return np.vstack([first, self.standing]) | np.vstack([self.standing, last])

    def feet(self, q: Array, nu: Array | None = None) -> list[tuple[Array, Array, Array, Array]]:
        """Return rotation, origin, velocity of the origin and angular velocity of each foot, world."""
        pin, found = self.pin, []
        pin.forwardKinematics(self.model, self.data, q, np.zeros(self.model.nv) if nu is None else nu)
        pin.updateFramePlacements(self.model, self.data)
        for frame in self.frames:
            place = self.data.oMf[frame]
            R, p = np.array(place.rotation), np.array(place.translation)
            twist = pin.getFrameVelocity(self.model, self.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
            found.append((R, p, np.array(twist.linear), np.array(twist.angular)))
        return found

    def dynamics(self) -> dict[str, float]:
        """Return the residuals of inverse dynamics at the middles of the intervals."""
        h = np.diff(self.run.time)[:, None]
        middle, rate = (self.q[1:] + self.q[:-1]) / 2, (self.nu[1:] + self.nu[:-1]) / 2
        acceleration = np.diff(self.nu, axis=0) / np.where(h > 0, h, np.inf)
        torque = self.run["joint_torque"][:, self.order]
        base, joints = 0.0, 0.0
        for k in np.flatnonzero(self.lasting).tolist():
            push = self._pushes(middle[k], k)
            tau = np.array(self.pin.rnea(self.model, self.data, middle[k], rate[k], acceleration[k], push))
            base = max(base, float(np.max(np.abs(tau[:6]))))
            joints = max(joints, float(np.max(np.abs(tau[6:] - torque[k]))))
        weight, cost = float(self.walk["gait"]["acceleration"]), float(self.walk["statistics"]["cost"])
        share = weight * float(np.sum(acceleration**2 * h)) / (float(np.sum(h)) * cost)
        return {"base_residual": base, "torque_residual": joints, "acceleration_share": share}

    def _pushes(self, q: Array, k: int) -> Any:
        """Return the forces of the ground on the bodies, each in the axes of its joint."""
        pin = self.pin
        pushes = pin.StdVec_Force()
        pushes.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        feet = self.feet(q)
        for i, (frame, (R, p, *_)) in enumerate(zip(self.frames, feet, strict=True)):
            force = self.run["contact_force"][k, i]
            about = self.run["contact_moment"][k, i] if "contact_moment" in self.run else 0.0
            moment = np.array([0.0, 0.0, about])
            smooth = self.sole.shape["type"] != "flat"
            at = p + R @ self.soles[i].point(R) if smooth else self.run["contact_position"][k, i]
            joint = self.model.frames[frame].parentJoint
            place = self.data.oMi[joint]
            Rj, pj = np.array(place.rotation), np.array(place.translation)
            pushes[joint] = pin.Force(Rj.T @ force, Rj.T @ (moment + np.cross(at - pj, force)))
        return pushes

    def contacts(self) -> dict[str, float]:
        """Return gaps and slips of contacts that bear, and the clearance at mid-swing."""
        nodes = [self.feet(q, nu) for q, nu in zip(self.q, self.nu, strict=True)]
        pairs = [(node[i], k, i) for k, node in enumerate(nodes) for i in np.flatnonzero(self.at_nodes[k])]
        gaps = [abs(self.soles[i].gap(R, p)) for (R, p, *_), _, i in pairs]
        stood = np.argwhere(self.standing & self.lasting[:, None])
        slips = [self._slip(nodes[k + after][i], k, i) for k, i in stood for after in (0, 1)]
        between = 0.0
        for k, h in enumerate(np.diff(self.run.time)):
            for share in _BETWEEN if h > 0 else ():
                feet = self.feet(self.between(self.run.time[k] + share * h))
                stands = [abs(self.soles[i].gap(R, p)) for i, (R, p, *_) in enumerate(feet) if self.standing[k, i]]
                between = max(between, *stands)
        clearance = [self.soles[i].gap(*self.feet(self.between(t))[i][:2]) for t, i in self._mid_swings()]
        return {
            "stance_gap_nodes": max(gaps),
            "stance_gap_between": between,
            "slip_nodes": max(slips),
            "swing_clearance": min(clearance),
        }

    def _slip(self, foot: tuple[Array, Array, Array, Array], k: int, i: int) -> float:
        """Return the speed of a foot's material point at its contact with the ground in interval k."""
        R, p, v, w = foot
        flat = self.sole.shape["type"] == "flat"
        arm = self.run["contact_position"][k, i] - p if flat else R @ self.soles[i].point(R)
        return float(np.linalg.norm(v + np.cross(w, arm)))

    def _mid_swings(self) -> list[tuple[float, int]]:
        """Return time and contact of the middle of every swing."""
        found = []
        for i in range(len(self.names)):
            for first, last in _runs(~self.bearing[:, i]):
                found.append((float(self.run.time[first] + self.run.time[last + 1]) / 2, i))
        if not found:
            raise InputError("phase", "no single support", "a walk in which feet swing")
        return found

    def friction_use(self) -> float:
        """Return max |f_t| / (mu f_n) of feet that stand."""
        force = self.run["contact_force"][:-1][self.standing]
        mu = float(self.run.metadata["physics"]["friction"])
        return float(np.max(np.linalg.norm(force[:, :2], axis=1) / (mu * np.maximum(force[:, 2], 1e-9))))

    def energy(self) -> dict[str, float]:
        """Return the error of the energy balance, and the cost of transport: positive joint work/(weight distance)."""
        torque = self.run["joint_torque"][:-1, self.order]
        work = np.sum(torque * np.diff(self.q[:, 6:], axis=0), axis=1)
        each = torque * np.diff(self.q[:, 6:], axis=0)
        gravity = np.array(self.run.metadata["physics"]["gravity"])
        com = self.run["com_position"]
        mass = float(self.run.metadata["physics"]["mass"])
        fall = mass * float(gravity @ (com[-1] - com[0]))
        lost = -sum(self.kinetic(k + 1) - self.kinetic(k) for k in np.flatnonzero(~self.lasting).tolist())
        left = float(np.sum(work)) + fall - lost - (self.kinetic(-1) - self.kinetic(0))
        way = float(self.run["base_position"][-1, 0] - self.run["base_position"][0, 0])
        weight = mass * float(np.linalg.norm(gravity))
        return {
            "energy_balance": abs(left) / float(np.sum(np.abs(each))),
            "cost_of_transport": float(np.sum(np.maximum(each, 0.0))) / (weight * way),
        }

    def kinetic(self, k: int) -> float:
        """Return the kinetic energy at sample k, J."""
        return float(self.pin.computeKineticEnergy(self.model, self.data, self.q[k], self.nu[k]))

    def impacts(self) -> dict[str, float]:
        """Return the largest residual of M (nu+ - nu-) = J'L of all impacts, and the energy that all of them dissipate.

        L are the impulses at the feet that stand after the impact, fitted by least squares.
        """
        left, lost = 0.0, 0.0
        for k in np.flatnonzero(~self.lasting).tolist():
            jump, rows = self.nu[k + 1] - self.nu[k], []
            M = np.array(self.pin.crba(self.model, self.data, self.q[k]))
            M = np.triu(M) + np.triu(M, 1).T
            self.pin.computeJointJacobians(self.model, self.data, self.q[k])
            feet = self.feet(self.q[k])
            for i in np.flatnonzero(self.standing[k]):
                R = feet[i][0]
                world = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
                frame = np.array(self.pin.getFrameJacobian(self.model, self.data, self.frames[i], world))
                points = self.sole.shape["corners"] if self.sole.shape["type"] == "flat" else [self.soles[i].point(R)]
                rows += [frame[:3] - skew(R @ np.asarray(point)) @ frame[3:] for point in points]
            J = np.vstack(rows)
            change = M @ jump
            impulse = np.linalg.lstsq(J.T, change, rcond=None)[0]
            left = max(left, float(np.max(np.abs(change - J.T @ impulse))))
            lost += self.kinetic(k) - self.kinetic(k + 1)
        return {} if self.lasting.all() else {"impact_residual": left, "impact_loss": lost}

    def looks(self) -> dict[str, float]:
        """Return gait parameters: contact and ankle at touch-down and lift-off, arm swing, phases, step size."""
        behind, ahead = [], []
        for i, last_one in ((0, len(self.names) // 2 - 1), (-1, len(self.names) // 2)):
            for first, last in _runs(~self.bearing[:, i]):
                for k, j, values, sign in ((last + 1, i, behind, -1.0), (first, last_one, ahead, 1.0)):
                    if 0 < k < len(self.run) - 1:
                        feet = self.feet(self.q[k])
                        R, p, *_ = feet[j]
                        along = self.run["contact_position"][k, j, 0] if self.sole.shape["type"] == "flat" else None
                        at = (p + R @ self.soles[j].point(R))[0] if along is None else along
                        values.append(sign * (at - feet[i][1][0]))
        share = self.bearing.all(axis=1)
        h = np.diff(self.run.time)
        return {
            "touch_down_behind": min(behind, default=np.nan),
            "lift_off_ahead": min(ahead, default=np.nan),
            "arm_leg_phase": self._arm_leg(),
            "heel_strike": 50.0 * float(np.sum(h[~share])) / float(np.sum(h)),
            "double_support": 100.0 * float(np.sum(h[share])) / float(np.sum(h)),
            "step_duration": float(self.walk["duration"]),
            "step_length": float(self.walk["length"]),
        }

    def _arm_leg(self) -> float:
        """Return the phase (deg, 0 to 180) between the first harmonics of shoulder and hip angle of one side."""
        names = [str(name) for name in self.run["joint"]]
        cycle = 2 * float(self.walk["duration"]) if self.walk["mirror"] is not None else float(self.walk["duration"])
        count = np.searchsorted(self.run.time, self.run.time[0] + cycle * (1 - 1e-9))
        if count >= len(self.run):
            return float("nan")
        t = self.run.time[: count + 1]
        wave = np.exp(-2j * np.pi * (t - t[0]) / cycle)
        arm, leg = (
            np.trapezoid(self.run["joint_position"][: count + 1, names.index(name)] * wave, t)
            for name in ("left_shoulder_pitch", "left_hip_pitch")
        )
        return abs(float(np.degrees(np.angle(arm / leg))))


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of every run of True."""
    edges = np.diff(np.concatenate([[False], mask, [False]]).astype(int))
    firsts, ends = np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist()
    return [(int(first), int(end) - 1) for first, end in zip(firsts, ends, strict=True)]


def _other(name: str) -> str:
    swap = {"left": "right", "right": "left"}
    return " ".join(swap.get(word, word) for word in name.split())

"""What the joints of an arm do along a run of the hand: as the plan chose them, or followed by inverse kinematics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trundle.checks import FloatArray, array
from trundle.models.tree.conversion import to_matrix, to_wxyz
from trundle.models.urdf.articulated import Articulated
from trundle.models.urdf.examples import example_name
from trundle.models.urdf.visuals import BodyRecord, body_records, visual_bodies
from trundle.records import Trajectory
from trundle.systems.juggling.arm.arm import Arm
from trundle.systems.juggling.arm.arm_numbers import ArmNumbers, JointMotion

_UNITS = {"position": "rad", "velocity": "rad/s", "torque": "N m"}
_SAID = {"frame": "joint", "long_name": "of the joints of the arm that carries the hand"}


def joint_demands(arm: Arm, run: Trajectory, start: FloatArray | None = None) -> JointMotion:
    """Return what an arm would have to do to move its hand as in a run, by Pinocchio's inverse kinematics and dynamics.

    Rates are the smallest that move the hand as it moves, accelerations their differences. The load is the contact's
    force and moment on the hand.

    Parameters
    ----------
    arm : Arm
    run : Trajectory
        Of an object on a hand in space.
    start : (n,), optional
        Joint positions near which the run begins; those that put the hand there near the arm's posture, if left out.

    Raises
    ------
    InputError
        If the arm does not reach the hand's place at the start.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.03), mass=0.2), tr.Hand(tr.Plane(), (0.4, 0.1, 0.5)))
    >>> run = tr.simulate(pair, pair.place(contact_on_hand=(0, 0, 0)), 0.1)
    >>> arm = tr.juggling.Arm(tr.load_example_robot("ur5_robot"), "tool0")
    >>> tr.juggling.joint_demands(arm, run).use()["joint_speed_use"]
    0.0
    """
    numbers = ArmNumbers(arm, np.asarray(run.metadata["physics"]["gravity"], dtype=np.float64))
    R, p = np.array([to_matrix(row) for row in run["hand_quaternion"]]), run["hand_position"]
    first = numbers.reach(R[0], p[0]) if start is None else array("start", start, arm.bounds[0].shape, unit="rad")
    q = numbers.follow(R, p, first)
    twist = np.hstack([np.einsum("nji,nj->ni", R, run[f"hand_{rate}"]) for rate in ("angular_velocity", "velocity")])
    rate = numbers.rates(q, twist)
    return _compute_motion(numbers, run, q, rate, np.gradient(rate, run.time, axis=0))


def planned_motion(
    numbers: ArmNumbers, run: Trajectory, times: FloatArray, q: FloatArray, rate: FloatArray, acceleration: FloatArray
) -> JointMotion:
    """Return the motion of the joints at the samples of a run, from the plan's (N, n) at its `times` (N,)."""

    def at(values: FloatArray) -> FloatArray:
        return np.stack([np.interp(run.time, times, column) for column in values.T], axis=1)

    return _compute_motion(numbers, run, at(q), at(rate), at(acceleration))


def record_joints(run: Trajectory, motion: JointMotion) -> Trajectory:
    """Return the run with ``joint_position``, ``joint_velocity`` and ``joint_torque`` (time, joint), and its bodies.

    Meshes of a description of one's own are put into the run, those of example-robot-data are not.
    """
    arm = motion.arm
    bodies = body_records(Articulated(arm.chain))
    base = [*arm.base.p.tolist(), *to_wxyz(arm.base.R).tolist()]
    shapes = visual_bodies(arm.chain, not example_name(arm.urdf), arm.tree)
    scene = (*run.scene, *(replace(body, name=bodies[i]["name"]) for i, body in shapes.items()))
    carrier, place = arm.tree.links[arm.link]
    hand = place.then(arm.mount)
    bodies.append(
        BodyRecord(
            name="", parent=carrier, slides=False, R=hand.R.tolist(), p=hand.p.tolist(), axis=[0, 0, 0], com=[0, 0, 0]
        )
    )
    metadata = dict(run.metadata) | {"arm": {"bodies": bodies, "base": base}}
    values = {"position": motion.position, "velocity": motion.rate, "torque": motion.torque}
    columns = {f"joint_{k}": (("time", "joint"), value, {"units": _UNITS[k], **_SAID}) for k, value in values.items()}
    dataset = run.dataset.assign(columns).assign_coords(joint=list(arm.joints))
    return replace(run, dataset=dataset, metadata=metadata, scene=scene)


def _compute_motion(
    numbers: ArmNumbers, run: Trajectory, q: FloatArray, rate: FloatArray, acceleration: FloatArray
) -> JointMotion:
    force, n = np.nan_to_num(run["contact_force"]), np.nan_to_num(run["contact_normal"])
    lever = np.nan_to_num(run["contact_position"] - run["hand_position"])
    moment = np.nan_to_num(run["contact_moment"])[:, None] * n + np.cross(lever, force)
    wrench = -np.hstack([moment, force])
    return numbers.motion(run.time, q, rate, acceleration, wrench, run["hand_position"])

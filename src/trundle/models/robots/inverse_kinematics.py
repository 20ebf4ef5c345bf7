"""Inverse kinematics by Pink (differential, within joint limits): a humanoid's ends at their places."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, load_pinocchio
from trundle.models.robots.humanoid import Humanoid

Place = tuple[FloatArray, FloatArray | None]
"""Where an end should be: position (3,) m, and axes (3, 3), or None where they are free; world."""

_DONE = 1e-6
"""Displacement (rad, m) of a step with which the iteration ends."""


class PinModel(Protocol):
    """What is used of a model of Pinocchio."""

    nq: int
    njoints: int
    lowerPositionLimit: FloatArray
    upperPositionLimit: FloatArray
    createData: Callable[[], object]
    getFrameId: Callable[[str], int]


def inverse_kinematics(
    humanoid: Humanoid,
    start: FloatArray,
    ends: Mapping[str, Place],
    center_of_mass: FloatArray | None = None,
    *,
    postures: Sequence[float],
    iterations: int,
    joints: Collection[int] | None = None,
    limited: bool = True,
) -> FloatArray:
    """Return a configuration q (nq,) near `start` with the `ends` at their places, as far as they can be.

    Each step is the QP of Pink for the tasks of the ends (pads in their own axes), the centre of mass (3,), m, and the
    robot's posture; then the state moves by it.

    Parameters
    ----------
    postures : sequence of float
        Weights of the posture (1/rad2) beside those of ends and centre of mass (1/m2, 1/rad2), one after the other:
        what an end leaves free is decided by the first ones, how near it gets by the last.
    iterations : int
        At most, with each of them.
    joints : numbers of joints, optional
        Those that may move; the others and the base stay. None: all, and the base.
    limited : bool
        False: joints go beyond their limits, to see where they would have to be.

    Raises
    ------
    InputError
        If a joint of the robot turns without end.
    MissingExtraError
        If Pink is not installed.
    """
    pin = load_pinocchio("pinocchio")
    model, robot, moving = _model(humanoid, ends, limited), humanoid.robot, slice(None)
    q, posture = np.array(start), np.append(start[:7], humanoid.joint_posture)
    q[7:] = np.clip(q[7:], robot.lower, robot.upper)
    for values in (q, posture):
        values[3:7] = values[[4, 5, 6, 3]]  # Pinocchio's quaternion ends with w
    if joints is not None:
        own = sorted(joints)
        model = pin.buildReducedModel(model, [i for i in range(1, model.njoints) if i - 2 not in own], q)
        moving = np.array([7 + i for i in own], dtype=int)
    q[moving] = solve_inverse_kinematics(
        model, q[moving], _tasks(ends, center_of_mass), posture[moving], postures, iterations
    )
    q[3:7] = q[[6, 3, 4, 5]]
    return q


def solve_inverse_kinematics(
    model: PinModel,
    start: FloatArray,
    wanted: Sequence[object],
    posture: FloatArray,
    postures: Sequence[float],
    iterations: int,
    follow: Callable[[FloatArray], None] | None = None,
) -> FloatArray:
    """Return a configuration (nq,) near `start` of a model of Pinocchio that does `wanted`, tasks of Pink, at best.

    Parameters
    ----------
    posture : (nq,)
        That of the joints; the entries of a first joint ``root_joint`` do not matter.
    postures, iterations : as of `inverse_kinematics`
    follow : callable, optional
        Called with the configuration before each step, to move the targets.
    """
    pink, tasks = (load_pinocchio(name) for name in ("pink", "pink.tasks"))
    configuration = pink.Configuration(model, model.createData(), start)
    for weight in postures:
        rest = tasks.PostureTask(cost=weight)
        rest.set_target(posture)
        for _ in range(iterations):
            if follow is not None:
                follow(configuration.q)
            velocity = pink.solve_ik(configuration, [*wanted, rest], 1.0, solver="daqp", safety_break=False)
            configuration.integrate_inplace(velocity, 1.0)
            if float(np.abs(velocity).max()) < _DONE:
                break
    return np.array(configuration.q)


def _model(humanoid: Humanoid, ends: Iterable[str], limited: bool) -> PinModel:
    """Return the model of Pinocchio with a frame at each end, its joints `limited` or not."""
    pin = load_pinocchio("pinocchio")
    model = pin.buildModelFromXML(humanoid.urdf.text, pin.JointModelFreeFlyer())
    if model.nq != humanoid.robot.nq:
        raise InputError("humanoid", humanoid.name, "a robot whose joints do not turn without end")
    if not limited:
        model.lowerPositionLimit[7:], model.upperPositionLimit[7:] = -np.inf, np.inf
    for name in ends:
        link, at = humanoid.ends[name]
        body = model.getFrameId(link, pin.FrameType.BODY)
        here = model.frames[body].placement * pin.SE3(humanoid.pad_axes.get(name, np.eye(3)), np.array(at))
        model.addFrame(pin.Frame(f"end: {name}", model.frames[body].parentJoint, body, here, pin.FrameType.OP_FRAME))
    return model


def _tasks(ends: Mapping[str, Place], center_of_mass: FloatArray | None) -> list[object]:
    """Return the tasks of Pink for the frames of the ends and the centre of mass."""
    tasks, pin = load_pinocchio("pink.tasks"), load_pinocchio("pinocchio")
    wanted: list[object] = []
    for name, (position, axes) in ends.items():
        task = tasks.FrameTask(f"end: {name}", 1.0, 0.0 if axes is None else 1.0, lm_damping=1e-6)
        task.set_target(pin.SE3(np.eye(3) if axes is None else np.array(axes), np.array(position)))
        wanted.append(task)
    if center_of_mass is not None:
        middle = tasks.ComTask(cost=1.0, lm_damping=1e-6)
        middle.set_target(np.array(center_of_mass))
        wanted.append(middle)
    return wanted

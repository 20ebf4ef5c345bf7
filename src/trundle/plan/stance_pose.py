"""Poses: a statically stable configuration of a humanoid in a stance, by inverse kinematics and a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from trundle.checks import FloatArray, array, integer, positive
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError, MissingExtraError, TrundleError
from trundle.models.humanoid import Humanoid
from trundle.plan.equilibrium import Equilibrium, standing_still


@dataclass(frozen=True)
class PoseSettings:
    """How poses are sought.

    Parameters
    ----------
    iterations : int
        Of inverse kinematics, at most.
    tolerance : m
        Contacts and the centre of mass must be this near to where they should be.
    angle_tolerance : rad
    posture : float
        Weight of the posture beside contacts (1/m2, 1/rad2): small; it only decides what contacts leave free.
    height : float or None, m
        Of the centre of mass over the lowest sole, where a stance does not say. None: that of the posture.
    torques : bool
        Whether a stance that needs more torque than there is, is refused.
    """

    iterations: int = 60
    tolerance: float = 2e-3
    angle_tolerance: float = 0.01
    posture: float = 1e-3
    height: float | None = None
    torques: bool = True

    def __post_init__(self) -> None:
        integer("iterations", self.iterations, minimum=1)
        for name in ("tolerance", "angle_tolerance", "posture"):
            positive(name, getattr(self, name))
        if self.height is not None:
            positive("height", self.height, "m")


@dataclass(frozen=True)
class Stance:
    """A set of contacts, and a configuration that rests on them.

    Attributes
    ----------
    contacts : tuple of PlacedPatch
        Named by the limbs that hold them.
    center_of_mass : (3,) m
    q : (nq,)
        `Humanoid` state.
    equilibrium : Equilibrium
    """

    contacts: tuple[PlacedPatch, ...]
    center_of_mass: FloatArray
    q: FloatArray
    equilibrium: Equilibrium

    def contact(self, name: str) -> PlacedPatch | None:
        """Return the contact of a limb, or None."""
        return next((c for c in self.contacts if c.name == name), None)


class StanceError(TrundleError):
    """A stance cannot be taken; `stance` is its number, `misses` says by how much what is missed."""

    def __init__(self, message: str, misses: dict[str, float] | None = None, stance: int | None = None) -> None:
        self.misses, self.stance, self.reason = misses or {}, stance, message
        super().__init__(message if stance is None else f"stance {stance}: {message}")


def find_pose(
    robot: Humanoid,
    contacts: Sequence[PlacedPatch],
    center_of_mass: Any = None,
    *,
    start: FloatArray | None = None,
    settings: PoseSettings | None = None,
) -> Stance:
    """Return a stance: limbs on their contacts, the centre of mass where it should be, at rest within torques.

    Inverse kinematics by Pink (differential, with joint limits) from `start`, then a linear program for the wrenches
    (`standing_still`). Spheres touch with the point below their centre along the contact's normal.

    Parameters
    ----------
    center_of_mass : (3,) m, optional
        Default: over the mean of the soles, at the height of the settings.

    Raises
    ------
    InputError
        For no contact, a limb the robot does not have or that is named twice.
    StanceError
        If a contact or the centre of mass cannot be reached, the contacts cannot bear the weight, or torques
        do not suffice.
    MissingExtraError
        If Pink is not installed.
    """
    chosen = settings or PoseSettings()
    if not contacts:
        raise InputError("contacts", (), "at least one contact: a stance without contact cannot rest")
    names = [contact.name for contact in contacts]
    for name in names:
        robot.limb(name)
    if len(set(names)) < len(names):
        raise InputError("contacts", names, "each limb once")
    com = _default_com(robot, contacts, chosen) if center_of_mass is None else center_of_mass
    com = array("center_of_mass", com, (3,), unit="m")
    q = _inverse_kinematics(robot, contacts, com, robot.standing if start is None else start, chosen)
    misses = _misses(robot, q, contacts, com)
    far = {k: v for k, v in misses.items() if v > (chosen.angle_tolerance if "turn" in k else chosen.tolerance)}
    if far:
        what = ", ".join(f"{name} by {value:.3g} {'rad' if 'turn' in name else 'm'}" for name, value in far.items())
        raise StanceError(f"out of reach: misses {what}", far)
    held = standing_still(robot, q, contacts)
    if not held.feasible:
        raise StanceError(f"the contacts {names} cannot bear the weight with the centre of mass at {com.round(3)} m")
    if chosen.torques and not held.within_torques:
        raise StanceError(f"it takes {held.torque_use:.2f} of the torque there is", {"torque_use": held.torque_use})
    return Stance(tuple(contacts), robot.center_of_mass(q), q, held)


def _default_com(robot: Humanoid, contacts: Sequence[PlacedPatch], settings: PoseSettings) -> FloatArray:
    soles = [c.position for c in contacts if not c.patch.is_point] or [c.position for c in contacts]
    height = robot.center_of_mass(robot.standing)[2] if settings.height is None else settings.height
    middle = np.mean(soles, axis=0)
    return np.array([middle[0], middle[1], min(p[2] for p in soles) + height])


def _inverse_kinematics(
    robot: Humanoid, contacts: Sequence[PlacedPatch], com: FloatArray, start: FloatArray, settings: PoseSettings
) -> FloatArray:
    pink, tasks = _pink()
    pin = import_module("pinocchio")
    configuration = pink.Configuration(robot.model, robot.model.createData(), robot.to_pinocchio(start))
    wanted = []
    for contact in contacts:
        limb = robot.limb(contact.name)
        task = tasks.FrameTask(robot.frame(contact.name), 1.0, 0.0 if limb.is_point else 1.0, lm_damping=1e-6)
        task.set_target(pin.SE3(np.array(contact.R_world_patch), _centre(robot, contact)))
        wanted.append(task)
    middle = tasks.ComTask(cost=1.0, lm_damping=1e-6)
    middle.set_target(np.array(com))
    posture = tasks.PostureTask(cost=settings.posture)
    rest = np.concatenate((configuration.q[:7], robot.posture))
    posture.set_target(rest)
    everything = [*wanted, middle, posture]
    for _ in range(settings.iterations):
        velocity = pink.solve_ik(configuration, everything, 1.0, solver="daqp", safety_break=False)
        configuration.integrate_inplace(velocity, 1.0)
        if float(np.abs(velocity).max()) < 1e-6:
            break
    return robot.from_pinocchio(np.array(configuration.q))


def _centre(robot: Humanoid, contact: PlacedPatch) -> FloatArray:
    """Where the limb's frame must be: at the contact, or a radius above it."""
    return contact.position + robot.limb(contact.name).radius * contact.R_world_patch[:, 2]


def _misses(robot: Humanoid, q: FloatArray, contacts: Sequence[PlacedPatch], com: FloatArray) -> dict[str, float]:
    """Return how far each contact and the centre of mass are from where they should be, recomputed; and limits."""
    pin, data = import_module("pinocchio"), robot.model.createData()
    q_pin = robot.to_pinocchio(q)
    pin.framesForwardKinematics(robot.model, data, q_pin)
    found = {}
    for contact in contacts:
        place = data.oMf[robot.model.getFrameId(robot.frame(contact.name))]
        found[contact.name] = float(np.linalg.norm(place.translation - _centre(robot, contact)))
        if not robot.limb(contact.name).is_point:
            turn = pin.log3(np.array(contact.R_world_patch).T @ np.array(place.rotation))
            found[f"{contact.name}'s turn"] = float(np.linalg.norm(turn))
    found["the centre of mass"] = float(np.linalg.norm(robot.center_of_mass(q) - com))
    over = np.maximum(robot.model.lowerPositionLimit - q_pin, q_pin - robot.model.upperPositionLimit)[7:]
    found["a joint's limit (turn)"] = float(np.max(over, initial=0.0))
    return found


def _pink() -> tuple[Any, Any]:
    try:
        return import_module("pink"), import_module("pink.tasks")
    except ImportError:
        raise MissingExtraError("pin-pink", "robots") from None

"""Poses: a statically stable configuration of a humanoid in a stance, by inverse kinematics and a linear program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, integer, positive
from trundle.contact.patch import PlacedPatch
from trundle.errors import InputError, TrundleError
from trundle.models.robots.ends import BallHand
from trundle.models.robots.humanoid import Humanoid
from trundle.models.robots.inverse_kinematics import inverse_kinematics
from trundle.systems.multicontact.centroidal.forecast import Forecast
from trundle.systems.multicontact.humanoid.limits import largest_demand
from trundle.systems.multicontact.stances.equilibrium import StanceEquilibrium, end_of, standing_still


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


def contact_sets(forecast: Forecast, until: float) -> Iterator[tuple[int, float, list[PlacedPatch]]]:
    """Return each set of contacts of a forecast from time 0 to `until` (s): number, mid time (s), contacts."""
    borders = np.concatenate(([0.0], forecast.changes, [until]))
    borders = np.unique(borders[(borders >= 0.0) & (borders <= until)])
    times = 0.5 * (borders[:-1] + borders[1:])
    for i, (time, on) in enumerate(zip(times, forecast.held(times), strict=True)):
        yield i, time, [held.contact for held, here in zip(forecast.contacts, on, strict=True) if here]


@contextmanager
def refusals_name(contacts: Sequence[PlacedPatch], time: float, number: int) -> Iterator[None]:
    """Let a `StanceError` inside name the ends, the time (s) and the number of the stance."""
    try:
        yield
    except StanceError as error:
        names = ", ".join(contact.name for contact in contacts)
        raise StanceError(f"{names} at {time:.2f} s: {error.reason}", error.misses, number) from None


@dataclass(frozen=True)
class Stance:
    """A set of contacts, and a configuration that rests on them.

    Attributes
    ----------
    contacts : tuple of PlacedPatch
        Named by the robot's ends (`Humanoid.ends`): "left_foot", "right_hand", ...
    center_of_mass : (3,) m
    q : (nq,)
        See `trundle.models.urdf.articulated.Articulated`.
    equilibrium : StanceEquilibrium
    """

    contacts: tuple[PlacedPatch, ...]
    center_of_mass: FloatArray
    q: FloatArray
    equilibrium: StanceEquilibrium

    def contact(self, name: str) -> PlacedPatch | None:
        """Return the contact of an end, or None."""
        return next((c for c in self.contacts if c.name == name), None)


class StanceError(TrundleError):
    """A stance cannot be taken; `stance` is its number, `misses` says by how much what is missed."""

    def __init__(self, message: str, misses: dict[str, float] | None = None, stance: int | None = None) -> None:
        self.misses, self.stance, self.reason = misses or {}, stance, message
        super().__init__(message if stance is None else f"stance {stance}: {message}")


def find_pose(
    humanoid: Humanoid,
    contacts: Sequence[PlacedPatch],
    center_of_mass: ArrayLike | None = None,
    *,
    start: FloatArray | None = None,
    settings: PoseSettings | None = None,
) -> Stance:
    """Return a stance: ends on their contacts, the centre of mass where it should be, at rest within torques.

    Inverse kinematics by Pink (differential, with joint limits) from `start`, then a linear program for the wrenches
    (`standing_still`). Spheres touch with the point below their centre along the contact's normal.

    Parameters
    ----------
    center_of_mass : (3,) m, optional
        Default: over the mean of the soles, at the height of the settings.

    Raises
    ------
    InputError
        For no contact, an end the robot does not have or that is named twice, or joints that turn without end.
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
        end_of(humanoid, name)
    if len(set(names)) < len(names):
        raise InputError("contacts", names, "each end once")
    com = _default_com(humanoid, contacts, chosen) if center_of_mass is None else center_of_mass
    com = array("center_of_mass", com, (3,), unit="m")
    begin = humanoid.standing() if start is None else start
    ends = {c.name: (_centre(humanoid, c), None if c.patch.is_point else c.R_world_patch) for c in contacts}
    how = {"postures": [chosen.posture], "iterations": chosen.iterations}
    q = inverse_kinematics(humanoid, begin, ends, com, **how)
    far = _far(humanoid, q, contacts, com, chosen)
    if far:
        what = ", ".join(f"{name} by {value:.3g} {'rad' if 'turn' in name else 'm'}" for name, value in far.items())
        free = inverse_kinematics(humanoid, begin, ends, com, **how, limited=False)
        asked = largest_demand(humanoid.robot, angles=free[7:])
        binds = asked.use > 1.0 and not _far(humanoid, free, contacts, com, chosen)
        why = str(asked) if binds else "with joints without limits, too"
        raise StanceError(f"out of reach: misses {what}; {why}", far)
    held = standing_still(humanoid, q, contacts)
    if not held.feasible:
        raise StanceError(f"the contacts {names} cannot bear the weight with the centre of mass at {com.round(3)} m")
    if chosen.torques and not held.within_torques:
        asked = largest_demand(humanoid.robot, torques=held.torque)
        what = f"it takes {held.torque_use:.2f} of the torque there is: {asked}"
        raise StanceError(what, {"torque_use": held.torque_use})
    return Stance(tuple(contacts), center_of_mass_of(humanoid, q), q, held)


def center_of_mass_of(humanoid: Humanoid, q: FloatArray) -> FloatArray:
    """Return the centre of mass (3,) m, world."""
    momentum = humanoid.robot.terms(q, np.zeros(humanoid.robot.nv), momentum=True).momentum
    return np.full(3, np.nan) if momentum is None else momentum.com


def where(humanoid: Humanoid, q: FloatArray, name: str) -> tuple[FloatArray, FloatArray]:
    """Return position (3,) m and axes (3, 3) of an end: a sole's or pad's middle, a ball's centre."""
    end_of(humanoid, name)
    end = humanoid.placed_ends(q)[name]
    return end.p, end.R


def radius_of(humanoid: Humanoid, name: str) -> float:
    """Return the radius (m) of a hand's ball; 0 of a sole."""
    hand = humanoid.hands.get(name.removesuffix("_hand")) if name.endswith("_hand") else None
    return hand.radius if isinstance(hand, BallHand) else 0.0


def _default_com(humanoid: Humanoid, contacts: Sequence[PlacedPatch], settings: PoseSettings) -> FloatArray:
    soles = [c.position for c in contacts if not c.patch.is_point] or [c.position for c in contacts]
    height = settings.height
    if height is None:
        q = humanoid.standing()
        lowest = min(where(humanoid, q, name)[0][2] for name in humanoid.ends if name.endswith("_foot"))
        height = float(center_of_mass_of(humanoid, q)[2] - lowest)
    middle = np.mean(soles, axis=0)
    return np.array([middle[0], middle[1], min(p[2] for p in soles) + height])


def _centre(humanoid: Humanoid, contact: PlacedPatch) -> FloatArray:
    """Where the end must be: at the contact, or a ball's radius above it."""
    return contact.position + radius_of(humanoid, contact.name) * contact.R_world_patch[:, 2]


def _far(
    humanoid: Humanoid, q: FloatArray, contacts: Sequence[PlacedPatch], com: FloatArray, settings: PoseSettings
) -> dict[str, float]:
    """Return how far contacts and the centre of mass are from where they should be, where that is too far."""
    found = {}
    for contact in contacts:
        position, R = where(humanoid, q, contact.name)
        found[contact.name] = float(np.linalg.norm(position - _centre(humanoid, contact)))
        if not contact.patch.is_point:
            error = contact.R_world_patch.T @ R
            found[f"{contact.name}'s turn"] = float(np.arccos(np.clip((np.trace(error) - 1) / 2, -1.0, 1.0)))
    found["the centre of mass"] = float(np.linalg.norm(center_of_mass_of(humanoid, q) - com))
    return {k: v for k, v in found.items() if v > (settings.angle_tolerance if "turn" in k else settings.tolerance)}

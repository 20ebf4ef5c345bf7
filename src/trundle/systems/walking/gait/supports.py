"""Supports: which contacts bear in each phase of a walk's cycle, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.soles import Sole
from trundle.systems.walking.robots.avatar_feet import TOE

SIDES = ("left", "right")


@dataclass(frozen=True)
class GaitSupport:
    """One phase of the cycle: which feet stand, and how.

    Attributes
    ----------
    name : str
    stances : mapping of contact to mode
        The foot that has stood longer first. A contact is a foot's side, or <side>_toe.
    landing : tuple of str
        The contacts that touch down when the phase begins.
    swing : (begin, end), optional
        Shares of single support between which the phase is taken to last; None of double support.
    """

    name: str
    stances: dict[str, str]
    landing: tuple[str, ...] = ()
    swing: tuple[float, float] | None = None

    def list_lifted(self, contacts: Iterable[str]) -> list[str]:
        """Return those of `contacts` that do not bear."""
        return [contact for contact in contacts if contact not in self.stances]


def side_of(contact: str) -> str:
    """Return the side of a contact."""
    return contact.removesuffix(f"_{TOE}")


def bare(name: str) -> str:
    """Return the name of a joint without its side."""
    return name.removeprefix("left_").removeprefix("right_")


def other(name: str) -> str:
    """Return the name of the joint or contact on the other side."""
    if name.startswith("left"):
        return "right" + name[4:]
    return "left" + name[5:] if name.startswith("right") else name


def supports(gait: Gait, sole: Sole, toes: bool) -> tuple[GaitSupport, ...]:
    """Return the phases of the cycle; a foot with toes lands on its heel, stands on both segments, then on its toes."""
    first = sole.modes[0]
    trailing, leading = gait.trailing or first, gait.leading or first
    behind = f"left_{TOE}" if toes else "left"
    step = (
        GaitSupport("single left", {"left": first}, swing=(0.0, 1.0)),
        GaitSupport("double left", {behind: trailing, "right": leading}, ("right",)),
    )
    if toes:
        both = GaitSupport("single left", {"left": first, behind: first}, (behind,), (0.0, 0.6))
        step = (both, GaitSupport("toe left", {behind: first}, swing=(0.6, 1.0)), step[1])
    return step if gait.periodicity == "mirrored" else (*step, *(swap_sides(support) for support in step))


def swap_sides(support: GaitSupport) -> GaitSupport:
    """Return the same phase of the other side."""
    stances = {other(contact): mode for contact, mode in support.stances.items()}
    name = " ".join(other(word) for word in support.name.split())
    return GaitSupport(name, stances, tuple(map(other, support.landing)), support.swing)

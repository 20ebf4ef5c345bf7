"""What a robot touches with: soles that stand, balls of hands that push, pads of hands that hold things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import TypeVar

import numpy as np

from trundle.checks import ArrayField, Converted, FloatArray, size, vector
from trundle.contact.patch import FlatPatch
from trundle.errors import InputError
from trundle.parameters import Checked, check_parameters

T = TypeVar("T")


def from_table(
    kind: Callable[..., T], key: str, given: Mapping[str, object], own: Mapping[str, object] | None = None
) -> T:
    """Return what a table of a robot's file describes, of this `kind`; `own` are values that it may leave out.

    Raises
    ------
    InputError
        For keys that are unknown or missing, and values that are wrong; its key begins with `key`.
    """
    try:
        return kind(**{**(own or {}), **given})
    except TypeError:
        raise InputError(key, given, "a table with the keys " + ", ".join(signature(kind).parameters)) from None
    except InputError as error:
        raise error.within(key) from None


@dataclass(frozen=True)
class BallHand(Checked):
    """A ball of `radius` (m) at the point `at` (3,) m of a link: a hand that may push."""

    link: str
    at: ArrayField = vector("m")
    radius: Converted[float, float] = size("m")


@dataclass(frozen=True)
class Pad:
    """A flat rectangle: the sole of a foot that stands, or the pad of a hand that presses against things.

    Parameters
    ----------
    link : str
    at : (3,) m
        Its centre in the axes of the link.
    inward : (3,)
        Direction from the pad into the foot or hand, in the axes of the link: the z axis of the pad.
    length, width : float, m
        Along its x and y axes.
    ahead : (3,)
        Direction in the axes of the link, made perpendicular: the x axis of the pad, which lies ahead where the robot
        stands, or holds something in front.
    """

    link: str
    at: ArrayField = vector("m")
    inward: ArrayField = vector()
    length: Converted[float, float] = size("m")
    width: Converted[float, float] = size("m")
    ahead: ArrayField = vector("", (1.0, 0.0, 0.0))
    R_link_pad: FloatArray = field(init=False, repr=False, compare=False)
    """(3, 3)."""

    def __post_init__(self) -> None:
        check_parameters(self)
        size, long = float(np.linalg.norm(self.inward)), float(np.linalg.norm(self.ahead))
        if long < 1e-9:
            raise InputError("ahead", self.ahead, "a direction")
        if size < 1e-9 or abs(self.inward @ self.ahead) > 0.9 * size * long:
            raise InputError("inward", self.inward, f"a direction away from ahead, {self.ahead.tolist()}")
        z = self.inward / size
        x = self.ahead / long - (z @ self.ahead / long) * z
        x /= np.linalg.norm(x)
        object.__setattr__(self, "R_link_pad", np.column_stack((x, np.cross(z, x), z)))

    def patch(self, friction: float, part: float = 1.0) -> FlatPatch:
        """Return the patch, its sides shrunk to this part."""
        return FlatPatch.rectangle(part * self.length, part * self.width, friction)

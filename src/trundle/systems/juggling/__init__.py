"""Juggling: an object that rolls on a moving hand, is thrown and caught (paper 2).

`Transfer` is the task of bringing an object from a start to a `Goal` by rolling, `plan` solves it (package `transfer`);
`ThrowCatch` plans a throw and the catch (`throw`); an `Arm` carries the hand (`arm`). `scenario` has what
``trundle run`` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trundle.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    from trundle.systems.juggling.arm.arm import Arm as Arm
    from trundle.systems.juggling.arm.arm_numbers import JointMotion as JointMotion
    from trundle.systems.juggling.arm.demands import joint_demands as joint_demands
    from trundle.systems.juggling.throw.policy import PlayThenHold as PlayThenHold
    from trundle.systems.juggling.throw.throw import ThrowCatch as ThrowCatch
    from trundle.systems.juggling.throw.throw import ThrowPlan as ThrowPlan
    from trundle.systems.juggling.transfer.refine import Progress as Progress
    from trundle.systems.juggling.transfer.refine import plan as plan
    from trundle.systems.juggling.transfer.transfer import ContactLimits as ContactLimits
    from trundle.systems.juggling.transfer.transfer import Goal as Goal
    from trundle.systems.juggling.transfer.transfer import HandLimits as HandLimits
    from trundle.systems.juggling.transfer.transfer import Transfer as Transfer
    from trundle.systems.juggling.transfer.transfer import Weights as Weights

_HOMES = {
    "arm.arm": "Arm",
    "arm.arm_numbers": "JointMotion",
    "arm.demands": "joint_demands",
    "throw.policy": "PlayThenHold",
    "throw.throw": "ThrowCatch ThrowPlan",
    "transfer.refine": "Progress plan",
    "transfer.transfer": "ContactLimits Goal HandLimits Transfer Weights",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

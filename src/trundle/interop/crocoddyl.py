"""Rolling feet in Crocoddyl: a contact model, with derivatives, whose contact point moves as the foot rolls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray, array, choice
from trundle.contact.packed import FrameMotion
from trundle.errors import InputError, MissingExtraError
from trundle.interop.pinocchio import FootContact, RollingFeet
from trundle.numerics.rotations import skew

if TYPE_CHECKING:
    import crocoddyl
    import pinocchio as pin


def contact_model(
    state: crocoddyl.StateMultibody,
    feet: RollingFeet,
    name: str,
    nu: int | None = None,
    gains: Sequence[float] = (0.0, 0.0),
) -> crocoddyl.ContactModelAbstract:
    """Return a Crocoddyl contact model of one rolling foot, for ``ContactModelMultiple.addContact``.

    Its acceleration a0 = bias + gains[0] gap + gains[1] J v is to vanish; the force is that of the world on the foot at
    the moving contact point, world axes (then the moments of laws that hold a turning).

    Parameters
    ----------
    state : crocoddyl.StateMultibody
        Of the model that `feet` was made of.
    feet : RollingFeet
    name : str
        Of the contact. Crocoddyl keeps one force a joint: two feet on one link are not for it.
    nu : int, optional
        Dimension of the control; the state's nv unless given.
    gains : (2,) 1/s2, 1/s
        Baumgarte's.

    Raises
    ------
    MissingExtraError
        If Crocoddyl is not installed.
    InputError
        If there is no such contact, or the state is of another model.
    """
    make = _contact_type()
    contacts = {one.name: one for one in feet.contacts}
    foot = contacts[choice("name", name, contacts)]
    if state.pinocchio != feet.model:
        raise InputError("state", state, "one of the model that the feet are of")
    return make(state, foot, state.nv if nu is None else nu, array("gains", gains, (2,), minimum=0.0))


class FootEvaluation:
    """One foot as Crocoddyl asks for it, step by step, at what Pinocchio has left in `data` (final)."""

    def __init__(self, foot: FootContact, gains: FloatArray, data: pin.Data) -> None:
        self._foot, self._gains, self._data = foot, gains, data
        self._s: FloatArray | None = None

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return J (m, nv) and a0 (m,); Pinocchio's accelerations are those at a = 0."""
        motion, z, s = self._place()
        found = self._foot.touch.values(z, s)
        kp, kd = self._gains
        return found.L @ motion.J, found.rate + kp * found.position + kd * found.velocity

    def slopes(self) -> FloatArray:
        """Return the derivatives (m, 2 nv) of J a + a0 by (q, v) at Pinocchio's accelerations."""
        motion, z, s = self._place()
        D, (by_q, by_v) = self._foot.touch.slopes(z, s), self._foot.motion_slopes(self._data, motion)
        kp, kd = self._gains
        S = D.rate + kp * D.position + kd * D.velocity
        return np.hstack([S @ by_q, S @ by_v])

    def pushed(self, force: FloatArray) -> tuple[pin.Force, FloatArray]:
        """Return the force (m,) in the frame of the joint that moves the foot, and its part of d(torques)/dq (nv, nv).

        In the joint's frame the force changes with q: as its point moves over the foot, and as the frame turns.
        """
        import pinocchio as pin

        motion, z, s = self._place()
        push, slope = self._foot.touch.push(z, s, force)
        moment, linear = push[:3], push[3:]
        rate = slope @ np.vstack([motion.Jw, motion.Jv]) + np.vstack([skew(moment), skew(linear)]) @ motion.Jw
        local = pin.Force(motion.R.T @ linear, motion.R.T @ moment)
        return self._foot.placement.act(local), -motion.J.T @ rate

    def _place(self) -> tuple[FrameMotion, FloatArray, FloatArray]:
        motion = self._foot.motion(self._data)
        z = motion.packed()
        self._s = self._foot.touch.coordinates(z, self._s)
        return motion, z, self._s


@cache
def _contact_type() -> type[crocoddyl.ContactModelAbstract]:
    """Make the class when Crocoddyl is first asked for."""
    try:
        import crocoddyl
    except ImportError:
        raise MissingExtraError("crocoddyl", "crocoddyl") from None
    import pinocchio as pin

    class Data(crocoddyl.ContactDataAbstract):
        """One foot's evaluation."""

        def __init__(self, model: ContactModelRolling, data: pin.Data) -> None:
            super().__init__(model, data)
            self.frame, self.jMf = model.foot.frame, model.foot.placement
            self.foot = FootEvaluation(model.foot, model.gains, data)

    class ContactModelRolling(crocoddyl.ContactModelAbstract):
        """A foot that rolls."""

        def __init__(self, state: crocoddyl.StateMultibody, foot: FootContact, nu: int, gains: FloatArray) -> None:
            super().__init__(state, pin.LOCAL_WORLD_ALIGNED, foot.touch.size, nu)
            self.foot, self.gains = foot, gains

        def createData(self, data: pin.Data) -> Data:  # noqa: N802
            return Data(self, data)

        def calc(self, data: Data, x: FloatArray) -> None:
            data.Jc, data.a0 = data.foot.rows()

        def calcDiff(self, data: Data, x: FloatArray) -> None:  # noqa: N802
            data.da0_dx = data.foot.slopes()

        def updateForce(self, data: Data, force: FloatArray) -> None:  # noqa: N802
            data.f = pin.Force(force[:3], np.zeros(3))
            data.fext, data.dtau_dq = data.foot.pushed(force)

    return ContactModelRolling

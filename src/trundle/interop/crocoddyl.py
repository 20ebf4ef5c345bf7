"""Rolling feet in Crocoddyl: a contact model, with derivatives, whose contact point moves as the foot rolls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from trundle.checks import FloatArray, array, choice
from trundle.contact.packed import FrameMotion
from trundle.errors import InputError, optional
from trundle.extras import command
from trundle.interop.pinocchio import FootContact, RollingFeet

if TYPE_CHECKING:
    import crocoddyl
    import pinocchio as pin

    _ContactMaker = Callable[[crocoddyl.StateMultibody, FootContact, int, FloatArray], crocoddyl.ContactModelAbstract]

    class _RollingData(crocoddyl.ContactDataAbstract):
        foot: FootEvaluation


def contact_model(
    state: crocoddyl.StateMultibody,
    feet: RollingFeet,
    name: str,
    nu: int | None = None,
    gains: Sequence[float] = (0.0, 0.0),
) -> crocoddyl.ContactModelAbstract:
    """Return a Crocoddyl contact model of one rolling foot, for ``ContactModelMultiple.addContact``.

    J a + a0 = 0 with a0 = bias + gains[0] gap + gains[1] J v. The force is that of the ground on the foot at the moving
    contact point, world axes: ``data.f``; all multipliers are ``data.foot.force``. It is written in Python: of a
    ``ShootingProblem``, `nthreads` has to be 1.

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
    foot = _foot(feet, name)
    if state.pinocchio != feet.model:
        raise InputError("state", state, "one of the model that the feet are of")
    _refuse_other_builds(state)
    return _contact_type()(state, foot, state.nv if nu is None else nu, array("gains", gains, (2,), minimum=0.0))


def cone_residual(
    state: crocoddyl.StateMultibody, feet: RollingFeet, name: str, nu: int | None = None
) -> crocoddyl.ResidualModelAbstract:
    """Return five numbers, N, that are positive inside a pyramid in the friction cone of a foot's `contact_model`.

    They are n'f and mu/sqrt(2) n'f +- t'f for both tangents t of the ground at the contact; mu is the foot's (1 unless
    given). Crocoddyl's own residuals of forces know its own contacts only.

    Raises
    ------
    MissingExtraError
        If Crocoddyl is not installed.
    InputError
        If there is no such contact.
    """
    foot = _foot(feet, name)
    return _cone_type()(state, name, foot.friction, state.nv if nu is None else nu)


def _foot(feet: RollingFeet, name: str) -> FootContact:
    """Return a contact by its name, once Crocoddyl is known to be there."""
    optional("crocoddyl", "crocoddyl", "crocoddyl")
    contacts = {one.name: one for one in feet.contacts}
    return contacts[choice("name", name, contacts)]


def _refuse_other_builds(state: crocoddyl.StateMultibody) -> None:
    """Refuse a Crocoddyl built for another Pinocchio than the one that is installed: it would read and write anywhere.

    Such a pair disagrees on where a model's frames lie in memory; the joint's place of the first one shows it.
    """
    import crocoddyl
    import pinocchio as pin

    model = state.pinocchio
    probe = crocoddyl.ContactModel3D(state, 1, np.zeros(3), pin.LOCAL, state.nv).createData(model.createData())
    if probe.jMf != model.frames[1].placement:
        found = f"{crocoddyl.__version__} with Pinocchio {pin.__version__}"
        raise InputError("crocoddyl", found, f"built for this Pinocchio: {command('crocoddyl')}")


class FootEvaluation:
    """One foot as Crocoddyl asks for it, step by step, at what Pinocchio has left in `data` (final).

    Attributes
    ----------
    force : (m,)
        The contact's multipliers: the force, N, world, then moments of laws that hold a turning, N m.
    frame, frame_q : (3, 3), (3, 3, nv)
        [T n] of the ground at the contact, as the last `rows` met it, and its derivative by q, as the last `slopes`.
    """

    def __init__(self, foot: FootContact, gains: FloatArray, data: pin.Data) -> None:
        self._foot, self._gains, self._data = foot, gains, data
        self._met: tuple[FrameMotion, FloatArray, FloatArray] | None = None
        self.force = np.zeros(foot.touch.size)
        self.frame, self.frame_q = np.eye(3), np.zeros((3, 3, foot.model.nv))

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return J (m, nv) and a0 (m,); Pinocchio's accelerations are those at a = 0."""
        motion, z, s = self._place()
        found = self._foot.touch.values(z, s)
        self.frame, (kp, kd) = found.frame, self._gains
        return found.L @ motion.J, found.rate + kp * found.position + kd * found.velocity

    def slopes(self) -> FloatArray:
        """Return the derivatives (m, 2 nv) of J a + a0 by (q, v) at Pinocchio's accelerations."""
        motion, z, s = self._place()
        D, (by_q, by_v) = self._foot.touch.slopes(z, s), self._foot.motion_slopes(self._data, motion)
        self.frame_q, (kp, kd) = D.frame @ by_q, self._gains
        S = D.rate + kp * D.position + kd * D.velocity
        return np.hstack([S @ by_q, S @ by_v])

    def push_joint(self, force: FloatArray) -> tuple[pin.Force, FloatArray]:
        """Return the force (m,) in the frame of the joint that moves the foot, and its part of d(torques)/dq (nv, nv).

        In the joint's frame the force changes with q: as its point moves over the foot, and as the frame turns. The
        configuration is that of the last `rows` or `slopes`.
        """
        import pinocchio as pin

        self.force = np.array(force)
        motion, z, s = self._met or self._place()
        push, slope = self._foot.touch.push(z, s, self.force)
        moment, linear, J, Jw = push[:3], push[3:], motion.J, motion.Jw
        rate = slope @ J
        rate[:3] += pin.skew(moment) @ Jw
        rate[3:] += pin.skew(linear) @ Jw
        local = pin.Force(motion.R.T @ linear, motion.R.T @ moment)
        return self._foot.placement.act(local), -J.T @ rate

    def _place(self) -> tuple[FrameMotion, FloatArray, FloatArray]:
        motion = self._foot.motion(self._data)
        z = motion.pack()
        self._met = motion, z, self._foot.touch.coordinates(z, self._met[2] if self._met else None)
        return self._met


@cache
def _contact_type() -> Callable[
    [crocoddyl.StateMultibody, FootContact, int, FloatArray], crocoddyl.ContactModelAbstract
]:
    """Make the class when it is first asked for."""
    import crocoddyl
    import pinocchio as pin

    none = np.zeros(3)

    class ContactDataRolling(crocoddyl.ContactDataAbstract):
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

        def createData(self, data: pin.Data) -> ContactDataRolling:  # noqa: N802
            return ContactDataRolling(self, data)

        def calc(self, data: ContactDataRolling, x: FloatArray) -> None:
            data.Jc, data.a0 = data.foot.rows()

        def calcDiff(self, data: ContactDataRolling, x: FloatArray) -> None:  # noqa: N802
            data.da0_dx = data.foot.slopes()

        def updateForce(self, data: ContactDataRolling, force: FloatArray) -> None:  # noqa: N802
            data.f = pin.Force(force[:3], none)
            # Crocoddyl reads the derivative before it calls calcDiff.
            data.fext, data.dtau_dq = data.foot.push_joint(force)

    return ContactModelRolling


@cache
def _cone_type() -> Callable[[crocoddyl.StateMultibody, str, float, int], crocoddyl.ResidualModelAbstract]:
    """Make the class when it is first asked for."""
    import crocoddyl

    class ResidualModelCone(crocoddyl.ResidualModelAbstract):
        """The five sides of a friction pyramid."""

        def __init__(self, state: crocoddyl.StateMultibody, name: str, friction: float, nu: int) -> None:
            super().__init__(state, 5, nu, True, True, True)
            side, self.contact = friction / np.sqrt(2.0), name
            self.cone = np.array([[0, 0, 1], [1, 0, side], [-1, 0, side], [0, 1, side], [0, -1, side]])

        def calc(self, data: crocoddyl.ResidualDataAbstract, x: FloatArray, u: FloatArray) -> None:
            one = cast("_RollingData", data.shared.contacts.contacts[self.contact])
            data.r = self.cone @ one.foot.frame.T @ one.f.linear

        def calcDiff(self, data: crocoddyl.ResidualDataAbstract, x: FloatArray, u: FloatArray) -> None:  # noqa: N802
            one, nv = cast("_RollingData", data.shared.contacts.contacts[self.contact]), self.state.nv
            turned = one.foot.frame.T @ one.df_dx[:3]
            turned[:, :nv] += np.einsum("ijk,i->jk", one.foot.frame_q, one.f.linear)
            data.Rx, data.Ru = self.cone @ turned, self.cone @ one.foot.frame.T @ one.df_du[:3]

    return ResidualModelCone

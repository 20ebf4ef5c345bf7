"""Rolling feet on a Pinocchio model: contact rows in its coordinates (q, v), as numbers and as CasADi functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, choice
from trundle.contact.choice import contact_form, make_contact
from trundle.contact.law import Friction
from trundle.contact.packed import FrameMotion
from trundle.errors import InputError, MissingExtraError
from trundle.geometry.shape import Shape
from trundle.geometry.shapes.surfaces import Plane
from trundle.interop.description import floats, frame_numbers, tree_of
from trundle.interop.functions import RollingFunctions, rolling_functions
from trundle.interop.touch import CONVEX_FORMS, FootTouch
from trundle.models.feet import Foot
from trundle.models.rigid_body import Ground, Hand
from trundle.models.urdf.checks import CheckedUrdf, check_urdf
from trundle.models.urdf.description import RobotDescription
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.tree import FramePlace
from trundle.threads import PerThread

if TYPE_CHECKING:
    import pinocchio as pin

__all__ = ["FeetRows", "FeetSlopes", "FootContact", "RollingFeet", "RollingFunctions", "tree_of"]


@dataclass(frozen=True)
class FeetRows:
    """Contact rows of all feet: J v = 0 and J a + bias = 0 hold while they roll; forces act as J'lam.

    Attributes
    ----------
    J : (m, nv)
        Of each foot three rows, J v is the velocity (m/s, world) of its material point at the contact; those of laws
        that hold a turning follow (rad/s).
    bias : (m,)
        Rate of J v at a = 0, followed along the moving contact point: (dJ/dt) v for any v.
    position : (m,)
        What J v is the rate of: the gap along the normal, m; zero for turnings.
    gap : (n,) m
        Of each foot; > 0 apart.
    frame : (n, 3, 3)
        [t1 t2 n] of the ground at each contact, world; n points out of the ground.
    point : (n, 3) m
        Each foot's contact point, world.
    """

    J: FloatArray
    bias: FloatArray
    position: FloatArray
    gap: FloatArray
    frame: FloatArray
    point: FloatArray


@dataclass(frozen=True)
class FeetSlopes:
    """Derivatives by q, in the tangent space of Pinocchio's ``integrate(q, dq)``, and by v.

    Attributes
    ----------
    J_q : (m, nv, nv)
        ``J_q[i, j, k]`` is the derivative of J[i, j] by dq[k].
    bias_q, bias_v : (m, nv)
    gap_q : (n, nv)
    """

    J_q: FloatArray
    bias_q: FloatArray
    bias_v: FloatArray
    gap_q: FloatArray


class FootContact:
    """One foot of a `RollingFeet`; reads the kinematics that Pinocchio has left in its data (final).

    Attributes
    ----------
    name : str
    joint : int
        Number of the joint that moves the foot.
    placement : pinocchio.SE3
        Of the foot's shape in the joint's frame.
    frame : int
        Number of the frame that the foot is fixed to.
    friction : float
    touch : FootTouch
    """

    def __init__(self, model: pin.Model, name: str, foot: Foot, ground: tuple[Shape, FramePlace]) -> None:
        import pinocchio as pin

        frame = name if foot.frame is None else foot.frame
        frames = frame_numbers(model)
        self.frame, self.name = frames[choice(f"feet.{name}.frame", frame, frames)], name
        held = model.frames[self.frame]
        self.joint = held.parentJoint
        if not held.parentJoint:
            raise InputError(f"feet.{name}.frame", frame, "a frame that moves")
        place = FramePlace(np.array(held.placement.rotation), np.array(held.placement.translation)).then(foot.place)
        self.model, self._pin = model, pin
        self.placement = pin.SE3(place.R, place.p)
        self.friction = 1.0 if foot.friction is None else foot.friction
        shape = _convex(name, foot, ground[0])
        form = contact_form(shape, ground[0])
        contact = make_contact(shape, ground[0], form)
        shapes = (shape, ground[0])
        self.touch = FootTouch(contact, shapes, form, foot.law, Friction(self.friction), ground[1])

    def motion(self, data: pin.Data) -> FrameMotion:
        """Return the motion of the foot's frame; `data` holds positions, velocities, accelerations and Jacobians."""
        at = (self.model, data, self.joint, self.placement, self._pin.LOCAL_WORLD_ALIGNED)
        place, twist = data.oMi[self.joint] * self.placement, self._pin.getFrameVelocity(*at)
        rate, J = self._pin.getFrameClassicalAcceleration(*at), self._pin.getFrameJacobian(*at)
        w, v, al, a = twist.angular, twist.linear, rate.angular, rate.linear
        return FrameMotion(place.rotation, place.translation, w, v, J[3:], J[:3], al, a)

    def motion_slopes(self, data: pin.Data, motion: FrameMotion) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives (18, nv) by q and by v of (turn, position, w, v, al, a) of the foot's frame.

        `data` holds Pinocchio's derivatives of the kinematics, as well. Its own are along the frame's axes: those of
        vectors x = R x_local are R dx_local + turn x x.
        """
        pin, at = self._pin, (self.model, data, self.joint, self.placement, self._pin.LOCAL)
        R, Jw, Jv, skew = motion.R, motion.Jw, motion.Jv, pin.skew
        v_q, _ = pin.getFrameVelocityDerivatives(*at)
        _, a_q, a_v, _ = pin.getFrameAccelerationDerivatives(*at)
        spatial, W, V = R @ pin.getFrameAcceleration(*at).linear, skew(motion.w), skew(motion.v)
        w_q, u_q = R @ v_q[3:] - W @ Jw, R @ v_q[:3] - V @ Jw
        al_q, b_q = R @ a_q[3:] - skew(motion.al) @ Jw, R @ a_q[:3] - skew(spatial) @ Jw
        # The classical acceleration is the spatial one plus w x v.
        c_q, c_v = b_q + W @ u_q - V @ w_q, R @ a_v[:3] + W @ Jv - V @ Jw
        none = np.zeros_like(Jw)
        by_q, by_v = (Jw, Jv, w_q, u_q, al_q, c_q), (none, none, Jw, Jv, R @ a_v[3:], c_v)
        return np.concatenate(by_q), np.concatenate(by_v)


class RollingFeet:
    """A robot of Pinocchio with convex feet that roll on fixed ground (final).

    Parameters
    ----------
    robot : pinocchio.Model, or what `tr.load_urdf` returns
        Joints and base as Pinocchio has them; a URDF gets a free flyer. J, bias and their derivatives work with any
        joints, `functions` with revolute, continuous and prismatic ones.
    feet : mapping of contact name -> Foot
        ``frame`` is a frame of the model. A `FlatPatch` touches with its four corners.
    ground : Shape, Ground or Hand, optional
        The plane z = 0 unless given. A hand has to be still.

    Attributes
    ----------
    model : pinocchio.Model
    contacts : tuple of FootContact
    split : mapping of contact name -> slice
        The rows of each.

    Raises
    ------
    MissingExtraError
        If Pinocchio is not installed.
    InputError
        If a frame is unknown, a shape not convex, or the ground moves.

    Examples
    --------
    >>> import trundle as tr
    >>> feet = {"left": tr.Foot(tr.Ellipsoid([0.1, 0.05, 0.03]), "left_foot")}  # m
    >>> rolling = tr.interop.pinocchio.RollingFeet(tr.walking.build_avatar().robot, feet)
    >>> rows = rolling.rows(rolling.neutral, [0.0] * rolling.model.nv)
    >>> rows.J.shape, rows.bias.tolist()
    ((3, 29), [0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        robot: pin.Model | CheckedUrdf | RobotDescription,
        feet: Mapping[str, Foot],
        ground: Shape | Ground | Hand | None = None,
    ) -> None:
        try:
            import pinocchio as pin
        except ImportError:
            raise MissingExtraError("pin", "robots") from None
        if isinstance(robot, RobotDescription):
            robot = check_urdf(robot.urdf())
        if isinstance(robot, CheckedUrdf):
            robot = pin.buildModelFromXML(robot.text, pin.JointModelFreeFlyer())
        if not isinstance(robot, pin.Model):
            raise InputError("robot", robot, "a pinocchio.Model, a CheckedUrdf (load_urdf) or a RobotDescription")
        self._pin, self.model, self._ground = pin, robot, Plane() if ground is None else ground
        self._feet = dict(_check_feet(feet))
        terrain = _still(self._ground)
        self.contacts = tuple(FootContact(robot, name, foot, terrain) for name, foot in self._feet.items())
        ends = np.cumsum([0, *(one.touch.size for one in self.contacts)]).tolist()
        self.split = {one.name: slice(*ends[i : i + 2]) for i, one in enumerate(self.contacts)}
        self._workspace = PerThread(robot.createData)

    def __reduce__(self) -> tuple[type[RollingFeet], tuple[pin.Model, dict[str, Foot], Shape | Ground | Hand]]:
        return type(self), (self.model, self._feet, self._ground)

    @property
    def neutral(self) -> FloatArray:
        """Pinocchio's neutral configuration (nq,)."""
        return self._pin.neutral(self.model)

    def rows(self, q: ArrayLike, v: ArrayLike) -> FeetRows:
        """Return the contact rows at the configuration q (nq,) and the velocity v (nv,) of Pinocchio.

        Raises
        ------
        InputError
            If a size is wrong, a number not finite, or a foot far inside the ground.
        """
        data = self._sweep_motion(q, v)
        found = [(motion, one.touch.values(z, s)) for one, motion, z, s in self._places(data)]
        return FeetRows(
            np.vstack([touch.L @ motion.J for motion, touch in found]),
            np.concatenate([touch.rate for _, touch in found]),
            np.concatenate([touch.position for _, touch in found]),
            np.array([touch.gap for _, touch in found]),
            np.array([touch.frame for _, touch in found]),
            np.array([touch.point for _, touch in found]),
        )

    def slopes(self, q: ArrayLike, v: ArrayLike) -> FeetSlopes:
        """Return the derivatives of J, bias and gap by q and v; those of J take nv sweeps of Pinocchio."""
        data = self._sweep_motion(q, v, slopes=True)
        bias, turns = [], []
        for one, motion, z, s in self._places(data):
            D, (by_q, by_v) = one.touch.slopes(z, s), one.motion_slopes(data, motion)
            bias.append((D.rate @ by_q, D.rate @ by_v, D.gap @ by_q))
            turns.append((one, motion.J, one.touch.values(z, s).L, D.L @ by_q))
        J_q = np.zeros((self.size, self.model.nv, self.model.nv))
        for j, unit in enumerate(np.eye(self.model.nv)):
            data = self._sweep_motion(q, unit, slopes=True)
            for one, J, L, L_q in turns:
                w_q = one.motion_slopes(data, one.motion(data))[0][6:12]
                J_q[self.split[one.name], j] = np.einsum("mik,i->mk", L_q, J[:, j]) + L @ w_q
        return FeetSlopes(J_q, *(np.vstack([row[i] for row in bias]) for i in range(3)))

    def margins(self, q: ArrayLike, forces: ArrayLike) -> dict[str, float]:
        """Return what is positive while the feet roll, named ``<contact>.<margin>``, and the gaps (0 in contact).

        Parameters
        ----------
        forces : (m,) N
            Multipliers of the rows: the world force on each foot, then moments of laws that hold a turning, N m.
        """
        lam, found = array("forces", forces, (self.size,), unit="N"), {}
        for one, _, z, s in self._places(self._sweep_motion(q, np.zeros(self.model.nv))):
            named = one.touch.margins_of(z, s, lam[self.split[one.name]]) | {"gap": one.touch.values(z, s).gap}
            found |= {f"{one.name}.{margin}": value for margin, value in named.items()}
        return found

    @property
    def size(self) -> int:
        """Number m of rows."""
        return sum(one.touch.size for one in self.contacts)

    def coordinates(self, q: ArrayLike) -> FloatArray:
        """Return the contact coordinates (n_s,) that `functions` take on curved ground; none on flat ground."""
        places = self._places(self._sweep_motion(q, np.zeros(self.model.nv)))
        return np.concatenate([s for _, _, _, s in places])

    def functions(self) -> RollingFunctions:
        """Return J, bias, gap and the robot's inverse dynamics as CasADi functions of Pinocchio's coordinates.

        Raises
        ------
        InputError
            If a joint is neither revolute, continuous, prismatic, nor a free flyer at the root.
        """
        base = "pose" if floats(self.model) else "fixed"
        gravity = np.array(self.model.gravity.linear)
        robot = robot_from_urdf(tree_of(self.model), self._feet, self._ground, gravity=gravity.tolist(), base=base)
        return rolling_functions(self.model, robot)

    def _sweep_motion(self, q: ArrayLike, v: ArrayLike, *, slopes: bool = False) -> pin.Data:
        """Return this thread's data after a sweep at zero accelerations."""
        model, data, nv = self.model, self._workspace(), self.model.nv
        place, rate, zero = array("q", q, (model.nq,)), array("v", v, (nv,)), np.zeros(nv)
        if slopes:
            self._pin.computeForwardKinematicsDerivatives(model, data, place, rate, zero)
        else:
            self._pin.forwardKinematics(model, data, place, rate, zero)
        self._pin.computeJointJacobians(model, data, place)
        return data

    def _places(self, data: pin.Data) -> Iterator[tuple[FootContact, FrameMotion, FloatArray, FloatArray]]:
        """Yield each contact with its foot's motion, also packed, and its coordinates."""
        for one in self.contacts:
            motion = one.motion(data)
            z = motion.pack()
            yield one, motion, z, one.touch.coordinates(z)


def _check_feet(feet: Mapping[str, Foot]) -> Iterator[tuple[str, Foot]]:
    """Yield the contacts of the feet by name."""
    if not isinstance(feet, Mapping) or not feet or not all(isinstance(foot, Foot) for foot in feet.values()):
        raise InputError("feet", feet, "a mapping of names to Foot, with at least one")
    for name, foot in feet.items():
        yield from foot.contacts(name)


def _still(ground: Shape | Ground | Hand) -> tuple[Shape, FramePlace]:
    """Return the shape of what the feet stand on and its place in the world."""
    if isinstance(ground, Hand):
        if any(ground.twist) or not ground.motion.is_still(0.0) or ground.shape.d != 3:
            raise InputError("ground", ground, "still, and in space")
        return ground.shape, FramePlace(np.array(ground.R_world_hand), np.array(ground.position))
    shape = ground.shape if isinstance(ground, Ground) else ground
    if not isinstance(shape, Shape) or shape.d != 3:
        raise InputError("ground", ground, "a Shape of dimension 3, a Ground or a Hand")
    return shape, FramePlace(np.eye(3), np.zeros(3))


def _convex(name: str, foot: Foot, ground: Shape) -> Shape:
    """Return a foot's shape; refuse one that is not convex, or touches such ground in more than a point."""
    shape, key = foot.shape, f"feet.{name}.shape"
    if not isinstance(shape, Shape) or shape.representations.support is None or shape.representations.hull:
        raise InputError(key, shape, "a convex shape")
    form, charts = contact_form(shape, ground), ground.representations.charts
    if form not in CONVEX_FORMS or (form == "support-chart" and len(charts) > 1):
        raise InputError(key, f"{shape} on {ground}", "a smooth convex shape, curved all round, on such ground")
    return shape

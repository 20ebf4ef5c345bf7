"""A rigid body that hands hold: its equations, and the momentum of robot and body together."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

import numpy as np

from trundle.checks import FloatArray, array, non_negative, number, positive, rotation
from trundle.contact.packed import FrameMotion
from trundle.models.urdf.articulated import Momentum
from trundle.numerics.rotations import cross
from trundle.systems.multicontact.whole_body.frame_target import BalanceTarget
from trundle.threads import cached_property


@dataclass(frozen=True, eq=False)
class Load:
    """A body in the hands: what it is, where it is, and what is wanted of it, world axes.

    Its twist (omega, v), v of its centre of mass, adds six unknowns to a robot's whole-body program: with the wrench
    lam_c of each hand in the hand's axes, z into the hand,

        M_o a_o + h_o = - sum J_o,c' lam_c,   J_r,c nudot + bias = J_o,c a_o + bias - damping (v_r - v_o),

    the same lam_c pushes the robot by + J_r,c' lam_c (sheet of paper 3, section 8).

    Parameters
    ----------
    mass : float, kg
        Less than its own while something else carries part of it.
    inertia : (3, 3) kg m2
        About the centre of mass, in the body's axes.
    p, R : (3,) m, (3, 3)
        Centre of mass and axes.
    target : BalanceTarget
        Where centre and axes should be.
    hands : tuple of str
        That hold it: names of `Humanoid.hands` with "_hand".
    v, omega : (3,) m/s, rad/s
    squeeze : float, N
        Least normal force of each hand.
    share : float
        Of the object's weight that the hands carry, for records.
    counted : bool
        Whether centre of mass and momentum that are steered are those of robot and body together, or the robot's.
    """

    mass: float
    inertia: FloatArray
    p: FloatArray
    R: FloatArray
    target: BalanceTarget
    hands: tuple[str, ...]
    v: FloatArray = field(default_factory=lambda: np.zeros(3))
    omega: FloatArray = field(default_factory=lambda: np.zeros(3))
    squeeze: float = 0.0
    share: float = 1.0
    counted: bool = True

    def __post_init__(self) -> None:
        positive("mass", self.mass, "kg")
        object.__setattr__(self, "inertia", array("inertia", self.inertia, (3, 3), unit="kg m2"))
        for name in ("p", "v", "omega"):
            object.__setattr__(self, name, array(name, getattr(self, name), (3,)))
        object.__setattr__(self, "R", rotation("R", self.R))
        non_negative("squeeze", self.squeeze, "N")
        number("share", self.share, minimum=0.0, maximum=1.0)

    def with_target(self, target: BalanceTarget) -> Load:
        """Return the same load with another target; nothing is checked a second time."""
        load = copy(self)
        object.__setattr__(load, "target", target)
        return load

    def update(self, **state: float | FloatArray | BalanceTarget) -> Load:
        """Return the load with other values of some fields, of their types and not checked: for a control loop."""
        load = object.__new__(Load)
        load.__dict__.update({name: self.__dict__[name] for name in self.__dataclass_fields__} | state)
        return load

    @cached_property
    def inertia_world(self) -> FloatArray:
        """The inertia (3, 3) in world axes."""
        return self.R @ self.inertia @ self.R.T

    def dynamics(self, gravity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return M_o (6, 6) and h_o (6,) of (angular, linear): M_o a_o + h_o = wrench about the centre of mass."""
        M, h = np.zeros((6, 6)), np.zeros(6)
        M[:3, :3] = self.inertia_world
        M[3, 3] = M[4, 4] = M[5, 5] = self.mass
        h[:3] = cross(self.omega, self.inertia_world @ self.omega)
        h[3:] = -self.mass * gravity
        return M, h

    @cached_property
    def motion(self) -> FrameMotion:
        """Of the centre of mass, with Jacobians (3, 6) of the twist."""
        J, zero = np.eye(6), np.zeros(3)
        return FrameMotion(self.R, self.p, self.omega, self.v, J[:3], J[3:], zero, zero)

    def motion_at(self, point: FloatArray) -> FrameMotion:
        """Return the motion of the body's material at the place (3,) m of the world."""
        return self.motion.at(self.R.T @ (point - self.p))

    def combined_momentum(self, robot: Momentum, mass: float) -> Momentum:
        """Return the momentum of a robot of `mass` (kg) and this body together; Jacobians are of (nu, twist).

        That of the robot alone where the body is not `counted`.

            m c = m_r c_r + m_o c_o,   L = L_r + L_o + mu d x d',   d = c_o - c_r,  mu = m_r m_o / m

        and L' = L_r' + L_o' + mu d x d''.
        """
        if not self.counted:
            return robot
        whole = mass + self.mass
        a, b, mu = mass / whole, self.mass / whole, mass * self.mass / whole
        d, rate = self.p - robot.com, self.v - robot.com_rate
        lever = mu * np.array([[0.0, -d[2], d[1]], [d[2], 0.0, -d[0]], [-d[1], d[0], 0.0]])
        inertia = self.inertia_world
        spin = inertia @ self.omega
        return Momentum(
            com=a * robot.com + b * self.p,
            com_rate=a * robot.com_rate + b * self.v,
            J_com=np.hstack((a * robot.J_com, np.zeros((3, 3)), b * np.eye(3))),
            com_bias=a * robot.com_bias,
            angular=robot.angular + spin + lever @ rate,
            J_angular=np.hstack((robot.J_angular - lever @ robot.J_com, inertia, lever)),
            angular_bias=robot.angular_bias + cross(self.omega, spin) - lever @ robot.com_bias,
        )

"""PassiveWalker: two straight legs with round feet that walk down a slope without any torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from trundle.checks import FloatArray, array, number
from trundle.contact.laws import ROLLING, SEPARATED
from trundle.errors import InputError
from trundle.geometry.shapes.curves import Circle, Line
from trundle.models.robot import Robot
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.constrained import solve
from trundle.models.tree.model import TreeModel
from trundle.models.tree.multibody import Dynamics
from trundle.models.tree.system import Start
from trundle.numerics.space import cross
from trundle.parameters import Gravity, Length, Mass, Positive, PositiveFraction, Range, check_parameters, parameter
from trundle.threads import cached_property

_NUMBER = "a number from 0 to 1e12"
MassOrZero = Annotated[float, Range(_NUMBER, minimum=0.0, unit="kg")]
Inertia = Annotated[float, Range(_NUMBER, minimum=0.0, unit="kg m2")]
Slope = Annotated[float, Range("an angle from 0, below 0.5 (rad)", minimum=0.0, below=0.5, unit="rad")]

POINT_MASS = 1e-12
"""Moment of inertia, in parts of mass leg^2, of a leg that is a point mass: a body needs one."""

AHEAD = 0.1
"""How far ahead of the stance foot, in legs, the swing foot has to be to touch down: closer it only scuffs."""


@dataclass(frozen=True)
class PassiveWalker:
    """A planar walker with two straight legs and circular feet on a slope (McGeer 1990; final).

    The legs are hinged at the hip, which carries a point mass; a foot is an arc about a point of its leg, `foot_radius`
    above the ground when the leg stands upright on it. The slope is a turned gravity, so the ground is z = 0
    and x points down the slope. Angles are counter-clockwise from the slope's normal: the stance leg starts a step at
    a > 0 (its foot ahead of the hip) and ends it at -a.

    A state of its stride is y = (stance angle, swing angle, their rates), (4,), rad and rad/s. A straight leg scuffs
    the ground as it passes the other one; that is ignored: the swing foot touches down only `AHEAD` legs ahead of the
    stance foot.

    Parameters
    ----------
    leg : float, m
        From the hip to the sole.
    foot_radius : float, m
        Below `leg`.
    hip_mass, leg_mass : float, kg
    leg_center : float
        Distance of a leg's centre of mass from the hip, in legs.
    leg_inertia : float, kg m2
        About the leg's centre of mass; 0 is a point mass.
    slope : float, rad
        Downwards, below 0.5.
    gravity : float, m/s2
    friction : float
        Coulomb's coefficient; it is watched, and a slip ends a simulation.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    leg: Length = parameter(1.0, "m, from the hip to the sole")
    foot_radius: Length = parameter(0.3, "m, below leg")
    hip_mass: MassOrZero = parameter(0.5, "kg")
    leg_mass: Mass = parameter(0.25, "kg, of each leg")
    leg_center: PositiveFraction = parameter(0.5, "legs, from the hip to a leg's centre of mass")
    leg_inertia: Inertia = parameter(0.0, "kg m^2, about it; 0: a point mass")
    slope: Slope = parameter(0.02, "rad, downwards")
    gravity: Gravity = parameter(9.81, "m/s^2, downward")
    friction: Positive = parameter(1.0, "Coulomb's coefficient; a slip ends the run")

    def __post_init__(self) -> None:
        check_parameters(self)
        number("foot_radius", self.foot_radius, above=0.0, below=self.leg, unit="m")

    @property
    def time_unit(self) -> float:
        """sqrt(leg/gravity), s."""
        return float(np.sqrt(self.leg / self.gravity))

    @cached_property
    def robot(self) -> RollingTree:
        """The walker as `simulate` takes it: body ``left`` with the hip's mass, ``right`` hinged to it."""
        g = self.gravity * np.array([np.sin(self.slope), -np.cos(self.slope)])
        robot = Robot(g, on_slip="stop", on_separation="stop")
        depth, foot = self.leg_center * self.leg, (0.0, self.foot_radius - self.leg)
        inertia = self.leg_inertia + POINT_MASS * self.leg_mass * self.leg**2
        total = self.leg_mass + self.hip_mass
        # The hip is a point of both legs: its mass may belong to either.
        shared = self.leg_mass * self.hip_mass / total * depth**2
        foot_shape = Circle(self.foot_radius)
        left = robot.free(total, inertia + shared, center_of_mass=(0.0, -self.leg_mass / total * depth), name="left")
        right = robot.revolute(
            left, (0.0, 0.0), self.leg_mass, inertia, center_of_mass=(0.0, -depth), actuated=False, name="right"
        )
        for link in (left, right):
            robot.attach(link, foot_shape, at=foot, ahead=AHEAD * self.leg)
        robot.terrain(Line(), self.friction)
        return robot.finish()

    # the stride in minimal coordinates, of the very model that is simulated ----------------------------------

    @property
    def _model(self) -> TreeModel:
        return self.robot.system.model()

    @cached_property
    def _dynamics(self) -> Dynamics:
        return self._model.dynamics([ROLLING, SEPARATED])

    @cached_property
    def y(self) -> ca.SX:
        """Symbols of the stride's state (4,)."""
        return ca.SX.sym("y", 4)

    @cached_property
    def _x(self) -> ca.SX:
        """The simulated state (n_x,) of y: left is the stance leg, its foot rolls and passes x = -foot_radius a."""
        model, y = self._model, self.y
        x = ca.SX(model.x.shape[0], 1)
        x[model.layout["left.orientation"]] = y[0]
        x[model.layout["right.joint"]] = y[1] - y[0]
        x[model.layout["left.angular_velocity"]] = y[2]
        x[model.layout["right.rate"]] = y[3] - y[2]
        c, s = ca.cos(y[0]), ca.sin(y[0])
        part = self.robot.parts[0]
        center = ca.vertcat(c * part.center[0] - s * part.center[1], s * part.center[0] + c * part.center[1])
        on_ground = ca.vertcat(-self.foot_radius * y[0], 0)
        above = on_ground + ca.vertcat(0, self.foot_radius)
        x[model.layout["left.position"]] = above - center
        x[model.layout["left.velocity"]] = cross(y[2], above - center - on_ground)
        return x

    def _of(self, *expressions: ca.SX) -> list[ca.SX]:
        """Return expressions of the model's state as expressions of y."""
        return ca.substitute(list(expressions), [self._model.x], [self._x])

    @cached_property
    def rate(self) -> ca.SX:
        """Y' (4,) while the stance foot rolls and the swing leg swings."""
        model = self._model
        (nudot,) = self._of(self._dynamics.nudot)
        al = nudot[model.columns["left"]]
        return ca.vertcat(self.y[2:], al, al + nudot[model.columns["right"]])

    @cached_property
    def gap(self) -> ca.SX:
        """Distance of the swing foot from the ground, m: (leg - foot_radius)(cos stance - cos swing)."""
        return self._of(self._dynamics.margins["right.gap"])[0]

    @cached_property
    def ahead(self) -> ca.SX:
        """How far the swing foot's lowest point is ahead of the stance foot's, m."""
        feet = []
        for constraint in self._model.constraints:
            _, side = constraint.contact.touch(constraint.A, constraint.B, constraint.s)
            feet.append(constraint.B.p + side.r)
        return self._of(feet[1] - feet[0])[0][0]

    @cached_property
    def force(self) -> ca.SX:
        """Force of the ground on the stance foot (2,), N: along the slope and normal to it."""
        return self._of(self._dynamics.forces[0])[0]

    @cached_property
    def touch_down(self) -> tuple[ca.SX, ca.SX]:
        """Return y (4,) after the swing foot has landed, and the impulse (2,), N s, on it.

        The plastic impact M (nu+ - nu-) = J'L, J nu+ = 0 of the new foot while the other one leaves; then the legs
        change their names.
        """
        model = self._model
        terms = model.terms([SEPARATED, ROLLING])
        M, J, nu = self._of(terms.M, terms.J, model.nu)
        jump, impulse = solve(M, J, ca.SX(model.nv, 1), -J @ nu)
        after = nu + jump
        stance = after[model.columns["left"]]
        swing = stance + after[model.columns["right"]]
        return ca.vertcat(self.y[1], self.y[0], swing, stance), impulse

    def start(self, y: ArrayLike) -> Start:
        """Return the start of a simulation at the stride's state y (4,) or (a, w1, w2), both feet on the ground.

        Raises
        ------
        InputError
            If it has another size or is not finite.
        """
        values = self.section(y) if np.size(y) == 3 else array("y", y, (4,))
        x = np.asarray(ca.evalf(ca.substitute(self._x, self.y, ca.SX(ca.DM(values))))).ravel()
        return Start(x, self.robot.system.first_atlas, (ROLLING.name, SEPARATED.name))

    @staticmethod
    def section(state: ArrayLike) -> FloatArray:
        """Return y (4,) of (a, w1, w2), the instant after touch-down: legs at a and -a, rates w1 and w2."""
        a, w1, w2 = array("state", state, (3,))
        if a <= 0:
            raise InputError("state", state, "a stance angle a > 0: the new stance foot is ahead of the hip")
        return np.array([a, -a, w1, w2])

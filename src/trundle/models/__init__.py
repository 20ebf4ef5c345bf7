"""State manifolds and their rates: trees of bodies, rolling joints, rolling kinematics."""

from trundle.arguments import guard
from trundle.models.centroidal.centroidal import Centroidal, CentroidalState, Push
from trundle.models.centroidal.forecast import AxisChange, Forecast, Held, MassChange, Pushed
from trundle.models.feet import Foot
from trundle.models.linear.equilibrium import Equilibrium, equilibrium
from trundle.models.linear.linearize import LinearModel, linearize
from trundle.models.numbers.changed import parameters_of, with_parameters
from trundle.models.rigid_body import Coast, Ground, Hand, HandMotion, RigidBody, SampledMotion, SinusoidMotion
from trundle.models.robot import Robot
from trundle.models.robots.avatar import build_avatar
from trundle.models.robots.capsules import Clearance
from trundle.models.robots.ends import BallHand, Pad
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.models.robots.obstacles import Obstacle
from trundle.models.robots.passive_walker import PassiveWalker
from trundle.models.rolling_pair import IMPACT, SURFACE, RollingPair, surface_of
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.force import BodyState, Force, Potential
from trundle.models.tree.joint import Joint, VectorJoint
from trundle.models.tree.joints import Prismatic, Revolute
from trundle.models.tree.multibody import Body, ContactConstraint, Dynamics, Multibody, Terms
from trundle.models.tree.rolling_kinematics import RollingKinematics, control_affine
from trundle.models.tree.system import ContactPair, ContactSystem, Rules, Start
from trundle.models.tree.tree import Link, Tree, TreeModel
from trundle.models.urdf.arm import Arm
from trundle.models.urdf.arm_numbers import JointMotion
from trundle.models.urdf.checks import load_urdf
from trundle.models.urdf.examples import load_example_robot
from trundle.models.urdf.lock import lock_joints
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.visuals import with_visuals

__all__ = [
    "IMPACT",
    "SURFACE",
    "Arm",
    "AxisChange",
    "BallHand",
    "Body",
    "BodyState",
    "Centroidal",
    "CentroidalState",
    "Clearance",
    "Coast",
    "ContactConstraint",
    "ContactPair",
    "ContactSystem",
    "Dynamics",
    "Equilibrium",
    "Foot",
    "Force",
    "Forecast",
    "Ground",
    "Hand",
    "HandMotion",
    "Held",
    "Humanoid",
    "Joint",
    "JointMotion",
    "LinearModel",
    "Link",
    "MassChange",
    "Multibody",
    "Obstacle",
    "Pad",
    "PassiveWalker",
    "Potential",
    "Prismatic",
    "Push",
    "Pushed",
    "Revolute",
    "RigidBody",
    "Robot",
    "RollingKinematics",
    "RollingPair",
    "RollingTree",
    "Rules",
    "SampledMotion",
    "SinusoidMotion",
    "Start",
    "Terms",
    "Tree",
    "TreeModel",
    "VectorJoint",
    "build_avatar",
    "control_affine",
    "equilibrium",
    "linearize",
    "load_example_robot",
    "load_humanoid",
    "load_urdf",
    "lock_joints",
    "parameters_of",
    "robot_from_urdf",
    "surface_of",
    "with_parameters",
    "with_visuals",
]

guard(__name__)

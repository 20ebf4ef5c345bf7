"""State manifolds and their rates: trees of bodies, rolling joints, rolling kinematics."""

from trundle.arguments import guard
from trundle.models.feet import Foot
from trundle.models.linear.equilibrium import Equilibrium, equilibrium
from trundle.models.linear.linearize import LinearModel, linearize
from trundle.models.numbers.changed import parameters_of, with_parameters
from trundle.models.rigid_body import Coast, Ground, Hand, HandMotion, RigidBody, SampledMotion, SinusoidMotion
from trundle.models.robot import Robot
from trundle.models.robots.capsules import Clearance
from trundle.models.robots.ends import BallHand, Pad
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.models.rolling_pair import IMPACT, SURFACE, RollingPair, surface_of
from trundle.models.rolling_tree import RollingTree
from trundle.models.tree.force import BodyState, Force, Potential
from trundle.models.tree.joint import Joint, VectorJoint
from trundle.models.tree.joints import Prismatic, Revolute
from trundle.models.tree.multibody import Body, ContactConstraint, Dynamics, Multibody, Terms
from trundle.models.tree.rolling_kinematics import RollingKinematics, control_affine
from trundle.models.tree.system import ContactPair, ContactSystem, Rules, Start
from trundle.models.tree.tree import Link, Tree, TreeModel
from trundle.models.urdf.checks import load_urdf
from trundle.models.urdf.examples import load_example_robot
from trundle.models.urdf.lock import lock_joints
from trundle.models.urdf.robot import robot_from_urdf
from trundle.models.urdf.visuals import with_visuals

__all__ = [
    "IMPACT",
    "SURFACE",
    "BallHand",
    "Body",
    "BodyState",
    "Clearance",
    "Coast",
    "ContactConstraint",
    "ContactPair",
    "ContactSystem",
    "Dynamics",
    "Equilibrium",
    "Foot",
    "Force",
    "Ground",
    "Hand",
    "HandMotion",
    "Humanoid",
    "Joint",
    "LinearModel",
    "Link",
    "Multibody",
    "Pad",
    "Potential",
    "Prismatic",
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

"""State manifolds and their rates: trees of bodies, rolling joints, rolling kinematics."""

from trundle.models.avatar import build_avatar
from trundle.models.ball_balancer import BallBalancer
from trundle.models.capsules import Clearance
from trundle.models.centroidal import Centroidal, CentroidalState, Push
from trundle.models.example_robots import load_example_robot
from trundle.models.feet import FlatPatch, Foot
from trundle.models.forecast import AxisChange, Forecast, Held, MassChange, Pushed
from trundle.models.humanoid import Humanoid, Pad, Palm, Sole, load_humanoid
from trundle.models.multibody import Body, Dynamics, Joined, Multibody, Terms
from trundle.models.obstacles import Obstacle
from trundle.models.rigid_body import Coast, Ground, Hand, HandMotion, RigidBody, SampledMotion, SinusoidMotion
from trundle.models.robot import Robot
from trundle.models.rolling_kinematics import RollingKinematics, control_affine
from trundle.models.rolling_pair import RollingPair
from trundle.models.rolling_tree import RollingTree
from trundle.models.system import ContactSystem, Meeting, Rules, Start
from trundle.models.tree import Link, Tree, TreeModel
from trundle.models.urdf_checks import load_urdf
from trundle.models.urdf_lock import lock_joints
from trundle.models.urdf_robot import robot_from_urdf
from trundle.models.walker import PassiveWalker

__all__ = [
    "AxisChange",
    "BallBalancer",
    "Body",
    "Centroidal",
    "CentroidalState",
    "Clearance",
    "Coast",
    "ContactSystem",
    "Dynamics",
    "FlatPatch",
    "Foot",
    "Forecast",
    "Ground",
    "Hand",
    "HandMotion",
    "Held",
    "Humanoid",
    "Joined",
    "Link",
    "MassChange",
    "Meeting",
    "Multibody",
    "Obstacle",
    "Pad",
    "Palm",
    "PassiveWalker",
    "Push",
    "Pushed",
    "RigidBody",
    "Robot",
    "RollingKinematics",
    "RollingPair",
    "RollingTree",
    "Rules",
    "SampledMotion",
    "SinusoidMotion",
    "Sole",
    "Start",
    "Terms",
    "Tree",
    "TreeModel",
    "build_avatar",
    "control_affine",
    "load_example_robot",
    "load_humanoid",
    "load_urdf",
    "lock_joints",
    "robot_from_urdf",
]

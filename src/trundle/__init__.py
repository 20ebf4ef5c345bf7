"""trundle: bodies that touch, and the law of the touch.

Public names are handed out lazily (PEP 562): ``import trundle`` loads no heavy package; ``trundle.Sphere`` loads
``trundle.geometry`` the first time it is read.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    import trundle.environments as environments  # noqa: F401
    import trundle.interop as interop  # noqa: F401
    from trundle.contact import FlatPatch as FlatPatch
    from trundle.contact import Friction as Friction
    from trundle.contact import PlacedPatch as PlacedPatch
    from trundle.contact import SoftLaw as SoftLaw
    from trundle.contact import SoftTouch as SoftTouch
    from trundle.contact import Wall as Wall
    from trundle.contact import normal_force as normal_force
    from trundle.control import Actuated as Actuated
    from trundle.control import BalancingLQR as BalancingLQR
    from trundle.control import Camera as Camera
    from trundle.control import Encoders as Encoders
    from trundle.control import Faults as Faults
    from trundle.control import Faulty as Faulty
    from trundle.control import Preview as Preview
    from trundle.control import PreviewWeights as PreviewWeights
    from trundle.control import Sensed as Sensed
    from trundle.control import Switching as Switching
    from trundle.control import TrackingLQR as TrackingLQR
    from trundle.control import Watchdog as Watchdog
    from trundle.control import attraction_level as attraction_level
    from trundle.control import lqr as lqr
    from trundle.errors import CompileError as CompileError
    from trundle.errors import ControlLostError as ControlLostError
    from trundle.errors import InputError as InputError
    from trundle.errors import MissingExtraError as MissingExtraError
    from trundle.errors import ShapeError as ShapeError
    from trundle.errors import SimulationError as SimulationError
    from trundle.errors import StorageError as StorageError
    from trundle.errors import TrundleError as TrundleError
    from trundle.geometry import Arc as Arc
    from trundle.geometry import Box as Box
    from trundle.geometry import Capsule as Capsule
    from trundle.geometry import Circle as Circle
    from trundle.geometry import CurveSum as CurveSum
    from trundle.geometry import Cylinder as Cylinder
    from trundle.geometry import Disc as Disc
    from trundle.geometry import Dish as Dish
    from trundle.geometry import Ellipse as Ellipse
    from trundle.geometry import Ellipsoid as Ellipsoid
    from trundle.geometry import ExpressionBody as ExpressionBody
    from trundle.geometry import ExpressionCurve as ExpressionCurve
    from trundle.geometry import ExpressionLevelSurface as ExpressionLevelSurface
    from trundle.geometry import ExpressionSurface as ExpressionSurface
    from trundle.geometry import Extrusion as Extrusion
    from trundle.geometry import FourierRadius as FourierRadius
    from trundle.geometry import HeightMap as HeightMap
    from trundle.geometry import Line as Line
    from trundle.geometry import Parabola as Parabola
    from trundle.geometry import Plane as Plane
    from trundle.geometry import Polytope as Polytope
    from trundle.geometry import Revolution as Revolution
    from trundle.geometry import Rounded as Rounded
    from trundle.geometry import SampledCurve as SampledCurve
    from trundle.geometry import SampledSurface as SampledSurface
    from trundle.geometry import Shape as Shape
    from trundle.geometry import Sinusoid as Sinusoid
    from trundle.geometry import Sphere as Sphere
    from trundle.geometry import Superellipsoid as Superellipsoid
    from trundle.geometry import Torus as Torus
    from trundle.geometry import Tube as Tube
    from trundle.geometry import check_convex as check_convex
    from trundle.geometry import check_regular as check_regular
    from trundle.models import Arm as Arm
    from trundle.models import AxisChange as AxisChange
    from trundle.models import Centroidal as Centroidal
    from trundle.models import CentroidalState as CentroidalState
    from trundle.models import Coast as Coast
    from trundle.models import Equilibrium as Equilibrium
    from trundle.models import Foot as Foot
    from trundle.models import Force as Force
    from trundle.models import Forecast as Forecast
    from trundle.models import Ground as Ground
    from trundle.models import Hand as Hand
    from trundle.models import Held as Held
    from trundle.models import LinearModel as LinearModel
    from trundle.models import MassChange as MassChange
    from trundle.models import Potential as Potential
    from trundle.models import Push as Push
    from trundle.models import Pushed as Pushed
    from trundle.models import RigidBody as RigidBody
    from trundle.models import Robot as Robot
    from trundle.models import RollingKinematics as RollingKinematics
    from trundle.models import RollingPair as RollingPair
    from trundle.models import RollingTree as RollingTree
    from trundle.models import SampledMotion as SampledMotion
    from trundle.models import SinusoidMotion as SinusoidMotion
    from trundle.models import Tree as Tree
    from trundle.models import build_avatar as build_avatar
    from trundle.models import control_affine as control_affine
    from trundle.models import equilibrium as equilibrium
    from trundle.models import linearize as linearize
    from trundle.models import load_example_robot as load_example_robot
    from trundle.models import load_urdf as load_urdf
    from trundle.models import parameters_of as parameters_of
    from trundle.models import robot_from_urdf as robot_from_urdf
    from trundle.models import with_parameters as with_parameters
    from trundle.models import with_visuals as with_visuals
    from trundle.numerics.ilqr import ControlProblem as ControlProblem
    from trundle.numerics.ilqr import ControlSolution as ControlSolution
    from trundle.numerics.ilqr import Cost as Cost
    from trundle.numerics.ilqr import Guess as Guess
    from trundle.numerics.ilqr import Limits as Limits
    from trundle.numerics.ilqr import Optimiser as Optimiser
    from trundle.numerics.ilqr import midpoint as midpoint
    from trundle.plan import ContactLimits as ContactLimits
    from trundle.plan import Goal as Goal
    from trundle.plan import HandLimits as HandLimits
    from trundle.plan import PlayThenHold as PlayThenHold
    from trundle.plan import ThrowCatch as ThrowCatch
    from trundle.plan import Transfer as Transfer
    from trundle.plan import Weights as Weights
    from trundle.plan import joint_demands as joint_demands
    from trundle.plan import plan as plan
    from trundle.plan import plan_walk as plan_walk
    from trundle.problems import PointPath as PointPath
    from trundle.problems import RobotGait as RobotGait
    from trundle.records import Plan as Plan
    from trundle.records import Trajectory as Trajectory
    from trundle.records import load_plan as load_plan
    from trundle.records import load_trajectory as load_trajectory
    from trundle.scenarios import load_scenario as load_scenario
    from trundle.scenarios import run as run
    from trundle.simulate import Delayed as Delayed
    from trundle.simulate import FunctionPolicy as FunctionPolicy
    from trundle.simulate import Gradient as Gradient
    from trundle.simulate import Identification as Identification
    from trundle.simulate import LinearFeedback as LinearFeedback
    from trundle.simulate import Measured as Measured
    from trundle.simulate import Noisy as Noisy
    from trundle.simulate import Runs as Runs
    from trundle.simulate import Sensitivities as Sensitivities
    from trundle.simulate import gradient as gradient
    from trundle.simulate import identify as identify
    from trundle.simulate import sensitivities as sensitivities
    from trundle.simulate import simulate as simulate
    from trundle.simulate import simulate_many as simulate_many
    from trundle.simulate import start_at as start_at
    from trundle.status import Status as Status

__version__ = "0.1.0"

_HOMES = {
    "trundle.contact": "FlatPatch Friction PlacedPatch SoftLaw SoftTouch Wall normal_force",
    "trundle.control": (
        "Actuated BalancingLQR Camera Encoders Faults Faulty Preview PreviewWeights Sensed Switching TrackingLQR "
        "Watchdog attraction_level lqr"
    ),
    "trundle.errors": (
        "CompileError ControlLostError InputError MissingExtraError ShapeError "
        "SimulationError StorageError TrundleError"
    ),
    "trundle.geometry": (
        "Arc Box Capsule Circle CurveSum Cylinder Disc Dish Ellipse Ellipsoid ExpressionBody ExpressionCurve "
        "ExpressionLevelSurface ExpressionSurface Extrusion FourierRadius HeightMap Line Parabola Plane Polytope "
        "Revolution Rounded SampledCurve SampledSurface Shape Sinusoid Sphere Superellipsoid Torus Tube "
        "check_convex check_regular"
    ),
    "trundle.models": (
        "Arm AxisChange Centroidal CentroidalState Coast Equilibrium Foot Force Forecast Ground Hand Held LinearModel "
        "MassChange Potential Push Pushed RigidBody Robot RollingKinematics RollingPair RollingTree SampledMotion "
        "SinusoidMotion Tree build_avatar control_affine equilibrium linearize load_example_robot load_urdf "
        "parameters_of robot_from_urdf with_parameters with_visuals"
    ),
    "trundle.numerics.ilqr": "ControlProblem ControlSolution Cost Guess Limits Optimiser midpoint",
    "trundle.plan": (
        "ContactLimits Goal HandLimits PlayThenHold ThrowCatch Transfer Weights joint_demands plan plan_walk"
    ),
    "trundle.problems": "PointPath RobotGait",
    "trundle.records": "Plan Trajectory load_plan load_trajectory",
    "trundle.scenarios": "load_scenario run",
    "trundle.simulate": (
        "Delayed FunctionPolicy Gradient Identification LinearFeedback Measured Noisy Runs Sensitivities gradient "
        "identify sensitivities simulate simulate_many start_at"
    ),
    "trundle.status": "Status",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", *_HOME_OF]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in ("environments", "interop"):
        return import_module(f"trundle.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Facade(ModuleType):
    """Keeps a verb the verb: importing the subpackage ``trundle.simulate`` would put the module in its place.

    Modules inside such a package are reached by ``from trundle.simulate import transitions``.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and _HOME_OF.get(name) == value.__name__:
            value = getattr(value, name, value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Facade

"""trundle: bodies that touch, and the law of the touch.

Public names are handed out lazily (PEP 562): ``import trundle`` loads no heavy package; ``trundle.Sphere`` loads
``trundle.geometry`` the first time it is read.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trundle.version import __version__

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    import trundle.control as control  # noqa: F401
    import trundle.environments as environments  # noqa: F401
    import trundle.errors as errors  # noqa: F401
    import trundle.geometry as geometry  # noqa: F401
    import trundle.interop as interop  # noqa: F401
    import trundle.models as models  # noqa: F401
    import trundle.optimal as optimal  # noqa: F401
    import trundle.records as records  # noqa: F401
    import trundle.systems.juggling as juggling  # noqa: F401
    import trundle.systems.multicontact as multicontact  # noqa: F401
    import trundle.systems.planar as planar  # noqa: F401
    import trundle.systems.walking as walking  # noqa: F401
    import trundle.systems.wallbounce as wallbounce  # noqa: F401
    from trundle.contact import FlatPatch as FlatPatch
    from trundle.contact import Friction as Friction
    from trundle.contact import PlacedPatch as PlacedPatch
    from trundle.contact import SoftLaw as SoftLaw
    from trundle.contact import SoftTouch as SoftTouch
    from trundle.contact import Wall as Wall
    from trundle.contact import normal_force as normal_force
    from trundle.control import BalancingLQR as BalancingLQR
    from trundle.control import Switching as Switching
    from trundle.control import TrackingLQR as TrackingLQR
    from trundle.control import attraction_level as attraction_level
    from trundle.control import lqr as lqr
    from trundle.errors import InputError as InputError
    from trundle.errors import TrundleError as TrundleError
    from trundle.geometry import Arc as Arc
    from trundle.geometry import Box as Box
    from trundle.geometry import Capsule as Capsule
    from trundle.geometry import Circle as Circle
    from trundle.geometry import Cylinder as Cylinder
    from trundle.geometry import Disc as Disc
    from trundle.geometry import Dish as Dish
    from trundle.geometry import Ellipse as Ellipse
    from trundle.geometry import Ellipsoid as Ellipsoid
    from trundle.geometry import Extrusion as Extrusion
    from trundle.geometry import FourierRadius as FourierRadius
    from trundle.geometry import HeightMap as HeightMap
    from trundle.geometry import Line as Line
    from trundle.geometry import Parabola as Parabola
    from trundle.geometry import Plane as Plane
    from trundle.geometry import Polytope as Polytope
    from trundle.geometry import Revolution as Revolution
    from trundle.geometry import Rounded as Rounded
    from trundle.geometry import Shape as Shape
    from trundle.geometry import Sinusoid as Sinusoid
    from trundle.geometry import Sphere as Sphere
    from trundle.geometry import Superellipsoid as Superellipsoid
    from trundle.geometry import Torus as Torus
    from trundle.geometry import Tube as Tube
    from trundle.models import Coast as Coast
    from trundle.models import Equilibrium as Equilibrium
    from trundle.models import Foot as Foot
    from trundle.models import Force as Force
    from trundle.models import Ground as Ground
    from trundle.models import Hand as Hand
    from trundle.models import LinearModel as LinearModel
    from trundle.models import Potential as Potential
    from trundle.models import RigidBody as RigidBody
    from trundle.models import Robot as Robot
    from trundle.models import RollingKinematics as RollingKinematics
    from trundle.models import RollingPair as RollingPair
    from trundle.models import RollingTree as RollingTree
    from trundle.models import SampledMotion as SampledMotion
    from trundle.models import SinusoidMotion as SinusoidMotion
    from trundle.models import Tree as Tree
    from trundle.models import control_affine as control_affine
    from trundle.models import equilibrium as equilibrium
    from trundle.models import linearize as linearize
    from trundle.models import load_example_robot as load_example_robot
    from trundle.models import load_urdf as load_urdf
    from trundle.models import parameters_of as parameters_of
    from trundle.models import robot_from_urdf as robot_from_urdf
    from trundle.models import with_parameters as with_parameters
    from trundle.models import with_visuals as with_visuals
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


_HOMES = {
    "trundle.contact": "FlatPatch Friction PlacedPatch SoftLaw SoftTouch Wall normal_force",
    "trundle.control": "BalancingLQR Switching TrackingLQR attraction_level lqr",
    "trundle.errors": "InputError TrundleError",
    "trundle.geometry": (
        "Arc Box Capsule Circle Cylinder Disc Dish Ellipse Ellipsoid Extrusion FourierRadius HeightMap Line "
        "Parabola Plane Polytope Revolution Rounded Shape Sinusoid Sphere Superellipsoid Torus Tube"
    ),
    "trundle.models": (
        "Coast Equilibrium Foot Force Ground Hand LinearModel Potential RigidBody Robot RollingKinematics "
        "RollingPair RollingTree SampledMotion SinusoidMotion Tree control_affine equilibrium linearize "
        "load_example_robot load_urdf parameters_of robot_from_urdf with_parameters with_visuals"
    ),
    "trundle.records": "Plan Trajectory load_plan load_trajectory",
    "trundle.scenarios": "load_scenario run",
    "trundle.simulate": (
        "Delayed FunctionPolicy Gradient Identification LinearFeedback Measured Noisy Runs Sensitivities "
        "gradient identify sensitivities simulate simulate_many start_at"
    ),
    "trundle.status": "Status",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

# Libraries of the systems, each on the core alone: `trundle.juggling`, ...
_SLICES = ("juggling", "multicontact", "planar", "walking", "wallbounce")

# Families of the core whose names are not all here.
_FAMILIES = ("control", "environments", "errors", "geometry", "interop", "models", "optimal", "records")

# Names that stood here, by the library that has them now; they work with a warning.
_MOVED = {
    "control": "Actuated Camera Encoders Faults Faulty Sensed Watchdog",
    "errors": "CompileError ControlLostError MissingExtraError ShapeError SimulationError StorageError",
    "geometry": (
        "CurveSum ExpressionBody ExpressionCurve ExpressionLevelSurface ExpressionSurface SampledCurve "
        "SampledSurface check_convex check_regular"
    ),
    "juggling": "Arm ContactLimits Goal HandLimits PlayThenHold ThrowCatch Transfer Weights joint_demands plan",
    "multicontact": (
        "AxisChange Centroidal CentroidalState Forecast Held MassChange PointPath Preview PreviewWeights Push Pushed"
    ),
    "optimal": "ControlProblem ControlSolution Cost Guess Limits Optimiser midpoint",
    "walking": "RobotGait build_avatar plan_walk",
}
_LIBRARY_OF = {name: library for library, names in _MOVED.items() for name in names.split()}

__all__ = ["__version__", *_HOME_OF, *_SLICES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _FAMILIES or name in _SLICES:
        return _library(name)
    if name in _LIBRARY_OF:
        library = _LIBRARY_OF[name]
        message = f"trundle.{name} is trundle.{library}.{name} now; the old name goes with version 0.3"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(_library(library), name)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def _library(name: str) -> ModuleType:
    return import_module(f"trundle.systems.{name}" if name in _SLICES else f"trundle.{name}")


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

"""What classes promise by how they are declared: data cannot be changed, extension points say what they ask for."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil

import pytest

import trundle

OF_EXTRAS = ("trundle.interop", "trundle.environments", "trundle.__main__")
CHANGING = {  # they count, record or accumulate, or are put together step by step
    "control": "Sensed Actuated Switching Faulty Watchdog",
    "interrupts": "_State",
    "models": "Robot RobotBodies Tree",
    "numerics": "_Progress",
    "optimal": "ProgramRows",
    "scenarios": "_Place",
    "simulate": "Log Segment",
    "systems": "ControllerDiagnostics PlanCounts PlayThenHold Replanning",
}
ASKED = {
    "contact.law.Law": "rows wrench margins",
    "contact.touch.Contact": "d limits restore size touch",
    "contact.walls.Surface": "distance numbers",
    "geometry.boundary.Boundary": "bundle reference_length",
    "geometry.shape.Shape": "bundle reference_length",
    "geometry.chart.Chart": "point",
    "geometry.level.Level": "level",
    "geometry.shapes.abstract.ChartShape": "point",
    "geometry.shapes.abstract.DistanceShape": "signed_distance",
    "geometry.shapes.abstract.LevelShape": "level",
    "geometry.shapes.abstract.SizedShape": "bundle",
    "geometry.shapes.abstract.SupportShape": "support",
    "geometry.support.Support": "support",
    "geometry.support.SupportLike": "support point_and_radii",
    "models.tree.joint.Connection": "configuration displace motion rates velocity with_velocity",
    "models.tree.joint.Joint": "transform subspace retract",
    "models.tree.joint.VectorJoint": "transform subspace",
    "models.tree.multibody.Multibody": "displace replace_contacts state_rate",
    "numerics.ilqr.backend.Backend": "backward measure roll slope",
}
BY_IDENTITY = {  # they hold arrays or expressions, whose equality is no truth value
    "contact.soft": "SoftTouch",
    "contact.walls": "Wall",
    "models.tree": "Frames FreeNumbers _Parts",
    "numerics.ilqr": "ControlProblem ControlSolution Cost Guess MidpointJacobian",
    "numerics.nlp": "ElementGroup Program",
    "numerics.ode": "BatchIntegration Pieces",
}
DEFAULTS = {  # what users get who say nothing
    "contact.laws.Sliding": {"end_speed": 0.0},
    "contact.packed.contact_function": {"compiled": True},
    "contact.soft.SoftLaw": {"offset": 0.02},
    "geometry.chart.ChartRange": {"coordinate": 0, "periodic": False},
    "geometry.features.Feature": {"rim": False, "rounding": 0.0},
    "geometry.sampled.circle_fit.fit_circle": {"tolerance": 1e-10},
    "geometry.shapes.bodies.Disc": {"rounding": 0.0},
    "geometry.shapes.bodies.Superellipsoid": {"rounding": 0.0},
    "geometry.shapes.expressions.ExpressionCurve": {"side": 1},
    "models.tree.tree.Tree.contact": {"mu": 1.0},
    "models.tree.tree.Tree.revolute": {"axis": (0.0, 1.0, 0.0)},
    "numerics.ilqr.solution.ControlSolution.guess": {"stages": 0.0},
    "numerics.ilqr.solution.Limits": {"tolerance": 1e-9},
    "numerics.nlp.nlp.solve": {"max_iterations": 500},
}


def test_data_cannot_be_changed() -> None:
    names = [m.name for m in pkgutil.walk_packages(trundle.__path__, "trundle.")]
    modules = [importlib.import_module(n) for n in names if not n.startswith(OF_EXTRAS)]
    own = {c for m in modules for c in vars(m).values() if inspect.isclass(c) and c.__module__.startswith("trundle.")}
    declared = [c for c in own if "__dataclass_params__" in vars(c)]
    assert len(declared) > 300
    changing = {
        (c.__module__.split(".")[1], c.__name__) for c in declared if not vars(c)["__dataclass_params__"].frozen
    }
    assert changing == {(package, name) for package, names in CHANGING.items() for name in names.split()}
    for package, classes in BY_IDENTITY.items():
        ours = {c for c in declared if c.__module__.startswith(f"trundle.{package}")}
        assert {c.__name__ for c in ours if not vars(c)["__dataclass_params__"].eq} == set(classes.split())
    for cls in (c for c in declared if (c.__module__.split(".")[1], c.__name__) not in changing):
        fields = dataclasses.fields(cls)
        if fields and not inspect.isabstract(cls):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(object.__new__(cls), fields[0].name, None)


@pytest.mark.parametrize("path", ASKED)
def test_an_extension_point_says_what_it_asks_for(path: str) -> None:
    module, name = path.rsplit(".", 1)
    base = getattr(importlib.import_module(f"trundle.{module}"), name)
    for missing in ASKED[path].split():
        given = {n: property(lambda self: None) for n in ASKED[path].split() if n != missing}
        with pytest.raises(TypeError, match=f"abstract method '?{missing}'?$"):
            type("Own", (base,), given)()


@pytest.mark.parametrize("path", DEFAULTS)
def test_what_is_not_given_is_as_documented(path: str) -> None:
    parts = path.split(".")
    owner = next(i for i, part in enumerate(parts) if part[0].isupper() or i == len(parts) - 1)
    found = importlib.import_module(f"trundle.{'.'.join(parts[:owner])}")
    for name in parts[owner:]:
        found = getattr(found, name)
    given = inspect.signature(found).parameters
    assert {name: given[name].default for name in DEFAULTS[path]} == DEFAULTS[path]


@pytest.mark.parametrize("shape", [trundle.Disc, trundle.Cylinder])
def test_a_face_lies_flat_within_a_tenth_of_a_radian(shape: type) -> None:
    assert shape(1.0, flat=0.1).flat == 0.1
    with pytest.raises(trundle.InputError, match=r"flat.* 0\.1 \(rad\)"):
        shape(1.0, flat=0.11)

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
    "control": "ControllerDiagnostics Sensed Actuated Switching Faulty Watchdog",
    "interrupts": "_State",
    "models": "Robot Tree",
    "numerics": "_Progress",
    "plan": "PlayThenHold ProgramRows",
    "scenarios": "_Place",
    "simulate": "Log Segment",
    "systems": "PlanCounts Replanning",
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
    "models.tree.joint.Connection": "configuration motion moved rates velocity with_velocity",
    "models.tree.joint.Joint": "transform subspace retract",
    "models.tree.joint.VectorJoint": "transform subspace",
    "models.tree.multibody.Multibody": "moved replaced state_rate",
    "numerics.ilqr.backend.Backend": "backward measure roll slope",
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

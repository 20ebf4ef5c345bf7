"""Every fault of a scenario file is one line that names file, key, value and what is allowed."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.scenarios.files import JUGGLING, PLANAR, PLANAR_HAND, changed, written
from trundle.errors import InputError
from trundle.geometry import Sphere
from trundle.geometry.shapes.sizes import LONGEST, SHORTEST
from trundle.scenarios import ScenarioError, load_scenario
from trundle.scenarios.problems import _field, keys_of
from trundle.scenarios.schema import json_schema, kinds, schema_for, tasks

ELLIPSOID = {"type": "ellipsoid", "semi_axes": [0.1, 0.1, 0.1]}
FAULTS: list[tuple[dict[str, Any], str]] = [
    (changed(JUGGLING, object__masss=0.1), "object.masss = 0.1: unknown key; did you mean 'mass'?"),
    (changed(JUGGLING, object__mass="heavy"), 'object.mass = "heavy": must be a mass > 0, from 1e-9 to 1e9 (kg)'),
    (changed(JUGGLING, object__mass=True), "object.mass = true: must be a mass > 0, from 1e-9 to 1e9 (kg)"),
    (changed(JUGGLING, object__mass=-1.0), "object.mass = -1.0: must be a mass > 0, from 1e-9 to 1e9 (kg)"),
    (changed(JUGGLING, object__mass=float("nan")), "object.mass = nan: must be a mass > 0, from 1e-9 to 1e9 (kg)"),
    (changed(JUGGLING, object__mass=float("inf")), "object.mass = inf: must be a mass > 0, from 1e-9 to 1e9 (kg)"),
    (changed(JUGGLING, object__mass=None), "object.mass: is missing; must be a mass > 0, from 1e-9 to 1e9 (kg)"),
    (
        changed(JUGGLING, object__inertia=[1.0, 1.0, 3.0]),
        "object.inertia = [1.0, 1.0, 3.0]: must be that of a real body: 3 <= 1 + 1 (kg m^2) does not hold",
    ),
    (
        changed(JUGGLING, object__inertia=[1.0, 0.0, 1.0]),
        "object.inertia = [1.0, 0.0, 1.0]: must be 'solid', 'shell' or [Ixx, Iyy, Izz], three numbers > 0 (kg m^2)",
    ),
    (
        changed(JUGGLING, object__inertia="hollow"),
        "object.inertia = \"hollow\": must be 'solid', 'shell' or [Ixx, Iyy, Izz], three numbers > 0 (kg m^2)",
    ),
    (
        changed(JUGGLING, object__shape={**ELLIPSOID, "semi_axes": [0.1, 0.1]}),
        "object.shape.semi_axes = [0.1, 0.1]: must be 3 lengths > 0, each from 1e-7 to 1e7 (m)",
    ),
    (
        changed(JUGGLING, object__shape={**ELLIPSOID, "radius": 1.0}),
        "object.shape.radius = 1.0: unknown key; known here: semi_axes, type",
    ),
    (
        changed(JUGGLING, object__shape={"type": "spere", "radius": 1.0}),
        "object.shape.type = \"spere\": must be one of 'box', 'capsule', 'circle', 'cylinder', 'disc', 'ellipse', "
        "'ellipsoid', 'fourier', 'rectangle', 'samples', 'sphere', 'spline', 'superellipsoid', "
        "'torus'; did you mean 'sphere'?",
    ),
    (
        changed(JUGGLING, object__shape={"type": "torus", "major": 0.1, "minor": 0.2}),
        "object.shape.minor = 0.2: must be a length < major = 0.1 (m)",
    ),
    (
        changed(JUGGLING, initial__object_quaternion=[1.0, 1.0, 0.0, 0.0]),
        "initial.object_quaternion = [1.0, 1.0, 0.0, 0.0]: must be a unit quaternion (w, x, y, z), norm 1 within "
        "1e-3; its norm is 1.41421",
    ),
    (changed(JUGGLING, contact__friction=-0.1), "contact.friction = -0.1: must be a number from 0 to 1e12"),
    (
        changed(JUGGLING, contact__law="roling"),
        "contact.law = \"roling\": must be one of 'rolling', 'pure-rolling'",
    ),
    (
        changed(JUGGLING, simulation__duration=-1),
        "simulation.duration = -1: must be a time > 0, from 1e-9 to 1e9 (s)",
    ),
    (
        changed(JUGGLING, simulation__output_step=1e-6),
        "simulation.output_step = 1e-06: must be a time from 1e-05 (a million samples) to duration = 10 (s)",
    ),
    (
        changed(JUGGLING, simulation__relative_tolerance=1.0),
        "simulation.relative_tolerance = 1.0: must be a number from 1e-14 to 1e-2",
    ),
    (changed(JUGGLING, hand=[1, 2]), "hand = [1, 2]: must be a table"),
    (changed(JUGGLING, hand__extent=[1.0, 0.0]), "hand.extent = [1.0, 0.0]: must be 2 lengths > 0, each from 1e-7 to"),
    (changed(JUGGLING, schema=2), "schema = 2: must be 1"),
    (changed(JUGGLING, kind="jugling"), "kind = \"jugling\": must be one of 'juggling', "),
    (changed(JUGGLING, task=None), "task: is missing; must be one of 'balance', 'simulate', 'throw', 'transfer'"),
    (
        changed(JUGGLING, hand__shape={"type": "line"}),
        "hand.shape = {type = \"line\"}: must be in space, as object.shape ('sphere') is, or that in the plane",
    ),
    (
        changed(PLANAR_HAND, hand__shape={"type": "plane"}, hand__extent=None),
        "hand.shape = {type = \"plane\"}: must be in the plane, as object.shape ('ellipse') is, or that in space",
    ),
    (changed(JUGGLING, hand__angle=0.1), "hand.angle = 0.1: must be left out in space, where rpy is given"),
    (changed(JUGGLING, initial__object_angle=0.1), "initial.object_angle = 0.1: must be left out in space"),
    (changed(JUGGLING, object__inertia=0.1), "object.inertia = 0.1: must be 'solid', 'shell' or [Ixx, Iyy, Izz]"),
    (changed(JUGGLING, hand__extent=0.1), "hand.extent = 0.1: must be 2 lengths > 0, along x and y (m)"),
    (changed(JUGGLING, hand__angular_velocity=1.0), "hand.angular_velocity = 1.0: must be 3 numbers"),
    (
        changed(JUGGLING, hand__motion={"type": "sinusoid", "amplitude": [1, 1, 1], "frequency": [1, 1, 1]}),
        "hand.motion.amplitude = [1, 1, 1]: must be 6 numbers in space (angular first)",
    ),
    (
        changed(PLANAR_HAND, hand__motion={"type": "sinusoid", "amplitude": [1, 1, 1], "frequency": [1] * 6}),
        "hand.motion.frequency = [1, 1, 1, 1, 1, 1]: must be 3 numbers in the plane (counter-clockwise, x, z)",
    ),
    (
        changed(PLANAR_HAND, hand__motion={"type": "sinusoid", "amplitude": [1, 1], "frequency": [1, 1, 1]}),
        "hand.motion.amplitude = [1, 1]: must be 6 numbers, each from -1e12 to 1e12 (angular first), or in the plane 3",
    ),
    (changed(PLANAR_HAND, hand__rpy=[0, 0.1, 0]), "hand.rpy = [0, 0.1, 0]: must be left out in the plane, where angle"),
    (
        changed(PLANAR_HAND, initial__object_quaternion=[0.6, 0, 0.8, 0]),
        "initial.object_quaternion = [0.6, 0, 0.8, 0]: must be left out in the plane, where object_angle is given",
    ),
    (
        changed(PLANAR_HAND, hand__angular_velocity=[0.1, 0, 0]),
        "hand.angular_velocity = [0.1, 0, 0]: must be one number, counter-clockwise, or [0, -that number, 0]",
    ),
    (changed(PLANAR_HAND, hand__position=[0, 0.1, 0]), "hand.position = [0, 0.1, 0]: must have y = 0"),
    (changed(PLANAR_HAND, simulation__gravity=[0, 1, 0]), "simulation.gravity = [0, 1, 0]: must have y = 0"),
    (changed(PLANAR_HAND, object__inertia=[1, 1, 1]), "object.inertia = [1, 1, 1]: must be 'solid', 'shell' or one"),
    (changed(PLANAR_HAND, object__inertia=float("nan")), "object.inertia = nan: must be 'solid', 'shell' or [Ixx"),
    (changed(PLANAR_HAND, hand__extent=[0.1, 0.1]), "hand.extent = [0.1, 0.1]: must be one length > 0, the width"),
    (changed(PLANAR_HAND, hand__extent=0.0), "hand.extent = 0.0: must be 2 lengths > 0, each from 1e-7 to 1e7 (m), or"),
    (changed(PLANAR, body__inertia=0.0), "body.inertia = 0.0: must be a number > 0, up to 1e12 (kg m^2)"),
    (
        changed(PLANAR, simulation={"step": 0.001, "relative_tolerance": 1e-9}),
        "simulation.relative_tolerance = 1e-09: must be left out where step is given (fixed steps), or step left out",
    ),
    (changed(PLANAR, simulation__step=1e-8), "simulation.step = 1e-08: must be a time from 1e-07 (1e8 steps) to"),
    (
        changed(PLANAR, terrain__curve={"type": "sum", "terms": [{"type": "line"}, {"type": "parabola", "curv": 1}]}),
        "terrain.curve.terms[1].curv = 1: unknown key; did you mean 'curvature'?",
    ),
    (changed(PLANAR, terrain__curve={"type": "sum", "terms": []}), "terrain.curve.terms = []: must be 1 to 32 tables"),
    (
        changed(JUGGLING, parts={"a": {"contact": {"law": 3}}}),
        "parts.a.contact.law = 3: must be one of 'rolling', 'pure-rolling'",
    ),
    (changed(JUGGLING, parts={"a": {"contct": {}}}), "parts.a.contct = {}: unknown key; did you mean 'contact'?"),
    (changed(JUGGLING, parts={"a b": {"seed": 1}}), 'parts = "a b": must be a name of at most 100 letters'),
]


@pytest.mark.parametrize(("data", "line"), FAULTS, ids=[line.split(":")[0] for _, line in FAULTS])
def test_fault_is_one_line(tmp_path: Path, data: dict[str, Any], line: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value).startswith(f"{path}: {line}")
    assert "\n" not in str(caught.value)


def test_several_faults_are_one_line_each(tmp_path: Path) -> None:
    path = written(tmp_path, changed(JUGGLING, object__mass=-1.0, contact__friction="x", contact__onslip="stop"))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_error_holds_key_value_and_allowed(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_scenario(written(tmp_path, changed(JUGGLING, object__mass=-1.0)))
    assert (caught.value.key, caught.value.value) == ("object.mass", -1.0)
    assert "from 1e-9 to 1e9" in caught.value.allowed


def test_integers_stand_for_numbers(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, changed(JUGGLING, object__mass=1, simulation__duration=2)))
    assert scenario.resolve()["object"]["mass"] == 1.0
    assert isinstance(scenario.resolve()["object"]["mass"], float)


BOUNCING = {"restitution": 0.0, "hypothesis": "newton", "bounce_speed": 1e-3}


def test_defaults_are_those_of_the_contract(tmp_path: Path) -> None:
    data = load_scenario(written(tmp_path, JUGGLING)).resolve()
    assert data["object"]["inertia"] == "solid"
    assert data["hand"]["motion"] == {"type": "coast"}
    surface = dict.fromkeys(("rolling_friction", "drilling_friction", "rolling_viscosity", "drilling_viscosity"), 0.0)
    surface |= {"adhesion": 0.0, "stiffness": 1e6, "dissipation": 0.1}
    assert data["contact"] == {
        "law": "rolling",
        "friction": 1.0,
        "torsional_friction": 0.0,
        "on_slip": "stop",
        "on_separation": "stop",
        **surface,
        **BOUNCING,
    }
    assert data["simulation"] == {
        "gravity": [0.0, 0.0, -9.81],
        "duration": 10.0,
        "output_step": 0.01,
        "relative_tolerance": 1e-11,
    }
    planar = load_scenario(written(tmp_path, PLANAR)).resolve()
    planar_contact = {"law": "rolling", "friction": 1.0, "on_slip": "ignore", "on_separation": "stop"}
    assert planar["contact"] == planar_contact | surface | BOUNCING
    assert planar["simulation"]["step"] == 0.001
    assert planar["simulation"]["stabilization"] == "projection"


@pytest.mark.parametrize(("kind", "task"), [(kind, task) for kind in kinds() for task in tasks(kind)])
def test_every_key_says_what_it_may_be(kind: str, task: str) -> None:
    seen: set[type[BaseModel]] = set()
    vague: list[str] = []

    def look(table: type[BaseModel], prefix: str) -> None:
        """Go through the keys of a table and of those inside."""
        seen.add(table)
        for key, info in keys_of(table).items():
            found, members, allowed = _field(info)
            vague.extend([prefix + key] * ("another type" in allowed))
            for inner in (found, *members.values(), *typing.get_args(found)):
                if isinstance(inner, type) and issubclass(inner, BaseModel) and inner not in seen:
                    look(inner, f"{prefix}{key}.")

    look(schema_for(kind, task), "")
    assert len(seen) > 3
    assert vague == []


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("avatar.mass=0", "avatar.mass = 0: must be a mass > 0, from 1e-9 to 1e9 (kg)"),
        ("cost.torques={knee=0}", "each a number > 0, at most 1e6"),
        ("cost.torques={knie=30.0}", "a table by the names 'trunk_yaw'"),
        ("phases.impacts=1", "phases.impacts = 1: must be true or false"),
    ],
)
def test_keys_that_may_be_left_out_and_tables_by_names_say_their_range_too(override: str, line: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load_scenario("walk-flat", [override])
    assert line in str(error.value)


@pytest.mark.parametrize("kind", kinds())
def test_json_schema_forbids_unknown_keys_and_describes_every_key(kind: str) -> None:
    schema = json_schema(kind)
    for one in schema.get("anyOf", [schema]):
        assert one["additionalProperties"] is False
        assert {"kind", "task"} <= set(one["required"])
    tables = [name for name in schema["$defs"] if name.endswith("Table")]
    assert tables
    assert all(schema["$defs"][name]["additionalProperties"] is False for name in tables)


@pytest.mark.parametrize("radius", [SHORTEST, LONGEST, 0.999 * SHORTEST, 1.001 * LONGEST])
def test_files_and_shapes_allow_the_same_lengths(tmp_path: Path, radius: float) -> None:
    path = written(tmp_path, changed(JUGGLING, object__shape__radius=radius))
    if SHORTEST <= radius <= LONGEST:
        assert Sphere(load_scenario(path).resolve()["object"]["shape"]["radius"]).radius == radius
        return
    with pytest.raises(InputError) as of_shape:
        Sphere(radius)
    with pytest.raises(InputError) as of_file:
        load_scenario(path)
    assert of_file.value.allowed == f"must be {of_shape.value.allowed}"


def test_a_capsule_without_length_is_a_ball_in_files_as_in_python(tmp_path: Path) -> None:
    shape = {"type": "capsule", "radius": 0.2, "length": 0.0}
    scenario = load_scenario(written(tmp_path, changed(JUGGLING, object__shape=shape)))
    assert scenario.resolve()["object"]["shape"]["length"] == 0.0
    with pytest.raises(InputError, match=r"length = 1e-08: must be 0 or a length > 0, from 1e-7 to 1e7 \(m\)"):
        load_scenario(written(tmp_path, changed(JUGGLING, object__shape=shape | {"length": 1e-8})))


def test_a_file_is_named_once_in_its_error(tmp_path: Path) -> None:
    path = written(tmp_path, "." * 300)
    with pytest.raises(InputError) as caught:
        load_scenario(path)
    assert str(caught.value) == f"{path}: must have at most 200 dots in a line"


@pytest.mark.parametrize("parts", [1, {"a": 1}, "x", [1]])
def test_parts_that_are_no_tables(tmp_path: Path, parts: Any) -> None:
    with pytest.raises(InputError, match=r"parts = .*: must be tables of tables, \[parts.NAME.TABLE\]"):
        load_scenario(written(tmp_path, changed(JUGGLING, parts=parts)))

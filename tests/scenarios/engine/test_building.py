"""Builders: every shape of the schema can be built, and constructors' errors name the file's keys."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trundle as tr
from tests.fuzz.cases import BASES
from tests.scenarios.files import JUGGLING, PLANAR, changed, written
from trundle.control import in_rolling_coordinates
from trundle.errors import InputError
from trundle.records.reference import Reference
from trundle.scenarios import build, load_scenario, run
from trundle.scenarios.engine.building import Simulation, all_parts, build_all
from trundle.scenarios.scenario import scenario_from
from trundle.scenarios.schema import ScenarioTable
from trundle.scenarios.system import systems
from trundle.systems.juggling.scenario.control import TransferExperiment

BALL = {"type": "sphere", "radius": 0.2}
OBJECTS: list[dict[str, Any]] = [
    BALL,
    {"type": "ellipsoid", "semi_axes": [0.05, 0.04, 0.03]},
    {"type": "superellipsoid", "semi_axes": [0.05, 0.04, 0.03], "exponents": [2.5, 3], "rounding": 0.01},
    {"type": "capsule", "radius": 0.1, "length": 0.2},
    {"type": "samples", "file": "body.csv", "degree": 4},
]
HANDS: list[tuple[dict[str, Any], list[float]]] = [
    ({"type": "plane"}, [0.0, 0.0, 0.0]),
    ({"type": "sphere", "radius": 2.0}, [0.0, 0.0, 2.0]),
    ({"type": "ellipsoid", "semi_axes": [2.0, 2.0, 1.0]}, [0.0, 0.0, 1.0]),
    ({"type": "dish", "semi_axes": [2.0, 2.0, 1.0]}, [0.0, 0.0, -1.0]),
    ({"type": "cylinder", "radius": 1.0}, [1.0, 0.0, 0.0]),
    ({"type": "tube", "radius": 1.0}, [1.0, 0.0, 0.0]),
    ({"type": "torus", "major": 3.0, "minor": 1.0}, [3.0, 0.0, 1.0]),
    ({"type": "heightmap", "file": "heights.csv"}, [0.4, 0.4, 0.0]),
]
OUTLINES: list[dict[str, Any]] = [
    {"type": "circle", "radius": 0.2},
    {"type": "ellipse", "semi_axes": [0.25, 0.12]},
    {"type": "fourier", "radius": 0.2, "cos": [0.0, 0.05]},
    {"type": "spline", "file": "outline.csv"},
]
GROUNDS: list[tuple[dict[str, Any], float]] = [
    ({"type": "line", "slope": 0.1, "offset": 0.3}, 0.3),
    ({"type": "parabola", "curvature": 0.1}, 0.3),
    ({"type": "sinusoid", "amplitude": 0.06, "wavelength": 2.0}, 0.3),
    ({"type": "arc", "radius": 3.0, "center": [0.0, 3.0], "side": "inside"}, 0.3),
    ({"type": "arc", "radius": 3.0, "side": "outside"}, 0.3),
    ({"type": "sum", "terms": [{"type": "parabola", "curvature": 0.1}, {"type": "line", "slope": 0.1}]}, 0.3),
    ({"type": "spline", "file": "profile.csv"}, 0.3),
]


@pytest.mark.parametrize(
    "task", [task for one in systems() for task in one.tasks.values()], ids=lambda task: task.schema
)
def test_every_task_that_a_file_can_name_has_a_schema_and_a_builder(task) -> None:
    assert issubclass(task.table(), ScenarioTable)
    assert callable(task.builder())


def furnished(folder: Path) -> Path:
    """Write the measured shapes that the tables above name."""
    steps = [0.1 * i for i in range(9)]
    heights = [f"{x},{y},{0.02 * ((x - 0.4) ** 2 + (y - 0.4) ** 2)}" for x in steps for y in steps]
    (folder / "heights.csv").write_text("x,y,z\n" + "\n".join(heights))
    (folder / "profile.csv").write_text(
        "x,z\n" + "\n".join(f"{x - 1},{0.1 * x * x}" for x in [0.25 * i for i in range(9)])
    )
    angles = [2 * math.pi * i / 40 for i in range(40)]
    (folder / "outline.csv").write_text("\n".join(f"{0.25 * math.cos(a)},{0.2 * math.sin(a)}" for a in angles))
    points = []
    for i in range(300):
        z = 1 - (2 * i + 1) / 300
        turn = math.pi * (3 - math.sqrt(5)) * i
        r = math.sqrt(1 - z * z)
        points.append(f"{0.1 * r * math.cos(turn)},{0.1 * r * math.sin(turn)},{0.1 * z}")
    (folder / "body.csv").write_text("\n".join(points))
    return folder


LOCKED = [
    (
        changed(
            JUGGLING,
            hand__shape={"type": "dish", "semi_axes": [0.2] * 3},
            initial__contact_on_hand=[0.0, 0.0, -0.2],
        ),
        "initial.contact_on_hand = [0.0, 0.0, -0.2]",
    ),
    (
        changed(
            PLANAR,
            body__curve={"type": "circle", "radius": 1.0},
            terrain__curve={"type": "arc", "radius": 1.0, "center": [0.0, 1.0]},
        ),
        "initial.contact_x = 0.0",
    ),
]


@pytest.mark.parametrize(("data", "named"), LOCKED, ids=["space", "plane"])
def test_a_start_that_locks_is_one_line_and_leaves_no_folder(tmp_path: Path, data: dict[str, Any], named: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        run(path, tmp_path / "out")
    assert str(caught.value).startswith(f"{path}: {named}: must be where the bodies touch in one point")
    assert "> 0.0001 (it is 0)" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_contact_far_off_the_hand_is_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, changed(JUGGLING, initial__contact_on_hand=[0.0, 0.0, 5.0]))
    with pytest.raises(InputError) as caught:
        build(load_scenario(path))
    assert str(caught.value) == (
        f"{path}: initial.contact_on_hand = [0.0, 0.0, 5.0]: must be on the hand's surface or at most 0.1 m off it, "
        "half the object's size (it is 5 m off)"
    )


@pytest.mark.parametrize("shape", OBJECTS, ids=[s["type"] for s in OBJECTS])
def test_every_object_rolls_on_a_plate(tmp_path: Path, shape: dict[str, Any]) -> None:
    inertia = [1e-3] * 3 if shape["type"] == "samples" else "solid"
    quaternion = [0.8, 0.6, 0.0, 0.0]
    data = changed(JUGGLING, object__shape=shape, object__inertia=inertia, initial__object_quaternion=quaternion)
    simulation = build(load_scenario(written(furnished(tmp_path), data)))
    assert simulation.settings == {"duration": 10.0, "output_step": 0.01, "relative_tolerance": 1e-11}
    assert simulation.model.body.mass == 0.1


@pytest.mark.parametrize(("shape", "contact"), HANDS, ids=[s["type"] for s, _ in HANDS])
def test_a_ball_rolls_on_every_hand(tmp_path: Path, shape: dict[str, Any], contact: list[float]) -> None:
    data = changed(JUGGLING, hand__shape=shape, initial__contact_on_hand=contact)
    assert build(load_scenario(written(furnished(tmp_path), data))).initial is not None


@pytest.mark.parametrize("curve", OUTLINES, ids=[c["type"] for c in OUTLINES])
def test_every_outline_rolls_on_a_line(tmp_path: Path, curve: dict[str, Any]) -> None:
    data = changed(PLANAR, body__curve=curve, terrain__curve={"type": "line"})
    simulation = build(load_scenario(written(furnished(tmp_path), data)))
    assert simulation.settings["step"] == 0.001
    assert "relative_tolerance" not in simulation.settings


@pytest.mark.parametrize(("curve", "x"), GROUNDS, ids=[c["type"] for c, _ in GROUNDS])
def test_a_circle_rolls_on_every_ground(tmp_path: Path, curve: dict[str, Any], x: float) -> None:
    circle = {"type": "circle", "radius": 0.1}
    data = changed(PLANAR, body__curve=circle, terrain__curve=curve, initial__contact_x=x)
    assert build(load_scenario(written(furnished(tmp_path), data))).initial is not None


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (
            changed(JUGGLING, contact__law="pure-rolling", hand__angular_velocity=[0, 0, 7]),
            "initial.object_angular_velocity",
        ),
        (
            changed(
                JUGGLING,
                hand__shape={"type": "dish", "semi_axes": [0.1, 0.1, 0.1]},
                initial__contact_on_hand=[0, 0, -0.1],
            ),
            "initial.contact_on_hand",
        ),
        (
            changed(
                JUGGLING,
                object__shape={"type": "superellipsoid", "semi_axes": [1, 1, 1], "exponents": 4},
            ),
            "object.shape.exponents",
        ),
        (changed(PLANAR, body__curve={"type": "fourier", "radius": 0.2, "cos": [1.5]}), "body.curve.cos"),
        (changed(PLANAR, terrain__curve={"type": "spline", "file": "short.csv"}), "terrain.curve.file"),
        (changed(PLANAR, terrain__curve={"type": "spline", "file": "none.csv"}), "terrain.curve.file"),
        (changed(PLANAR, terrain__curve={"type": "arc", "radius": 1.0}, initial__contact_x=2.0), "initial.contact_x"),
        (
            changed(JUGGLING, hand__motion={"type": "samples", "file": "back.csv"}),
            "hand.motion.file",
        ),
    ],
)
def test_faults_that_only_show_when_built_name_the_key(tmp_path: Path, data: dict[str, Any], key: str) -> None:
    (tmp_path / "short.csv").write_text("0,0\n1,0\n")
    (tmp_path / "back.csv").write_text("1,0,0,0,0,0,0\n0,0,0,0,0,0,0\n")
    path = written(tmp_path, data)
    with pytest.raises(InputError) as caught:
        build(load_scenario(path))
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{path}: {key} = ")
    assert "\n" not in str(caught.value)


def test_an_error_of_a_part_names_its_table(tmp_path):
    far = {"initial": {"contact_on_hand": [0.0, 0.0, 9.0]}}
    file = written(tmp_path, JUGGLING | {"parts": {"far": far}})
    with pytest.raises(InputError, match=r"parts\.far\.initial\.contact_on_hand"):
        run(load_scenario(str(file)), tmp_path / "out")


@pytest.mark.parametrize(
    ("found", "told"),
    [("torsional_friction", "contact.torsional_friction"), ("duration", "simulation.duration"), ("x0", "x0")],
)
def test_what_a_run_refuses_late_names_file_and_table(tmp_path, monkeypatch, found: str, told: str) -> None:
    def refuse(self: Simulation, **further: Any) -> None:
        raise InputError(found, 3.0, "a number <= 2")

    monkeypatch.setattr(Simulation, "run", refuse)
    file = written(tmp_path, JUGGLING)
    with pytest.raises(InputError) as caught:
        run(load_scenario(file, ["simulation.duration=3.0"]), tmp_path / "out", plots=False)
    mark = " (from --set)" if told == "simulation.duration" else ""
    assert str(caught.value) == f"{file}: {told} = 3.0: must be a number <= 2{mark}"


def refused(name: str, changes: dict[str, Any]) -> InputError:
    """Return what build or parts of a named scenario, or one of the fuzzing, refuse after the file's check."""
    texts = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    if name in BASES:
        scenario = scenario_from(dict(BASES[name]), folder=Path(), file="mine.toml", overrides_=texts)
    else:
        scenario = load_scenario(name, texts)
    with pytest.raises(InputError) as caught:
        _ = [part.run(None) for part in all_parts(scenario, build_all(scenario))]
    return caught.value


def stays(work: TransferExperiment, *_: Any, **__: Any) -> SimpleNamespace:
    """Stand for a plan that takes long: one that stays at the start."""
    rest = in_rolling_coordinates(work.pair, work.start)
    inputs = np.zeros((11, 3 * work.pair.d - 3))
    tracked = Reference(np.linspace(0.0, 1.0, 11), np.tile(rest.x, (11, 1)), inputs, rest.atlas)
    known = {"history": (), "residuals": {}, "wall_time": 0.0, "message": "", "trajectory": None}
    return SimpleNamespace(tracked=tracked, success=True, status=tr.Status.SUCCESS, **known)


TOO_FAR: dict[str, Any] = {"faults.nan": 0.5, "faults.entries": [500]}
"""What is refused at the first measurement: no check of the file knows how many numbers a controller is told."""
SHORT: dict[str, Any] = {"bias": {"faults.bias": [1.0, 2.0]}, "entries": TOO_FAR}


@pytest.mark.slow
@pytest.mark.parametrize("key", SHORT)
@pytest.mark.parametrize("name", ["balance", "transfer", "recover", "stander", "mover"])
def test_faults_beyond_a_measurement_are_refused_at_the_first_one_by_file_and_table(
    monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    monkeypatch.setattr(TransferExperiment, "_make_plan", stays)
    error = refused(name, SHORT[key])
    assert (error.file, error.key) == ("mine.toml", f"faults.{key}")
    assert str(error).startswith(f"mine.toml: faults.{key} = [")
    assert str(error).endswith(" (from --set)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("balance", {"controller.state.hand_position": 0.0}, "controller.state"),
        ("ellipse-flip-up", {"goal.object_angle": 0.3}, "goal"),
    ],
)
def test_what_a_regulator_refuses_after_the_plan_names_file_and_table(
    monkeypatch: pytest.MonkeyPatch, name: str, changes: dict[str, Any], key: str
) -> None:
    monkeypatch.setattr(TransferExperiment, "_make_plan", stays)
    error = refused(name, changes)
    file = "mine.toml" if name in BASES else name
    assert (error.file, error.key) == (file, key)
    assert str(error).startswith(f"{file}: {key} = ")

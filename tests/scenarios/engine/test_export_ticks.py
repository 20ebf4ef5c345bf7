"""Exported ticks of controllers that solve quadratic programs: compiled by themselves, they do what Python's do."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.scenarios.engine.test_export import compile_strictly, enumerated
from trundle.numerics.compiled.compile import find_compiler
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.building import build
from trundle.scenarios.engine.export import export
from trundle.scenarios.engine.export.ticks import Ticks, record

FORCES = ['controller.form="force"']
compiled = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
RELAXED, SUCCESS, CONFLICT, NOT_FINITE = 1, 0, -1, -2


class Tick:
    """The exported tick of a scenario, loaded."""

    def __init__(self, name: str, settings: list[str], folder: Path) -> None:
        scenario = load_scenario(name, settings)
        self.done = export(scenario, folder)
        compiler = find_compiler()
        assert compiler is not None
        sources = [path.name for path in folder.glob("trundle_*.c")]
        command = [*compiler.command, "-O0", "-fPIC", "-shared", *sources, "-lm", "-o", "tick.so"]
        subprocess.run(command, cwd=folder, check=True, timeout=100)
        library = ctypes.CDLL(str(folder / "tick.so"))
        self._tick, self._reset = (library[f"{self.done.name}_{key}"] for key in ("tick", "reset"))
        work = build(scenario)
        policy = work.regulator()
        self.ticks: Ticks = record(work.tree, work.start, policy, policy.tick_program())
        self.statuses = policy.statuses

    def reset(self, x: NDArray[np.float64]) -> None:
        assert self._reset(x.ctypes.data_as(ctypes.c_void_p)) == 0

    def __call__(self, i: int, x: NDArray[np.float64] | None = None) -> tuple[int, NDArray[np.float64]]:
        u = np.zeros(self.ticks.u.shape[1])
        given = [self.ticks.x[i] if x is None else x, *(column[i] for column in self.ticks.arguments.values()), u]
        return self._tick(*(array.ctypes.data_as(ctypes.c_void_p) for array in given)), u

    def replayed(self) -> tuple[set[int], float]:
        """The statuses of all recorded ticks, and the largest difference from Python over 1 + |u|."""
        self.reset(self.ticks.x[0])
        rows = [self(i) for i in range(len(self.ticks.x))]
        off = np.abs(np.array([u for _, u in rows]) - self.ticks.u) / (1.0 + np.abs(self.ticks.u))
        return {status for status, _ in rows}, float(off.max())


@compiled
def test_the_tick_of_a_rover_is_checked_timed_and_allocates_nothing(tmp_path: Path) -> None:
    done = export("rover-sinusoid", tmp_path)
    assert done.controller == "InverseDynamicsPolicy, quadratic programs of 6 x 12 every 0.01 s"
    files = ("main.c", f"{done.name}.c", f"{done.name}_tick.c", f"{done.name}_functions.c")
    for file in files:
        if not file.endswith("_functions.c"):
            compile_strictly(tmp_path, file, ["-x", "c++", "-std=c++11"])
        compile_strictly(tmp_path, file, ["-std=gnu11", "-ffp-contract=off"])
        assert not re.search(r"\b(malloc|calloc|realloc|alloca)\b", (tmp_path / file).read_text())
    compiler = find_compiler()
    assert compiler is not None
    objects = [f"{file}.o" for file in files]
    subprocess.run([*compiler.command, *objects, "-lm", "-o", "check"], cwd=tmp_path, check=True, timeout=100)
    ran = subprocess.run([tmp_path / "check"], capture_output=True, text=True, timeout=60, check=True)
    differences = [float(value) for value in re.findall(r"largest difference: \w+ (\S+)", ran.stdout)]
    assert differences[0] <= 1e-12
    assert differences[1] <= 1e-6
    median, worst = re.findall(r"1000 ticks at 1 kHz: median (\S+) us, worst (\S+) us", ran.stdout)[0]
    assert 0.0 < float(median) <= float(worst)


def test_arguments_of_a_tick_are_named_with_their_units(tmp_path: Path) -> None:
    name = export("leg-balance", tmp_path).name
    header = (tmp_path / f"{name}.h").read_text()
    reference = [comment for _, _, comment in enumerated(header, f"{name.upper()}_REFERENCE")]
    assert reference[:3] == ["shin.value, rad", "shin.rate, rad/s", "shin.acceleration, rad/s^2"]
    assert [key for key, _, _ in enumerated(header, f"{name.upper()}_TOUCHING")] == ["FOOT", "FOOT_SECOND"]


@compiled
@pytest.mark.parametrize(
    ("name", "settings", "statuses"),
    [
        ("rover-sinusoid", [*FORCES, 'controller.secondary="torques"', "controller.torque_limit=20"], {SUCCESS}),
        ("leg-balance", ['controller.form="full"', "controller.torque_rate_limit=200"], {SUCCESS}),
        ("leg-balance", ["controller.torque_limit=0.1", "controller.normal_force_min=1000"], {CONFLICT}),
        ("leg-balance", ["contact.friction=0.1", 'contact.on_slip="slide"'], {SUCCESS, RELAXED}),
    ],
    ids=["levels", "equations", "conflict", "relaxed"],
)
def test_levels_forms_and_relaxed_limits_are_those_of_python(
    tmp_path: Path, name: str, settings: list[str], statuses: set[int]
) -> None:
    tick = Tick(name, settings, tmp_path)
    found, off = tick.replayed()
    assert len(tick.ticks.x) > 1
    assert found == statuses
    assert off <= 1e-6
    labels = {status.label for status in tick.statuses}
    assert (CONFLICT in found, RELAXED in found) == ("conflicting-limits" in labels, "limits-relaxed" in labels)


@compiled
def test_a_broken_measurement_holds_the_last_torques_and_is_forgotten(tmp_path: Path) -> None:
    tick = Tick("leg-balance", [], tmp_path)
    tick.reset(tick.ticks.x[0])
    _, before = tick(0)
    broken = np.where(np.arange(tick.ticks.x.shape[1]) == 3, np.nan, tick.ticks.x[1])
    status, held = tick(1, broken)
    assert status == NOT_FINITE
    assert held == pytest.approx(before, abs=0.0)
    status, u = tick(2)
    assert status == SUCCESS
    assert u == pytest.approx(tick.ticks.u[2], abs=1e-9)


@compiled
def test_contact_coordinates_of_the_state_are_a_guess_only(tmp_path: Path) -> None:
    tick = Tick("leg-balance", [], tmp_path)
    tick.reset(tick.ticks.x[0])
    for i in range(50):
        x = tick.ticks.x[i].copy()
        x[4:8] = 0.0  # foot.coordinates and those of its second contact
        status, u = tick(i, x)
        assert status == SUCCESS
        assert u == pytest.approx(tick.ticks.u[i], abs=1e-9)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (["controller.slip.speed=0.02"], "not written: it remembers more than torques: slip"),
        (["controller.enabled=false"], "none"),
    ],
)
def test_what_has_no_tick_is_said(tmp_path: Path, settings: list[str], why: str) -> None:
    assert export(load_scenario("leg-balance", settings), tmp_path).controller.startswith(why)

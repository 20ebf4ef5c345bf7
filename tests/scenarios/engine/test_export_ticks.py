"""Exported ticks of controllers that solve quadratic programs: compiled by themselves, they do what Python's do."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.scenarios.engine.test_export import compile_strictly, enumerated
from trundle.control import InverseDynamicsPolicy
from trundle.control.tick import RecordedTicks
from trundle.numerics.compiled.compile import find_compiler
from trundle.scenarios import load_scenario
from trundle.scenarios.engine.building import build
from trundle.scenarios.engine.export import export
from trundle.scenarios.engine.export.ticks import record
from trundle.simulate import simulate

FORCES = ['controller.form="force"']
compiled = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
RELAXED, SUCCESS, CONFLICT, NOT_FINITE = 1, 0, -1, -2


class Tick:
    """The exported tick of a scenario, loaded."""

    def __init__(self, name: str | Path, settings: list[str], folder: Path) -> None:
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
        self.ticks: RecordedTicks = record(work.tree, work.start, policy)[1]
        self.x = self.ticks.arguments["x"]
        self.statuses = policy.statuses

    def reset(self, x: NDArray[np.float64]) -> None:
        assert self._reset(x.ctypes.data_as(ctypes.c_void_p)) == 0

    def __call__(self, i: int, x: NDArray[np.float64] | None = None) -> tuple[int, NDArray[np.float64]]:
        given = [column[i] for column in self.ticks.arguments.values()]
        given[0] = given[0] if x is None else x
        return self.call(given)

    def call(self, given: Sequence[NDArray[np.float64]]) -> tuple[int, NDArray[np.float64]]:
        u = np.zeros(self.ticks.u.shape[1])
        return self._tick(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*given, u))), u

    def replayed(self) -> tuple[set[int], float]:
        """The statuses of all recorded ticks, and the largest difference from Python over 1 + |u|."""
        self.reset(self.x[0])
        rows = [self(i) for i in range(len(self.x))]
        off = np.abs(np.array([u for _, u in rows]) - self.ticks.u) / (1.0 + np.abs(self.ticks.u))
        return {status for status, _ in rows}, float(off.max())


def checked_strictly(folder: Path, files: Sequence[str]) -> str:
    """Compile an export without a warning, as C and what is ours as C++ too; return what its check prints."""
    for file in files:
        if not file.endswith("_functions.c"):
            compile_strictly(folder, file, ["-x", "c++", "-std=c++11"])
        compile_strictly(folder, file, ["-std=gnu11", "-ffp-contract=off"])
        assert not re.search(r"\b(malloc|calloc|realloc|alloca)\b", (folder / file).read_text())
    compiler = find_compiler()
    assert compiler is not None
    objects = [f"{file}.o" for file in files]
    subprocess.run([*compiler.command, *objects, "-lm", "-o", "check"], cwd=folder, check=True, timeout=100)
    return subprocess.run([folder / "check"], capture_output=True, text=True, timeout=60, check=True).stdout


@compiled
def test_the_tick_of_a_rover_is_checked_timed_and_allocates_nothing(tmp_path: Path) -> None:
    done = export("rover-sinusoid", tmp_path)
    assert done.controller == "InverseDynamicsPolicy, quadratic programs of 6 x 12 every 0.01 s"
    files = ("main.c", f"{done.name}.c", f"{done.name}_tick.c", f"{done.name}_functions.c")
    ran = checked_strictly(tmp_path, files)
    differences = [float(value) for value in re.findall(r"largest difference: \w+ (\S+)", ran)]
    assert differences[0] <= 1e-12
    assert differences[1] <= 1e-6
    page = (Path(__file__).parents[3] / "docs" / "export.md").read_text()
    told, header = re.findall(r"TRUNDLE_\w+(?: = \d+)?", page), (tmp_path / f"{done.name}.h").read_text()
    assert told
    assert [name for name in told if not re.search(rf"\b{name}\b", header)] == []
    median, worst = re.findall(r"1000 ticks at 1 kHz: median (\S+) us, worst (\S+) us", ran)[0]
    assert 0.0 < float(median) <= float(worst)


@compiled
@pytest.mark.slow
def test_whole_body_control_and_previews_of_a_walk(tmp_path: Path) -> None:
    done = export("humanoid-walk", tmp_path)
    assert not done.model
    assert done.controller.startswith("quadratic programs of 47 x 81 every 0.002 s; left_foot_while_right_foot_moves, ")
    assert done.controller.endswith("; preview, quadratic programs of 240 x 660 every 0.04 s")
    header = (tmp_path / f"{done.name}.h").read_text()
    assert f"{done.name.upper()}_J_COUNT = 420 }}; /* J, 12 x 35: contact rows */" in header
    joints = [comment for _, _, comment in enumerated(header, f"{done.name.upper()}_U")]
    assert len(joints) == 29
    assert joints[3] == "left_knee_joint, N m"
    own = sorted(path.name for path in tmp_path.glob("trundle_*.c"))
    assert len(own) == 5  # ticks on both feet, on each, of the preview; the functions
    ran = checked_strictly(tmp_path, ("main.c", *own))
    swinging = re.findall(r"largest difference: \w+_foot_while_\w+_foot_moves (\S+)", ran)
    assert len(swinging) == 2
    assert max(map(float, swinging)) <= 1e-6
    assert float(re.findall(r"largest difference: controller (\S+)", ran)[0]) <= 1e-6
    assert float(re.findall(r"largest difference: preview (\S+)", ran)[0]) <= 1e-4
    assert "25 ticks at 25 Hz: median" in ran


@compiled
@pytest.mark.slow
def test_stages_of_optimal_control_are_those_that_the_optimiser_calls(tmp_path: Path) -> None:
    done = export("wallbounce-stay", tmp_path)
    assert done.controller == "stages of 'implicit', 25 of them, stages of 'hybrid', 25 of them"
    header, title = (tmp_path / f"{done.name}.h").read_text(), done.name.upper()
    states = [comment for _, _, comment in enumerated(header, f"{title}_HYBRID_X")]
    assert [states[i] for i in (0, 3, 5, 11)] == ["ball.x, m", "pitch, rad", "left_1, rad", "momentum.x, kg m/s"]
    assert enumerated(header, f"{title}_IMPLICIT_U")[2] == ("YAW_TORQUE", "2", "yaw_torque, N m")
    files = ("main.c", f"{done.name}_stages.c", f"{done.name}_functions.c")
    ran = checked_strictly(tmp_path, files)
    assert float(re.findall(r"largest difference: stages (\S+)", ran)[0]) <= 1e-9
    # Of another state the check sees it: it compares.
    text, begin = (tmp_path / "main.c").read_text(), "hybrid_slope_x[4][16] = {\n    {"
    (tmp_path / "main.c").write_text(text.replace(begin, f"{begin}0.1 + "))
    with pytest.raises(subprocess.CalledProcessError):
        checked_strictly(tmp_path, files)


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
    assert len(tick.x) > 1
    assert found == statuses
    assert off <= 1e-6
    labels = {status.label for status in tick.statuses}
    assert (CONFLICT in found, RELAXED in found) == ("conflicting-limits" in labels, "limits-relaxed" in labels)


CART = """
kind = "planar"
task = "track"
[[bodies]]
name = "base"
mass = 20.0
inertia = 1.2
[[bodies]]
name = "front"
parent = "base"
at = [0.3, -0.3]
mass = 1.0
curve = { type = "circle", radius = 0.12 }
[[bodies]]
name = "rear"
parent = "base"
at = [-0.3, -0.3]
mass = 1.0
curve = { type = "circle", radius = 0.12 }
[terrain]
curve = { type = "line" }
[contact]
friction = 3.0
[initial]
positions = { base = [0.0, 0.42, 0.0] }
rates = { base = [0.0, 0.2, 0.0] }
[controller]
period = 0.005
secondary = "torques"
[[controller.tasks]]
name = "pitch"
type = "angle"
body = "base"
kp = 100.0
kd = 20.0
[[controller.tasks]]
name = "speed"
type = "position"
body = "base"
axis = "x"
kd = 20.0
level = 1
[simulation]
duration = 0.5
"""


@compiled
@pytest.mark.parametrize("form", ["torque", "force"])
def test_a_task_that_no_torque_can_change_takes_nothing_in_c_either(tmp_path: Path, form: str) -> None:
    """The pitch of a cart on two wheels: both torques brake, v falls as exp(-20 t)."""
    file = tmp_path / "cart.toml"
    file.write_text(CART, encoding="utf-8")
    tick = Tick(file, [f'controller.form="{form}"'], tmp_path / "c")
    found, off = tick.replayed()
    assert found == {SUCCESS}
    assert off <= 1e-6
    work = build(load_scenario(file, [f'controller.form="{form}"']))
    for policy in (work.regulator(), InC(tick, work.regulator(), work.start.x)):
        speed = np.asarray(simulate(work.tree, work.start, 0.1, policy=policy)["body_velocity"])[:, 0, 0]
        # Held for a period, a torque takes away 20 T of the speed instead of 1 - exp(-20 T).
        assert speed[-1] == pytest.approx(0.2 * (1 - 20.0 * 0.005) ** 20, rel=1e-3)


@compiled
@pytest.mark.parametrize(
    "settings",
    [[], ["controller.torque_limit=2.0"], ["contact.friction=0.1", 'contact.on_slip="slide"']],
    ids=["free", "held back", "relaxed"],
)
@pytest.mark.slow
def test_integrals_are_those_of_python(tmp_path: Path, settings: list[str]) -> None:
    text = resources.files("trundle.systems.planar").joinpath("leg-balance.toml").read_text("utf-8")
    text = text.replace("\nkp = 25.0", "\nki = 30.0\nkp = 25.0")
    text = text.replace("\nkp = 4.0", "\nki = 5.0\nki_bound = 0.002\nkp = 4.0")
    file = tmp_path / "leg.toml"
    file.write_text(text, encoding="utf-8")
    tick, plain = Tick(file, settings, tmp_path / "c"), build(load_scenario("leg-balance", settings))
    found, off = tick.replayed()
    without = record(plain.tree, plain.start, plain.regulator())[1].u
    n = min(len(without), len(tick.ticks.u))
    assert np.abs(tick.ticks.u[:n] - without[:n]).max() > 0.1
    assert (RELAXED in found) == ("limits-relaxed" in {status.label for status in tick.statuses})
    assert off <= 1e-9


class InC:
    """The exported tick in place of Python's controller, which only says reference and contacts."""

    def __init__(self, tick: Tick, told: InverseDynamicsPolicy, start: NDArray[np.float64]) -> None:
        self.period, self._tick, self._told, self._start = told.period, tick, told, start

    def reset(self) -> None:
        self._told.reset()
        self._tick.reset(self._start)

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        self._told.sense_contacts(time, touching)

    def __call__(self, time: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        status, u = self._tick.call(self._told.tick_arguments(time, np.array(state)))
        assert status == SUCCESS
        return u


@compiled
def test_a_leg_that_c_balances_moves_as_the_one_that_python_balances(tmp_path: Path) -> None:
    tick, work = Tick("leg-balance", [], tmp_path), build(load_scenario("leg-balance"))
    runs = [
        simulate(work.tree, work.start, 2.0, policy=policy)
        for policy in (work.regulator(), InC(tick, work.regulator(), work.start.x))
    ]
    known, found = (np.asarray(run["joint_position"]) for run in runs)
    assert np.ptp(known) > 0.01
    assert found == pytest.approx(known, abs=1e-8)


@compiled
def test_a_broken_measurement_holds_the_last_torques_and_is_forgotten(tmp_path: Path) -> None:
    tick = Tick("leg-balance", [], tmp_path)
    tick.reset(tick.x[0])
    _, before = tick(0)
    broken = np.where(np.arange(tick.x.shape[1]) == 3, np.nan, tick.x[1])
    status, held = tick(1, broken)
    assert status == NOT_FINITE
    assert held == pytest.approx(before, abs=0.0)
    status, u = tick(2)
    assert status == SUCCESS
    assert u == pytest.approx(tick.ticks.u[2], abs=1e-9)


@compiled
def test_contact_coordinates_of_the_state_are_a_guess_only(tmp_path: Path) -> None:
    tick = Tick("leg-balance", [], tmp_path)
    tick.reset(tick.x[0])
    for i in range(50):
        x = tick.x[i].copy()
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

"""The card that a run leaves on a terminal, and what programs read in its place."""

from __future__ import annotations

import dataclasses
import io
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from trundle.cli.card import tell
from trundle.scenarios import Result, run
from trundle.scenarios.engine.summary import MetricEntry, Summary


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def entry(value: float | None, limit: float | None, holds: bool | None, unit: str = "m") -> MetricEntry:
    sense = None if limit is None else "<="
    return {
        "value": value, "unit": unit, "sense": sense, "limit": limit, "holds": holds, "published": None, "source": "",
    }  # fmt: skip


def result(folder: Path, status: str = "success", **changed: object) -> Result:
    (folder / "plots").mkdir(parents=True)
    for name in ("viewer.html", "plots/a.png", "plots/b.png"):
        (folder / name).touch()
    metrics = {"drift": entry(1.5e-9, 1e-8, True), "gap": entry(0.25, 0.1, False), "speed": entry(2.0, None, None)}
    times = {"build": 0.5, "solve": 0.0, "simulate": 2.0, "report": 3.25}
    summary: Summary = {
        "scenario": "ball", "kind": "juggling", "status": status, "advice": "", "version": "1", "seed": 0,
        "wall_time": times, "feasible": True, "metrics": metrics, "parts": {}, **changed,
    }  # fmt: skip # pyright: ignore[reportAssignmentType]
    return Result(folder, summary, None)


def shown(monkeypatch: pytest.MonkeyPatch, made: Result, verbose: bool = False, **environment: str) -> str:
    """What the terminal gets."""
    terminal = Terminal()
    for name, value in ({"TERM": "xterm-256color", "COLUMNS": "100"} | environment).items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        tell(made, 6.5, verbose)
    return terminal.getvalue()


def plain(text: str) -> str:
    """A text without what steers a terminal."""
    return re.sub(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", text)


def test_the_card_says_how_it_ended_what_is_violated_and_what_to_do_next(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    text = plain(shown(monkeypatch, result(Path("runs/ball"), "limit-violated")))
    rows = {match[1].strip(): match[2].strip() for match in re.finditer(r"^│ (.{9}) (.*)│$", text, re.MULTILINE)}
    assert "─  ball  ─" in text
    assert rows == {
        "ended": "limit violated: the run reached its end, but outside a limit",
        "limits": "1 of 2 violated",
        "": "gap: 0.25 m, limit <= 0.1",
        "feasible": "yes: no contact force pulled or left its friction cone",
        "time": "6.5 s: build 0.5, simulate 2.0, report 3.2, others 0.8",
        "pictures": "runs/ball/plots (2)",
        "page": "runs/ball/viewer.html",
        "all files": "runs/ball",
        "next": "trundle view runs/ball",
    }


def test_limits_come_first_and_the_rest_only_if_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = result(tmp_path / "run")
    short, long = (plain(shown(monkeypatch, made, verbose)) for verbose in (False, True))
    assert "speed" not in short
    assert "metrics without a limit: 1, shown by --verbose" in short
    assert re.findall(r"^(drift|gap|speed) .*", long, re.MULTILINE) == ["drift", "gap", "speed"]
    assert "--verbose" not in long


def test_other_ends_are_told_with_their_advice_and_many_parts_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    part = {"status": "success", "advice": "", "feasible": True, "wall_time": {"simulate": 0.0}}
    parts = {f"closed-loop-{k}": part for k in range(9)} | {"closed-loop-9": part | {"status": "slipped"}}
    metrics = {"gap": entry(None, 0.1, False)}
    made = result(
        tmp_path / "run", "off-the-hand", advice="enlarge hand.extent", feasible=False, parts=parts, metrics=metrics
    )
    text = " ".join(plain(shown(monkeypatch, made)).split())
    assert "off the hand: enlarge hand.extent" in text
    assert "no: a contact force pulled or left its friction cone" in text
    assert "10: 9 success, 1 slipped" in text
    assert "gap: not computed, limit <= 0.1" in text


def test_after_an_interrupt_the_next_command_makes_the_pictures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = dataclasses.replace(result(tmp_path / "run", "interrupted"), interrupted=True)
    monkeypatch.chdir(tmp_path)
    text = plain(shown(monkeypatch, made))
    assert re.search(r"next +trundle report run ", text)
    assert "trundle view" not in text
    tell(made, 6.5)
    assert capsys.readouterr().out.splitlines()[-1] == f"pictures: trundle report {tmp_path / 'run'}"


LEANING = """
schema = 1
kind = "planar"
task = "track"
bodies = [
    { name = "wheel", curve = { type = "circle", radius = 0.2 }, mass = 2.0, inertia = "solid" },
    { name = "arm", parent = "wheel", mass = 1.0, inertia = 0.02, center_of_mass = [0.0, 0.3] },
]
contact = { friction = 1e6, on_slip = "ignore", on_separation = "ignore" }
initial = { tolerance = 0.1, positions = { wheel = [0.0, 0.2, 0.0], arm = 0.1 } }
terrain = { curve = { type = "line" } }
controller = { period = 0.05, torque_limit = 1e9, tasks = [{ name = "arm", type = "angle", body = "arm", kd = 60.0 }] }
reference = { arm = { type = "ramp", rate = 1.0 } }
"""


@pytest.mark.parametrize("steps", ["step = 1e-3", "relative_tolerance = 1e-8"])
def test_a_scenario_whose_loop_diverges_says_so_and_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps: str
) -> None:
    """Three times the rate gain its period bears; a long step overflows between two calls of the controller."""
    (tmp_path / "leaning.toml").write_text(f"{LEANING}\nsimulation = {{ duration = 10.0, {steps} }}\n")
    made = run(tmp_path / "leaning.toml", tmp_path / "run", plots=False)
    assert (made.exit_code, made.summary["status"]) == (1, "diverged")
    reason = r"the loop diverges: (arm|wheel) moves at [\d.e+]+ m/s"
    assert re.match(f"{reason}: feedback lost what it controls.*check the signs of its gains", made.summary["advice"])
    assert made.trajectory is not None
    assert re.fullmatch(reason, made.trajectory.transitions[-1]["reason"])
    assert made.trajectory.time[-1] < 1.0
    assert np.abs(made.trajectory["joint_velocity"]).max() < 1e7
    text = " ".join(plain(shown(monkeypatch, made)).replace("│", "").split())
    assert re.search(f"ended diverged: {reason}", text)


def test_links_only_where_the_terminal_knows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = result(tmp_path / "a run")
    links = re.findall(r"\x1b\]8;[^;]*;(file://[^\x1b]+)\x1b\\", shown(monkeypatch, made))
    places = ("plots", "viewer.html", "")
    assert list(dict.fromkeys(links)) == [(tmp_path / "a run" / place).as_uri() for place in places]  # lines may break
    assert "\x1b]8" not in shown(monkeypatch, made, TERM="linux")
    assert "\x1b" not in shown(monkeypatch, made, TERM="dumb")
    assert f"trundle view '{tmp_path / 'a run'}'" in plain(shown(monkeypatch, made, COLUMNS="200"))


def test_programs_get_plain_columns_of_all_metrics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tell(result(tmp_path, "limit-violated", feasible=False), 6.5)
    assert capsys.readouterr().out.splitlines() == [
        "metric  value    limit     unit",
        "drift   1.5e-09  <= 1e-08  m     holds",
        "gap     0.25     <= 0.1    m     violated",
        "speed   2                  m",
        "ball: limit-violated, not feasible",
        "outside its limit: gap",
        f"files: {tmp_path}",
    ]


@pytest.mark.slow
def test_a_run_in_a_real_terminal_has_one_bar_that_ends_full(tmp_path: Path) -> None:
    terminal, child = pty.openpty()
    code = "from trundle.cli import main; main(['run', 'plate-spinning', '--no-plots', '--out', 'run'])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environment, stdout=child, stderr=child)
    os.close(child)
    raw = b""
    with suppress(OSError):  # at the end of the other side
        while more := os.read(terminal, 65536):
            raw += more
    assert done.wait() == 0
    lines = plain(re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", raw.decode().split("\x1b[2K")[-1])).splitlines()
    assert re.match(r"done +━+ 100% \d:\d\d elapsed$", lines[0].strip())
    assert any("trundle view run" in line for line in lines)
    assert sum("100%" in line for line in lines) == 1

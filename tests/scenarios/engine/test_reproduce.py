"""Reproductions: every figure beside the published one, and an exit code that tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trundle.cli import main
from trundle.errors import SimulationError
from trundle.report import Metric
from trundle.scenarios import catalogue, load_scenario
from trundle.scenarios.engine import reproduce as reproduction
from trundle.status import Status

LONG = "radius_error_percent_two_minutes"
FIGURES = {
    "plate-spinning": {"radius_error_percent": 1e-9, "centre_drift": 1e-9, "normal_force_error": 1e-10, LONG: 1e-9},
    "ellipse-flip-up": {"closed_loop_successes": 11.0, "open_loop_successes": 0.0},
}
OF = {"closed_loop_successes": 12}


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give made-up figures instead of runs; returns the names that were run."""
    from trundle.scenarios.engine.acceptance import hold, judge

    ran: list[str] = []

    class Result:
        def __init__(self, name: str) -> None:
            values = {key: Metric(value, "1", of=OF.get(key)) for key, value in FIGURES.get(name, {}).items()}
            entries = judge(load_scenario(name).tables.acceptance, values)
            held = hold(entries)
            self.summary: dict[str, Any] = {"metrics": entries, "status": "success" if held else "limit-violated"}
            self.exit_code = 0 if held else 1
            self.meanings = dict.fromkeys(entries, "what it is")

    def run(name: str, folder: Path, **_: Any) -> Result:
        ran.append(name)
        if name == "plate-tilted":
            raise SimulationError("it fell", Status.FAILED)
        return Result(name)

    monkeypatch.setattr(reproduction, "run", run)
    return ran


def trundle(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["reproduce", *map(str, arguments)])
    return int(left.value.code or 0), *capsys.readouterr()


def test_figures_stand_beside_the_published_ones(
    tmp_path: Path, fast: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = trundle(capsys, "plate-spinning", "--out", tmp_path)
    assert code == 0
    head, *_ = out.splitlines()
    assert head.split() == list(reproduction.COLUMNS)
    row = next(line for line in out.splitlines() if LONG in line)
    assert "5e-06" in row
    assert "paper 2, V-C1" in row
    assert "holds" in row
    assert "[1/1] plate-spinning" in err
    figures = json.loads((tmp_path / "figures.json").read_text())["figures"]
    found = {f["figure"]: (f["published"], f["ours"], f["holds"]) for f in figures}
    assert found[LONG] == (5e-6, 1e-9, True)
    assert f"| plate-spinning | {LONG} | 5e-06 |" in (tmp_path / "figures.md").read_text()


def test_a_violated_limit_is_exit_code_1_and_a_figure_without_limit_is_shown(
    tmp_path: Path, fast: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = trundle(capsys, "ellipse-flip-up", "plate-spinning", "--out", tmp_path)
    assert code == 1
    lines = {line.split()[1]: line for line in out.splitlines() if line.startswith("ellipse-flip-up ")}
    assert "violated" in lines["closed_loop_successes"]
    assert lines["open_loop_successes"].split()[2:3] == ["0"]
    assert fast == ["ellipse-flip-up", "plate-spinning"]


def test_a_scenario_that_fails_does_not_end_the_others(
    tmp_path: Path, fast: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = trundle(capsys, "plate-tilted", "plate-spinning", "--out", tmp_path)
    assert code == 1
    assert "not computed" in out
    assert "plate-tilted: failed: it fell" in out
    assert "plate-spinning: success" in out


def test_without_names_all_named_scenarios_run(tmp_path: Path, fast: list[str]) -> None:
    assert reproduction.reproduce((), tmp_path).exit_code == 1
    assert fast == catalogue.names()


def test_bad_input_runs_nothing(tmp_path: Path, fast: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = trundle(capsys, "plate-spining", "--out", tmp_path)
    assert code == 2
    assert "did you mean 'plate-spinning'?" in err
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = trundle(capsys, "plate-spinning", "--out", tmp_path)
    assert code == 2
    assert "--out" in err
    assert fast == []


def test_a_real_scenario_is_reproduced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = trundle(capsys, "plate-spinning", "--no-plots", "--out", tmp_path)
    assert code == 0
    assert "violated" not in out
    assert (tmp_path / "plate-spinning" / "trajectory.nc").is_file()

"""The verb `run`: the folder it writes, its statuses and exit codes, whatever the simulation does."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic import ball_on_plate
from tests.scenarios.files import JUGGLING, changed, own_robot, written
from trundle.errors import InputError, SimulationError
from trundle.records import Trajectory, load_trajectory
from trundle.scenarios import load_scenario, run
from trundle.scenarios.engine import building
from trundle.scenarios.engine.folder import write_scenario
from trundle.status import Status

Simulate = Callable[..., Trajectory]


def simulated(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
    """Let the simulations of a run give `answers`, one after the other; an exception is raised."""
    waiting = list(answers)

    def answer(self: object, **_: Any) -> Trajectory:
        value = waiting.pop(0)
        if isinstance(value, BaseException):
            raise value
        return value

    monkeypatch.setattr(building.Simulation, "run", answer)


@pytest.fixture(scope="module")
def ball() -> Trajectory:
    return ball_on_plate(duration=4.0)


def test_folder_and_summary_are_those_of_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory
) -> None:
    simulated(monkeypatch, ball, ball)
    result = run("plate-spinning", tmp_path / "out", seed=5, plots=False)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"scenario.toml", "summary.json", "trajectory.nc", "log.txt"} <= names
    assert not any(name.endswith(".part") for name in names)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary == result.summary
    assert list(summary) == [
        "scenario",
        "kind",
        "status",
        "advice",
        "version",
        "seed",
        "wall_time",
        "feasible",
        "metrics",
        "parts",
    ]
    assert (summary["scenario"], summary["kind"], summary["seed"]) == ("plate-spinning", "juggling", 5)
    assert set(summary["wall_time"]) == {"build", "solve", "simulate", "report"}
    assert set(summary["metrics"]["centre_drift"]) == set("value unit sense limit holds published source".split())
    saved = load_trajectory(tmp_path / "out" / "trajectory.nc")
    assert (saved.metadata["scenario"], saved.metadata["seed"]) == ("plate-spinning", 5)
    assert load_scenario(tmp_path / "out" / "scenario.toml").seed == 5


def test_limits_decide_the_status_of_a_named_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory
) -> None:
    simulated(monkeypatch, ball_on_plate(duration=4.0, tilt=1e-3), ball)
    result = run("plate-spinning", tmp_path, plots=False)
    assert (result.status, result.exit_code) == (Status.LIMIT_VIOLATED, 1)
    assert result.summary["advice"] == Status.LIMIT_VIOLATED.advice


def test_a_users_scenario_has_no_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory) -> None:
    simulated(monkeypatch, ball)
    result = run(written(tmp_path, JUGGLING), tmp_path / "out", plots=False)
    assert (result.status, result.exit_code) == (Status.SUCCESS, 0)
    assert all(entry["limit"] is None for entry in result.summary["metrics"].values())
    assert result.summary["scenario"] == "my"


@pytest.mark.parametrize(
    ("status", "code"), [(Status.SUCCESS, 0), (Status.REST, 0), (Status.SEPARATED, 1), (Status.INTERRUPTED, 130)]
)
def test_status_gives_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory, status: Status, code: int
) -> None:
    simulated(monkeypatch, dataclasses.replace(ball, status=status))
    result = run(written(tmp_path, JUGGLING), tmp_path / "out", plots=False)
    assert (result.summary["status"], result.exit_code) == (status.label, code)
    assert (tmp_path / "out" / "trajectory.nc").exists()


def test_interrupt_before_the_first_sample_leaves_a_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated(monkeypatch, KeyboardInterrupt())
    result = run(written(tmp_path, JUGGLING), tmp_path / "out")
    assert (result.exit_code, result.trajectory) == (130, None)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["status"] == "interrupted"


def test_an_interrupted_run_is_saved_without_pictures_which_report_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory
) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr("trundle.scenarios.engine.pictures.write_report", lambda folder, *_, **__: drawn.append(folder))
    simulated(monkeypatch, dataclasses.replace(ball, status=Status.INTERRUPTED))
    told: list[str] = []
    result = run(written(tmp_path, JUGGLING), tmp_path / "out", progress=lambda what, share: told.append(what))
    assert result.exit_code == 130
    assert load_trajectory(tmp_path / "out" / "trajectory.nc").status is Status.INTERRUPTED
    assert drawn == []
    assert "plots and page" not in told


def test_failed_simulation_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated(monkeypatch, SimulationError("the step shrank at t = 1 s", Status.STEP_TOO_SMALL))
    result = run(written(tmp_path, JUGGLING), tmp_path / "out")
    assert (result.status, result.exit_code) == (Status.STEP_TOO_SMALL, 1)
    assert result.summary["advice"].startswith("the step shrank at t = 1 s: ")
    assert "the step shrank" in (tmp_path / "out" / "log.txt").read_text()


def test_parts_have_their_own_status_and_do_not_change_the_main_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory
) -> None:
    path = written(
        tmp_path,
        changed(JUGGLING, parts={"slow": {"hand": {"velocity": [0.1, 0, 0]}}, "b": {"contact": {"friction": 0.9}}}),
    )
    simulated(monkeypatch, ball, dataclasses.replace(ball, status=Status.SLIPPED, feasible=False), ball)
    result = run(path, tmp_path / "out", plots=False)
    assert result.exit_code == 0
    assert result.summary["parts"]["slow"]["status"] == "slipped"
    assert result.summary["parts"]["slow"]["feasible"] is False
    assert result.summary["parts"]["b"]["status"] == "success"
    assert load_trajectory(tmp_path / "out" / "trajectory-slow.nc").status is Status.SLIPPED


def test_interrupted_part_keeps_the_main_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory) -> None:
    simulated(monkeypatch, ball, KeyboardInterrupt())
    result = run(
        written(
            tmp_path,
            changed(JUGGLING, parts={"a": {"contact": {"friction": 0.9}}, "b": {"contact": {"friction": 0.9}}}),
        ),
        tmp_path / "out",
        plots=False,
    )
    assert result.exit_code == 130
    assert result.summary["status"] == "success"
    assert result.summary["parts"]["a"]["status"] == "interrupted"
    assert (tmp_path / "out" / "trajectory.nc").exists()


def test_second_run_replaces_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory) -> None:
    simulated(monkeypatch, ball, ball, ball)
    run(
        written(tmp_path, changed(JUGGLING, parts={"a": {"contact": {"friction": 0.9}}})), tmp_path / "out", plots=False
    )
    assert (tmp_path / "out" / "trajectory-a.nc").exists()
    run(written(tmp_path, JUGGLING), tmp_path / "out", plots=False)
    assert not (tmp_path / "out" / "trajectory-a.nc").exists()


def test_folders_that_hold_something_else_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="a new or empty folder, or that of an earlier run"):
        run("plate-spinning", tmp_path)
    with pytest.raises(InputError, match="a folder that can be written to"):
        run("plate-spinning", tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "mine"


def test_data_files_come_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory) -> None:
    home = tmp_path / "home"
    (home / "a").mkdir(parents=True)
    lines = "".join(f"{t},0,0,0,0,0,0\n" for t in range(3))
    (home / "a" / "m.csv").write_text(lines)
    (home / "m.csv").write_text("t,wx,wy,wz,vx,vy,vz\n" + lines)
    motion = {"type": "samples", "file": "a/m.csv"}
    parts = {"b": {"hand": {"motion": {"type": "samples", "file": "m.csv"}}}}
    path = written(home, changed(JUGGLING, hand__motion=motion, parts=parts))
    simulated(monkeypatch, ball, ball, ball, ball)
    run(path, tmp_path / "out", plots=False)
    (home / "a" / "m.csv").unlink()
    again = load_scenario(tmp_path / "out" / "scenario.toml")
    assert again.resolve()["hand"]["motion"]["file"] == "data/m.csv"
    assert {p.read_text() for p in again.data_files().values()} == {lines, "t,wx,wy,wz,vx,vy,vz\n" + lines}
    run(again, tmp_path / "out", plots=False)
    assert load_scenario(tmp_path / "out" / "scenario.toml").resolve() == again.resolve()


def test_a_robot_of_ones_own_comes_along_with_its_description(tmp_path: Path) -> None:
    home, first, second = (tmp_path / name for name in ("home", "first", "second"))
    (home / "urdf").mkdir(parents=True)
    (home / "urdf" / "mine.urdf").write_text("<robot/>")
    path = own_robot(home, 'urdf = "romeo_small"', 'urdf = "urdf/mine.urdf"')
    first.mkdir()
    write_scenario(first, load_scenario(path))
    robot = (home / "mine.toml").read_text()
    shutil.rmtree(home)
    again = load_scenario(first / "scenario.toml")
    assert getattr(again.tables, "robot").name == "data/mine.toml"  # noqa: B009
    assert (first / "data" / "mine.toml").read_text() == robot
    assert (first / "data" / "urdf" / "mine.urdf").read_text() == "<robot/>"
    assert set(again.data_contents()) == {"data/mine.toml", "data/mine.toml: urdf/mine.urdf"}
    second.mkdir()
    write_scenario(second, again)
    assert load_scenario(second / "scenario.toml").resolve() == again.resolve()


def test_default_folder_names_scenario_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ball: Trajectory
) -> None:
    monkeypatch.chdir(tmp_path)
    simulated(monkeypatch, ball, ball, ball, ball)
    first, second = (run("plate-spinning", plots=False).directory for _ in range(2))
    assert first != second
    assert first.parent == Path("runs")
    assert first.name.startswith("plate-spinning-")

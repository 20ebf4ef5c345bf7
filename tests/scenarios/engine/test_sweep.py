"""Sweeps: their points, their table, that they go on where they were, and that no run can end them."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.files import JUGGLING, changed, written
from trundle.cli import main
from trundle.errors import InputError, MissingExtraError
from trundle.extras import command
from trundle.scenarios import load_scenario
from trundle.scenarios.engine import run as runs
from trundle.scenarios.engine import sweep as sweeps
from trundle.scenarios.engine import sweep_points
from trundle.scenarios.engine.sweep_points import Axis, axes_of, points_of, toml_text

SHORT = changed(JUGGLING, simulation__duration=0.02)
EMPTY: dict[str, Any] = {"status": "success", "feasible": True, "advice": "", "seed": 3, "parts": {}, "metrics": {}}


@pytest.fixture
def table() -> Any:
    """Read the columns of a sweep's table."""
    pytest.importorskip("joblib")
    parquet = pytest.importorskip("pyarrow.parquet")
    return lambda folder: parquet.read_table(folder / sweeps.TABLE).to_pydict()


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Measure the mass instead of a motion; returns what was measured."""
    masses: list[float] = []

    def measure(scenario: Any) -> dict[str, Any]:
        mass = scenario.tables.object.mass
        masses.append(mass)
        if mass == 0.5:
            raise RuntimeError("half")
        metric = {"value": 2 * mass, "unit": "kg"}
        return EMPTY | {"seed": scenario.seed, "metrics": {"twice": metric}}

    monkeypatch.setattr(runs, "measure", measure)
    return masses


def trundle(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=0:1:3", (0.0, 0.5, 1.0)),
        ("seed=0:9:10", tuple(range(10))),
        ("a=1:2:3", (1.0, 1.5, 2.0)),
        ("a=2.0:2.0:1", (2.0,)),
        ("a=1,2.5", (1, 2.5)),
        ('a="x:y:z","u"', ("x:y:z", "u")),
        ("a=[0, 1],[2, 3]", ([0, 1], [2, 3])),
        ('a={ type = "sphere", radius = 0.1 }', ({"type": "sphere", "radius": 0.1},)),
    ],
)
def test_an_axis_has_the_values_written(text: str, values: tuple[Any, ...]) -> None:
    axis = Axis.parse(text)
    assert axis.values == values
    assert [type(v) for v in axis.values] == [type(v) for v in values]


@pytest.mark.parametrize(
    "text", ["a", "=1", "a=", "a=1:2", "a=1:2:0", "a=1:2:1", "a=1:nan:3", "a=1:2:x", "a=word", "a=1,inf", "a..b=1"]
)
def test_what_is_no_axis_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--over"):
        Axis.parse(text)


def test_values_come_back_from_their_text() -> None:
    import tomllib

    for value in (True, -1, 1e-9, 'a "b" \\ é', [0.5, [1, 2]], {"type": "x", "k l": [1.0]}):
        assert tomllib.loads(f"v = {toml_text(value)}") == {"v": value}


def test_the_grid_is_every_combination_and_draws_are_seeded() -> None:
    axes = axes_of(["a=1,2", "b=0.0:1.0:3"])
    grid = points_of(axes, None, 7)
    assert [tuple(v for _, v in p.values) for p in grid] == [(a, b) for a in (1, 2) for b in (0.0, 0.5, 1.0)]
    assert {p.seed for p in grid} == {7}
    first, again, other = (points_of(axes, 40, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert all(p.values[0][1] in (1, 2) and 0.0 <= p.values[1][1] <= 1.0 for p in first)
    assert len({p.seed for p in first}) == 40
    assert {p.seed for p in points_of(axes_of(["seed=0:3:4"]), None, 7)} == {None}


def test_too_many_runs_and_keys_given_twice_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_points, "MOST_RUNS", 5)
    with pytest.raises(InputError, match="at most 5"):
        points_of(axes_of(["a=0:1:3", "b=0:1:2"]), None, 0)
    with pytest.raises(InputError, match="no other --over"):
        axes_of(["a=1", "a=2"])


def test_failures_are_rows(tmp_path: Path, table: Any, fast: list[float]) -> None:
    file = written(tmp_path, SHORT)
    done = sweeps.sweep(file, ["object.mass=0.25,-1.0,0.5,1.0"], tmp_path / "out", jobs=1, seed=3)
    read = table(tmp_path / "out")
    assert read["run"] == [0, 1, 2, 3]
    assert read["object.mass"] == [0.25, -1.0, 0.5, 1.0]
    assert read["status"] == ["success", "bad-input", "failed", "success"]
    assert read["metric.twice"] == [0.5, None, None, 2.0]
    assert read["seed"] == [3, 3, 3, 3]
    assert "object.mass = -1.0" in read["message"][1]
    assert read["message"][2] == "RuntimeError: half"
    assert (done.failed, done.complete, done.resumed) == (2, True, 0)


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path, table: Any, fast: list[float]) -> None:
    file, out = written(tmp_path, SHORT), tmp_path / "out"
    arguments = ("sweep", file, "--over", "object.mass=1:6:6", "--out", out, "--jobs", 1, "--quiet")

    def stop(done: int, count: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    left = sweeps.sweep(file, ["object.mass=1:6:6"], out, jobs=1, progress=stop)
    assert not left.complete
    assert table(out)["object.mass"] == [1, 2, 3]
    with (out / sweeps.ROWS).open("a") as journal:
        journal.write('{"run": 4, "obj')  # a kill in the middle of a line
    assert trundle(*arguments) == 0
    assert table(out)["metric.twice"] == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    assert fast[3:] == [4, 5, 6] or fast[4:] == [4, 5, 6]  # the one on its way when it was stopped may come twice
    assert trundle(*arguments) == 0
    assert len(fast) <= 7
    assert [json.loads(line)["run"] for line in (out / sweeps.ROWS).read_text().splitlines()] == list(range(6))


def test_another_sweep_does_not_go_into_the_folder(
    tmp_path: Path, table: Any, fast: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = written(tmp_path, SHORT), tmp_path / "out"
    arguments = ("sweep", file, "--out", out, "--jobs", 1, "--over")
    assert trundle(*arguments, "object.mass=1,2") == 0
    assert trundle(*arguments, "object.mass=1,3") == 2
    assert "that one differs in: over" in capsys.readouterr().err
    written(tmp_path, changed(SHORT, contact__friction=0.5))
    assert trundle(*arguments, "object.mass=1,2") == 2
    assert "that one differs in: digest" in capsys.readouterr().err
    assert trundle("sweep", file, "--over", "object.mass=1", "--out", tmp_path) == 2
    assert trundle(*arguments[:3], tmp_path / "new", "--over", "object.mas=1,2") == 2
    assert "unknown key; did you mean 'mass'?" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_two_sweeps_do_not_share_a_folder(tmp_path: Path, table: Any, fast: list[float]) -> None:
    file, out = written(tmp_path, SHORT), tmp_path / "out"

    def again(done: int, count: int) -> None:
        with pytest.raises(InputError, match="no other sweep"):
            sweeps.sweep(file, ["object.mass=1,2"], out, jobs=1)

    sweeps.sweep(file, ["object.mass=1,2"], out, jobs=1, progress=again)
    assert table(out)["run"] == [0, 1]


def test_values_without_a_common_type_become_texts(tmp_path: Path, table: Any, fast: list[float]) -> None:
    sweeps.sweep(written(tmp_path, SHORT), ['object.inertia="solid",[1,1,1]'], tmp_path / "out", jobs=1)
    assert table(tmp_path / "out")["object.inertia"] == ['"solid"', "[1, 1, 1]"]


def test_a_missing_extra_is_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=re.escape(f"pyarrow is not installed: {command('scale')}")):
        sweeps.sweep("plate-spinning", ["object.mass=1"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


class Deadly(sweeps.SweepTask):
    """Runs of which one ends its whole process, as a crash in C does."""

    def run(self, point: Any) -> dict[str, Any]:
        if point.number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return sweeps.row_of(point, "success", "")


def test_a_process_that_dies_costs_only_its_own_run() -> None:
    pytest.importorskip("joblib")
    points = points_of(axes_of(["a=0:2:3"]), None, 0)
    rows = {row["run"]: row["status"] for row in sweeps._compute_rows(Deadly("x"), points, 2, None)}
    assert rows == {0: "success", 1: "failed", 2: "success"}


def test_real_runs_in_two_processes_fill_the_table(tmp_path: Path, table: Any) -> None:
    arguments = ["--over", "object.mass=0.1:0.2:2", "--set", "simulation.duration=0.5", "--jobs", 2]
    assert trundle("sweep", "plate-spinning", *arguments, "--out", tmp_path, "--quiet") == 0
    read = table(tmp_path)
    assert read["status"] == ["success", "success"]
    assert max(read["metric.radius_error_percent"]) < 1e-7
    # The normal force is m g.
    assert read["metric.normal_force_min"] == pytest.approx([0.981, 1.962])


def test_chosen_columns_of_the_trajectories_are_kept(
    tmp_path: Path, table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    import pandas as pd

    out, file = tmp_path / "out", written(tmp_path, SHORT)
    arguments = ["sweep", file, "--over", "object.mass=0.25,-1.0,0.5", "--keep", "object_position, contact_force.z"]
    arguments += ["--jobs", 1, "--out", out]
    assert trundle(*arguments) == 0
    assert f"trajectories: {out / sweeps.KEPT}" in capsys.readouterr().out
    assert table(out)["status"] == ["success", "bad-input", "success"]
    kept = pd.read_parquet(out / sweeps.KEPT)
    assert list(kept) == ["run", "time", *(f"object_position.{axis}" for axis in "xyz"), "contact_force.z"]
    assert kept["run"].unique().tolist() == [0, 2]  # a run that is refused has no motion
    for number, mass in ((0, 0.25), (2, 0.5)):
        alone = runs.compute_scenario(load_scenario(file, [f"object.mass={mass}"])).trajectory
        assert alone is not None
        own = kept[kept["run"] == number].drop(columns="run").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, alone.to_dataframe(list(own)), check_exact=True)
    before = {path: path.read_bytes() for path in (out / sweeps.KEPT).iterdir()}
    lines = (out / sweeps.ROWS).read_text().splitlines()
    (out / sweeps.ROWS).write_text("\n".join(lines[:-1]) + "\n")  # as if it had been killed before the last row
    (out / sweeps.KEPT / f".{sweeps.kept_name(points_of(axes_of(['a=1']), None, 0)[0])[13:]}.0123456789ab.part").touch()
    assert trundle(*arguments) == 0
    assert {path: path.read_bytes() for path in (out / sweeps.KEPT).iterdir()} == before
    assert trundle(*arguments[:4], *arguments[6:]) == 2
    assert "that one differs in: keep" in capsys.readouterr().err


def test_a_column_to_keep_that_runs_do_not_have_ends_the_sweep_by_its_name(
    tmp_path: Path, table: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("sweep", written(tmp_path, SHORT), "--over", "object.mass=0.25,0.5", "--jobs", 1, "--keep")
    assert trundle(*arguments, "gap,objet_position", "--out", tmp_path / "out") == 2
    assert "--keep = 'objet_position': must be among time, object_position, " in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.parquet"))


def test_as_many_files_as_a_folder_holds_are_kept(tmp_path: Path, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "MOST_KEPT", 2)
    with pytest.raises(InputError, match=r"--keep = \['gap'\]: must be left out in sweeps of more than 2 runs"):
        sweeps.sweep(written(tmp_path, SHORT), ["object.mass=1,2,3"], tmp_path / "out", keep=["gap"])
    assert not (tmp_path / "out").exists()

from __future__ import annotations

import dataclasses
import sys

import pytest

from tests.report.synthetic import ball_on_plate, disk_down_slope
from trundle.errors import InputError
from trundle.extras import command
from trundle.report import RunSet, figures, trajectories, write_figures
from trundle.scenarios.engine import pictures
from trundle.scenarios.engine.pictures import write_report


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_a_folder_with_a_trajectory_is_enough_for_every_picture(tmp_path):
    disk_down_slope(duration=1.0).save(tmp_path / "trajectory.nc")
    disk_down_slope(duration=0.5).save(tmp_path / "trajectory-no-cone.nc")
    said = []
    written = write_report(tmp_path, notify=said.append)
    names = {str(path.relative_to(tmp_path)) for path in written}
    known = figures(disk_down_slope(duration=0.3))
    assert names == {f"plots/{n}.png" for n in known} | {f"plots/no-cone-{n}.png" for n in known} | {"viewer.html"}
    assert all(path.is_file() for path in written)
    assert all(is_png(path) for path in written if path.suffix == ".png")
    assert said == []
    assert set(trajectories(tmp_path)) == {"", "no-cone"}


def test_without_viser_the_plots_are_made_and_one_line_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    ball_on_plate(duration=0.3).save(tmp_path / "trajectory.nc")
    said = []
    written = write_report(tmp_path, notify=said.append)
    assert {path.stem for path in written} == {*figures(ball_on_plate(duration=0.3)), "view"}
    assert said == [f"viewer.html: viser is not installed: {command('viewer')}"]
    assert not (tmp_path / "viewer.html").exists()


def test_either_kind_of_picture_can_be_left_out(tmp_path):
    ball_on_plate(duration=0.3).save(tmp_path / "trajectory.nc")
    assert write_report(tmp_path, plots=False, viewer=False) == []
    assert [p.name for p in write_report(tmp_path, plots=False)] == ["viewer.html"]
    assert not (tmp_path / "plots").exists()


def test_plots_can_be_vectors(tmp_path):
    disk_down_slope(duration=0.3).save(tmp_path / "trajectory.nc")
    written = write_report(tmp_path, viewer=False, plot_format="svg")
    assert {path.suffix for path in written} == {".svg"}
    assert all(b"<svg" in path.read_bytes() for path in written)


def test_a_picture_that_lacks_its_data_is_named_and_the_others_are_made(tmp_path):
    run = dataclasses.replace(disk_down_slope(duration=0.3), metadata={})
    said = []
    written = write_figures(pictures.figures(RunSet(run)), tmp_path, said.append)
    assert {path.stem for path in written} == set(figures(run)) - {"energy"}
    assert "energy.png: metadata.physics.mass" in said[0]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"trajectory\.nc"):
        write_report(tmp_path)

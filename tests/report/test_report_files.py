from __future__ import annotations

import dataclasses
import re
import sys

import pytest
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text

import trundle as tr
from tests.report.synthetic import ball_on_plate, disk_down_slope
from trundle.errors import InputError
from trundle.extras import command
from trundle.report import RunSet, figures, files, trajectories, write_figures
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


DRAWN = pictures.figures(RunSet(ball_on_plate(duration=0.5)))
PAPER = {"force": DRAWN["force"]}


def test_figures_for_print_are_a_column_wide_in_8_pt_with_embedded_fonts(tmp_path):
    for path in write_figures(PAPER, tmp_path, print, "pdf", "paper"):
        content = path.read_bytes()
        (box,) = re.findall(rb"/MediaBox \[ ?([-\d. ]+) ?\]", content)
        left, _, right, _ = map(float, box.split())
        assert right - left == pytest.approx(3.5 * 72, abs=0.1)
        assert b"/FontFile2" in content  # TrueType, embedded
        assert b"/Type3" not in content
    for path in write_figures(PAPER, tmp_path, print, "png", "paper"):
        size = path.read_bytes()[16:20]
        assert int.from_bytes(size, "big") == 3.5 * 600


def test_what_a_figure_for_print_holds():
    canvas = Canvas(figsize=PAPER["force"].size, dpi=600)
    ax = canvas.add_subplot()
    PAPER["force"].draw(ax)
    names = {text.get_text() for text in ax.get_legend().get_texts()}
    assert ax.get_title("left")
    box = files._crop_figure(canvas)
    assert not any(ax.get_title(side) for side in ("left", "center", "right"))  # its caption says it
    assert {text.get_text() for text in ax.get_legend().get_texts()} == names
    shown = [text for text in canvas.findobj(Text) if text.get_text() and text.get_visible()]
    assert {text.get_fontsize() for text in shown if text not in ax.texts} == {8.0}
    assert all(text.get_fontsize() >= 7.0 for text in shown)
    assert all(0.5 <= line.get_linewidth() < 3.0 for line in ax.lines)
    assert box.width == pytest.approx(3.5)
    inside = canvas.get_tightbbox()
    assert 0.0 <= inside.x0 < 0.03
    assert 3.45 < inside.x1 <= 3.5


def test_a_style_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="plot_style = 'print': must be one of 'screen', 'paper'"):
        write_figures({}, tmp_path, print, "png", "print")
    with pytest.raises(InputError, match=r"plot_format = .*must be one of 'png', 'svg', 'pdf'"):
        tr.run("plate-spinning", tmp_path / "run", plot_format="tiff")
    assert not (tmp_path / "run").exists()

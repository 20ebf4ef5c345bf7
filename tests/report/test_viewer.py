from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from dataclasses import replace

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate, rock_on_terrain
from trundle.errors import MissingExtraError
from trundle.extras import command
from trundle.numerics.rotations import rotation_matrices
from trundle.report import viewer
from trundle.report.scene import build_stage
from trundle.report.staging import continuous, turned_from_z
from trundle.report.viewer.motion import curves, extremes
from trundle.scenarios.engine import pictures


def told(page: str) -> dict:
    """What the page's script reads, the columns among it (k, n) unpacked as it does."""
    (text,) = re.findall(r'<script type="application/json" id="told">(.*?)</script>', page)
    found = json.loads(text)
    data = np.frombuffer(zlib.decompress(base64.b64decode(found["data"])), dtype=np.uint8).reshape(2, -1)
    steps, at, columns = data[0] + 256 * data[1].astype(np.uint16), 0, []
    for head in found["heads"]:
        count = head["rows"] * len(head["low"])
        levels = np.cumsum(steps[at : at + count].reshape(len(head["low"]), -1), axis=1, dtype=np.uint16)
        columns.append(np.array(head["low"]) + np.array(head["step"]) * levels.T)
        at += count
    assert at == len(steps)
    return {**found, "columns": columns}


def tracks(page: dict, part: int = 0) -> dict:
    """The columns of a part by what they move, a row of the legend for its node's number."""
    one = page["parts"][part]
    rows = {row["node"]: label for label, row in ((row["label"], row) for row in one["rows"])}
    names = [
        ("/".join([rows[node[: node.index("/", 10)]], *node.split("/")[3:]]), what) for node, what in one["tracks"]
    ]
    return dict(zip(names, page["columns"][one["first"] :], strict=False))


@pytest.mark.parametrize("make", [lambda: ball_on_plate(duration=1.0), lambda: rock_on_terrain(n=60)])
def test_the_page_is_one_small_file_that_holds_the_motion(make, tmp_path, capfd):
    run = make()
    stage = build_stage(run)
    path = viewer.write_viewer(stage, tmp_path / "viewer.html")
    out, _ = capfd.readouterr()
    assert out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["viewer.html"]
    assert path.stat().st_size < 3e6
    page = told(path.read_text(encoding="utf-8"))
    (part,) = page["parts"]
    assert part["step"] * (part["frames"] - 1) == pytest.approx(run.time[-1])
    assert {"friction cone", "contact force", "centre of mass"} < {row["label"] for row in part["rows"]}
    body = stage.actors[0]
    moved = tracks(page)
    sign = np.sign(np.sum(moved[f"{body.label}/{body.name}", "wxyz"] * body.quaternions, axis=1))
    assert moved[f"{body.label}/{body.name}", "position"] == pytest.approx(body.positions, abs=2e-5)
    assert moved[f"{body.label}/{body.name}", "wxyz"] * sign[:, None] == pytest.approx(body.quaternions, abs=4e-5)
    lengths = stage.force_scale * np.linalg.norm(stage.forces, axis=1)
    if np.ptp(lengths) > 1e-6 * lengths.max():
        assert moved["contact force/force_0/arrow", "scale"][:, 2] == pytest.approx(lengths, rel=1e-4)


def test_turning_is_told_without_jumps_to_the_same_rotations_other_quaternion():
    angle = np.linspace(0, 20, 50)
    q = np.column_stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)])
    q *= np.sign(q[:, :1])
    assert np.max(np.abs(np.diff(continuous(q), axis=0))) < 0.21
    assert np.abs(continuous(q)) == pytest.approx(np.abs(q))


def test_the_camera_fits_the_whole_motion_and_the_forces():
    stage = build_stage(ball_on_plate(duration=1.0))
    points = extremes(stage)
    ball = stage.actors[0]
    vertices = np.concatenate([part.vertices for part in ball.parts])
    corners = np.stack(np.meshgrid(*np.array([vertices.min(axis=0), vertices.max(axis=0)]).T), axis=-1).reshape(-1, 3)
    turned = np.einsum("kij,mj->kmi", rotation_matrices(ball.quaternions), corners) + ball.positions[:, None]
    tips = stage.contact + stage.force_scale * stage.forces
    seen = np.concatenate([turned.reshape(-1, 3), tips])
    for way in np.eye(3):
        size = np.ptp(points @ way)
        assert np.max(seen @ way) <= np.max(points @ way) + 0.03 * size
        assert np.min(seen @ way) >= np.min(points @ way) - 0.03 * size
    assert len(points) <= 200
    hand = np.concatenate([part.vertices for part in stage.actors[1].parts])
    for way in np.eye(3):
        assert np.ptp(points @ way) > 0.97 * np.ptp(hand @ way), "the plate is seen as a whole"


def test_a_page_names_scenario_and_status_and_has_a_row_of_the_legend_for_all_of_a_label():
    stage = replace(build_stage(ball_on_plate(duration=0.2)), title="a <b> name", status="failed")
    page = viewer.render({"main": stage, "open-loop": stage})
    assert "<title>a &lt;b&gt; name - trundle</title>" in page
    assert "<title>Viser" not in page
    found = told(page)
    assert found["title"] == "a <b> name"
    assert [(part["name"], part["status"]) for part in found["parts"]] == [("main", "failed"), ("open-loop", "failed")]
    labels = [row["label"] for row in found["parts"][1]["rows"]]
    assert len(labels) == len(set(labels))
    kinds = {row["label"]: row["kind"] for row in found["parts"][1]["rows"]}
    assert kinds["contact force"] == kinds["friction cone"] == kinds["centre of mass"] == "front"
    assert tracks(found, 1).keys() == tracks(found, 0).keys()


def test_ghosts_and_what_appears_late_are_told_as_such():
    run = ball_on_plate(duration=0.5)
    stage = build_stage(run)
    count = len(stage.contact)
    there = np.arange(count) > 5
    ghost = replace(stage.actors[0], label="plan", ghost=True, shown=there)
    page = told(viewer.render(replace(stage, actors=(*stage.actors, ghost))))
    assert {row["label"]: row["kind"] for row in page["parts"][0]["rows"]}["plan"] == "ghost"
    assert tracks(page)["plan/object", "visible"][:, 0].tolist() == there.astype(float).tolist()


def test_the_strips_show_forces_and_the_way_of_the_centre_of_mass():
    run = rock_on_terrain(n=60)
    stage = build_stage(run)
    (forces, loads), (way, lines) = curves(stage)
    assert (forces, way) == ("forces (N)", "centre of mass, way from its start (m)")
    assert loads[0][2] == pytest.approx(np.linalg.norm(stage.forces, axis=1))
    assert {name for name, _, _ in lines} == {"x", "z"}
    assert all(values[0] == 0.0 for _, _, values in lines)


def test_without_viser_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=re.escape(command("viewer"))):
        viewer.write_viewer(build_stage(ball_on_plate(duration=0.2)), tmp_path / "viewer.html")
    assert not list(tmp_path.iterdir())


def test_a_run_opens_itself_in_the_browser(monkeypatch):
    opened = []
    monkeypatch.setattr(pictures.webbrowser, "open", opened.append)
    path = ball_on_plate(duration=0.2).view()
    assert opened == [path.as_uri()]
    assert path.is_file()
    path.unlink()
    path.parent.rmdir()


def test_arrows_turn_from_the_z_axis_to_where_they_point():
    directions = np.vstack([np.random.default_rng(0).normal(size=(20, 3)), [[0, 0, -2.0], [0, 0, 3.0], [0, 0, 0]]])
    q = turned_from_z(directions)
    tips = rotation_matrices(q)[:, :, 2]
    sizes = np.linalg.norm(directions[:-1], axis=1, keepdims=True)
    assert tips[:-1] == pytest.approx(directions[:-1] / sizes, abs=1e-12)
    assert tips[-1] == pytest.approx([0, 0, 1])


def test_an_arrow_stands_on_its_foot_and_is_one_metre_long():
    from trundle.report.meshes import arrow_mesh

    part = arrow_mesh(0.01, 0.03, 0.12)
    low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
    assert (low[2], high[2]) == (0.0, 1.0)
    assert high[:2] == pytest.approx([0.03, 0.03])
    a, b, c = (part.vertices[part.faces[:, i]] for i in range(3))
    volume = np.sum(a * np.cross(b, c)) / 6  # positive: all triangles face outwards
    assert volume == pytest.approx(np.pi * (0.01**2 * 0.88 + 0.03**2 * 0.12 / 3), rel=0.03)


@pytest.mark.parametrize("page", ["<html><body><p>x</p></body></html>", "<p>x</p>"])
def test_a_licence_is_shown_in_the_page(page: str) -> None:
    made = viewer.with_notice(page, "\nCopyright <us> -- all rights\n")
    assert "Copyright &lt;us&gt; -- all rights" in made
    assert "<summary>Licence of the meshes</summary>" in made
    assert made.index("<details") > made.index("<p>x</p>")
    assert made.endswith("</body></html>") == page.endswith("</body></html>")

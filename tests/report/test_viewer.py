from __future__ import annotations

import base64
import re
import sys

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate, rock_on_terrain
from trundle.errors import MissingExtraError
from trundle.report import viewer
from trundle.report.scene import build_stage
from trundle.report.staging import turned_from_z
from trundle.scenarios.engine import pictures


def recording(page: str) -> dict:
    """Decode the recording that the page plays."""
    msgspec = pytest.importorskip("msgspec")
    zstandard = pytest.importorskip("zstandard")
    data = base64.b64decode(re.search(r'__VISER_EMBED_DATA__="([^"]+)"', page).group(1))
    size = int.from_bytes(data[:8], "little")
    inner = zstandard.ZstdDecompressor().decompress(data[8:], max_output_size=size)
    length = int.from_bytes(inner[:8], "little")
    return msgspec.msgpack.decode(inner[8 : 8 + length])


@pytest.mark.parametrize("make", [lambda: ball_on_plate(duration=1.0), lambda: rock_on_terrain(n=60)])
def test_the_page_is_one_small_file_that_plays_the_motion(make, tmp_path, capfd):
    run = make()
    path = viewer.write_viewer(build_stage(run), tmp_path / "viewer.html")
    out, _ = capfd.readouterr()
    assert out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["viewer.html"]
    assert path.stat().st_size < 3e6
    content = recording(path.read_text(encoding="utf-8"))
    assert content["durationSeconds"] == pytest.approx(run.time[-1] + 1.0, abs=0.05)
    names = {message.get("name") for _, message in content["messages"]}
    moving = "object" if run.kind == "juggling" else "body"
    assert {f"/{moving}", f"/{moving}/part_0", f"/{moving}/part_1", "/force", "/cone", "/contact"} <= names
    moves = [t for t, m in content["messages"] if m.get("name") == f"/{moving}" and "position" in m and t > 0]
    assert len(set(moves)) >= 29


def test_no_photograph_is_carried_along_to_light_the_scene():
    content = recording(viewer.render(build_stage(ball_on_plate(duration=0.2))))
    maps = [m for _, m in content["messages"] if m["type"] == "EnvironmentMapMessage"]
    assert [m["hdri_data"] for m in maps] == [None]


def test_without_viser_one_line_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trundle\[viewer\]'"):
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
    from trundle.numerics.rotations import rotation_matrices

    directions = np.vstack([np.random.default_rng(0).normal(size=(20, 3)), [[0, 0, -2.0], [0, 0, 3.0], [0, 0, 0]]])
    q = turned_from_z(directions)
    tips = rotation_matrices(q)[:, :, 2]
    sizes = np.linalg.norm(directions[:-1], axis=1, keepdims=True)
    assert tips[:-1] == pytest.approx(directions[:-1] / sizes, abs=1e-12)
    assert tips[-1] == pytest.approx([0, 0, 1])


def test_what_is_scaled_is_not_what_is_moved():
    """A page that starts over leaves a node that is both scaled and moved where it ended."""
    messages = recording(viewer.render(build_stage(ball_on_plate(duration=0.3))))["messages"]
    later = [m for t, m in messages if t > 0]
    scaled = {m["name"] for m in later if m["type"] == "SceneNodeUpdateMessage"}
    moved = {m["name"] for m in later if m["type"] in ("SetPositionMessage", "SetOrientationMessage")}
    assert "/force" in moved
    assert scaled <= {"/force/arrow"}
    assert not scaled & moved


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

"""The page of a run in a browser: what it shows, and that its controls do what they say."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from tests.report.browser import chromium
from tests.report.synthetic import ball_on_plate
from trundle.numerics.rotations import rotation_of
from trundle.report import viewer
from trundle.report.scene import build_stage
from trundle.report.viewer.motion import focus

SIZES = {"desktop": (1280, 800), "phone": (390, 780)}
POSE = (
    "JSON.stringify(__viserMutable.nodePoseData[Object.keys(__viserMutable.nodePoseData).find(n => /object$/.test(n))])"
)
VISIBLE = "[...document.querySelectorAll('#legend label')].map(l => [l.textContent, l.firstChild.checked])"


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(pytest.importorskip("PIL.Image").open(io.BytesIO(png)).convert("RGB")).astype(int)


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    stage = replace(build_stage(ball_on_plate(duration=2.0)), title="ball-on-plate", status="success")
    short = replace(build_stage(ball_on_plate(duration=1.0)), title="ball-on-plate", status="failed")
    path = viewer.write_viewer({"main": stage, "open-loop": short}, tmp_path_factory.mktemp("page") / "viewer.html")
    return path.as_uri()


def red(picture: np.ndarray) -> int:
    """Number of pixels of the scene, right of its legend, in the colour of forces."""
    r, g, b = np.moveaxis(picture[40:600, 300:], 2, 0)
    return int(np.sum((r > 150) & (g < 60) & (b < 90)))


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_page_plays_offline_without_an_error_and_is_not_blank(tab, page, size):
    width, height = SIZES[size]
    tab.errors.clear()
    tab.asked.clear()
    tab.open(page, width, height)
    assert tab.run("document.title") == "ball-on-plate - trundle"
    assert tab.run("document.querySelector('#head h1').textContent") == "ball-on-plate"
    assert tab.run("trundle.playing"), "it plays by itself"
    tab.run("trundle.seek(0.1); trundle.play(true)")
    tab.until("trundle.time > 0.2")
    tab.run("trundle.seek(0.2)")
    first, pose = pixels(tab.picture()), tab.run(POSE)
    assert not tab.run("trundle.playing")
    assert first.shape[:2] == (height, width)
    room = tab.run("(r => [r.x, r.y, r.right, r.bottom])(__viserMutable.canvas.getBoundingClientRect())")
    left, top, right, bottom = (int(x) for x in room)
    drawn = first[top:bottom, left:right]
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 100
    assert np.mean(np.any(drawn < 250, axis=2)) > 0.08
    # The motion is fitted: nothing of ball and force is cut off at the frame's edges.
    blue = drawn[..., 2] - drawn[..., 0] > 60
    assert not blue[:, [0, -1]].any()
    assert not blue[[1, -1]].any()
    tab.run("trundle.seek(1.4)")
    second = pixels(tab.picture())
    assert tab.run(POSE) != pose
    assert np.any(np.abs(second - first)[top:bottom, left:right] > 40)
    assert float(tab.run("document.getElementById('when').value")) == pytest.approx(1.4)
    tab.run("trundle.seek(0.2)")
    back = pixels(tab.picture())
    assert np.mean(np.abs(back - first) > 12) < 0.1 * np.mean(np.abs(second - first) > 12), "scrubbed back"
    assert tab.run(POSE) == pose
    assert tab.errors == []
    assert [one for one in tab.asked if not one.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.slow
def test_controls_switch_layers_speed_parts_and_views(tab, page):
    tab.errors.clear()
    tab.open(page, *SIZES["desktop"])
    tab.run("trundle.seek(0.5)")
    labels = dict(tab.run(VISIBLE))
    assert {"object", "hand", "friction cone", "contact force", "centre of mass"} < labels.keys()
    assert not labels["world axes x, y, z"]
    with_force = red(pixels(tab.picture()))
    tab.run("[...document.querySelectorAll('#legend label')].find(l => l.textContent === 'contact force').click()")
    assert red(pixels(tab.picture())) < 0.3 * with_force
    tab.run("[...document.querySelectorAll('#legend label')].find(l => l.textContent === 'contact force').click()")
    # The part's own length, and both side by side under their names.
    assert tab.run("trundle.length") == pytest.approx(2.0)
    tab.run("(p => { p.value = '1'; p.onchange({target: p}) })(document.getElementById('part'))")
    assert tab.run("trundle.length") == pytest.approx(1.0)
    assert tab.run("document.querySelector('#head small').textContent") == "failed"
    tab.run("(p => { p.value = 'all'; p.onchange({target: p}) })(document.getElementById('part'))")
    tab.picture()
    assert tab.run("[...document.querySelectorAll('.tag')].map(t => t.textContent)") == ["main", "open-loop"]
    assert red(pixels(tab.picture())) > 0.5 * with_force
    # Names and ranges of the plots stand above their curves.
    below = (
        "(s => s.querySelector('p').getBoundingClientRect().bottom - s.querySelector('svg').getBoundingClientRect().y)"
    )
    assert tab.run(f"Math.max(...[...document.querySelectorAll('.strip')].map({below}))") < 1.0
    # A click on a plot is a time.
    tab.run("(p => { p.value = '0'; p.onchange({target: p}) })(document.getElementById('part'))")
    x, y, width = tab.run("(r => [r.x, r.y + 20, r.width])(document.querySelector('.strip').getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        tab.call("Input.dispatchMouseEvent", type=kind, x=x + width / 2, y=y, button="left", buttons=1, clickCount=1)
    assert tab.run("trundle.time") == pytest.approx(1.0, abs=0.01)
    # Twice the speed takes half the time.
    tab.run("document.getElementById('speed').value = '0.1'; trundle.seek(0); trundle.play(true)")
    tab.run("new Promise(done => setTimeout(done, 600))")
    assert 0.02 < tab.run("trundle.time") < 0.2
    eye = tab.run("__viserMutable.cameraControl.getPosition().toArray()")
    tab.run("trundle.look('z')")
    above = tab.run("__viserMutable.cameraControl.getPosition().toArray()")
    assert above != eye
    assert above[1] > 1.5 * abs(above[2]), "three.js has its y upwards"
    assert tab.errors == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [*SIZES.values(), (800, 480)])
def test_the_legend_leaves_room_for_axes_and_scale(tab, page, width, height):
    tab.open(page, width, height)
    tab.run("document.getElementById('legend').open = true")
    box = "document.getElementById('{}').getBoundingClientRect()"
    assert tab.run(f"{box.format('legend')}.bottom < {box.format('gauge')}.top")
    assert tab.run(f"{box.format('legend')}.height") > 60


@pytest.mark.slow
def test_the_camera_follows_the_body(tab, page):
    tab.open(page, *SIZES["desktop"])
    tab.run("trundle.seek(0); document.getElementById('follow').click()")
    tab.picture()
    eye = np.array(tab.run("__viserMutable.cameraControl.getPosition().toArray()"))
    tab.run("trundle.seek(1.0)")
    went = np.array(tab.run("__viserMutable.cameraControl.getPosition().toArray()")) - eye
    path = focus(build_stage(ball_on_plate(duration=2.0)))
    root = rotation_of(np.array(tab.run("__viserMutable.nodePoseData[''].wxyz")))
    assert root.T @ went == pytest.approx(path[30] - path[0], abs=1e-3)


@pytest.mark.slow
def test_a_force_is_seen_through_the_body_that_hides_it(tab, tmp_path):
    """The arrow within an opaque ball is in front of it; a ghost in a body's place leaves the body as it is."""
    stage = build_stage(ball_on_plate(duration=0.2))
    solid = tuple(replace(part, opacity=None) for part in stage.actors[0].parts)
    ball = replace(stage.actors[0], parts=solid)
    short = replace(stage, actors=(ball, *stage.actors[1:]), cone=None, force_scale=0.5 * stage.force_scale)
    tab.open(viewer.write_viewer(short, tmp_path / "solid.html").as_uri(), *SIZES["desktop"])
    tab.run("trundle.seek(0.1)")
    plain = pixels(tab.picture())
    assert red(plain) > 300
    orange = tuple(replace(part, colour=(224, 130, 20), opacity=0.16) for part in stage.actors[0].parts)
    ghost = replace(ball, name="ghost", label="plan", parts=orange, ghost=True)
    with_ghost = replace(short, actors=(*short.actors, ghost))
    tab.open(viewer.write_viewer(with_ghost, tmp_path / "ghost.html").as_uri(), *SIZES["desktop"])
    tab.run("trundle.seek(0.1); document.getElementById('legend').hidden = true")
    seen = pixels(tab.picture())
    changed = np.any(np.abs(seen - plain) > 12, axis=2)[60:560, 300:1000]
    assert np.mean(changed) < 0.01

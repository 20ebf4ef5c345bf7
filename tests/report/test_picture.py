"""The still picture of a stage: perspective, faces that are seen, instants; and the video made of such pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Canvas
from PIL import Image

from tests.report.synthetic import ball_on_plate, disk_down_slope
from trundle.errors import InputError
from trundle.report.meshes import sphere
from trundle.report.picture import PictureCamera, by_motion, draw_stage
from trundle.report.staging import Actor, Stage, equally_far
from trundle.report.video import write_video
from trundle.scenarios.engine.pictures import draw, stage

STILL = np.array([1.0, 0.0, 0.0, 0.0])


def scene(places: np.ndarray, colours: list[tuple[int, int, int]], radius: float = 0.1) -> Stage:
    """Return balls at places (balls, frames, 3), seen from x = -10 m."""
    n = places.shape[1]
    actors = tuple(
        Actor(f"ball_{i}", (sphere(radius, colour),), where, np.tile(STILL, (n, 1)))
        for i, (where, colour) in enumerate(zip(places, colours, strict=True))
    )
    none = np.zeros((n, 3))
    return Stage(1 / 30, 1.0, actors, none, none, none, 1.0, None, radius, np.zeros(3), np.array([-10.0, 0.0, 0.0]))


def axes() -> Axes:
    return Canvas(figsize=(4, 3), dpi=100).add_subplot()


def test_places_in_the_picture_are_tangents_of_angles() -> None:
    camera = PictureCamera(scene(np.zeros((1, 1, 3)), [(1, 2, 3)]))
    places, distance = camera.project(np.array([[0.0, 0.0, 0.0], [0.0, -2.0, 0.0], [-5.0, 0.0, 1.0]]))
    assert places == pytest.approx(np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.2]]))  # to the right is -y
    assert distance == pytest.approx([10.0, 10.0, 5.0])


def test_of_a_ball_the_cap_that_faces_the_camera_is_drawn() -> None:
    ball = scene(np.zeros((1, 1, 3)), [(0, 0, 200)], radius=0.1)
    [triangles] = PictureCamera(ball).actor(ball.actors[0], 0)
    whole = ball.actors[0].parts[0].faces
    assert 0.4 < len(triangles.corners) / len(whole) <= 0.5
    edge = np.linalg.norm(triangles.corners.reshape(-1, 2), axis=1).max()
    assert edge == pytest.approx(np.tan(np.arcsin(0.1 / 10)), rel=0.01)
    assert triangles.distance.max() < 10.0 + 0.03


def test_what_is_nearer_hides_what_is_behind() -> None:
    places = np.array([[[0.0, 0.0, 0.0]], [[-2.0, 0.0, 0.0]]])
    for colours, shown in (([(200, 0, 0), (0, 0, 200)], 2), ([(0, 0, 200), (200, 0, 0)], 0)):
        canvas = Canvas(figsize=(2, 2), dpi=50)
        draw_stage(scene(places, colours), canvas.add_axes((0.0, 0.0, 1.0, 1.0)), [0])
        agg = FigureCanvasAgg(canvas)
        agg.draw()
        pixels = np.asarray(agg.buffer_rgba())
        assert int(np.argmax(pixels[50, 50, :3])) == shown


def test_instants_lie_equally_far_apart_however_long_the_rest() -> None:
    assert equally_far(np.ones(8), 5) == [0, 2, 4, 6, 8]
    assert equally_far(np.array([0.0] * 90 + [1.0] * 9), 4) == [0, 93, 96, 99]
    assert equally_far(np.zeros(7), 4) == [7]


def test_a_ball_that_rests_and_then_goes_is_drawn_where_it_goes() -> None:
    x = np.concatenate([np.zeros(80), np.linspace(0.0, 1.0, 21)])
    places = np.column_stack([0 * x, x, 0 * x])[None]
    frames = by_motion(scene(places, [(0, 0, 200)]))
    assert x[frames] == pytest.approx(np.linspace(0, 1, 5), abs=0.051)


def test_what_stays_in_place_is_drawn_once_where_it_is_farthest() -> None:
    y = 0.05 * np.sin(np.linspace(0, 2 * np.pi, 41))
    frames = by_motion(scene(np.column_stack([0 * y, y, 0 * y])[None], [(0, 0, 200)]))
    assert frames == [10]


def test_earlier_instants_are_paler() -> None:
    places = np.array([[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    ax = axes()
    draw_stage(scene(places, [(0, 0, 200)]), ax, [0, 1])
    [drawn] = [one for one in ax.collections if isinstance(one, PolyCollection)]
    right = np.array([path.vertices[:, 0].mean() > -0.05 for path in drawn.get_paths()])
    red = drawn.get_facecolor()[:, 0]
    assert red[right].min() > 0.3
    assert red[~right].max() < 0.01


def test_every_run_in_space_has_a_view_and_none_in_the_plane() -> None:
    ax = draw(ball_on_plate(duration=0.5), "view", axes())
    assert ax.get_title(loc="left").startswith("The motion at")
    assert len(ax.get_xticks()) == 0
    with pytest.raises(InputError, match="view"):
        draw(disk_down_slope(duration=0.3), "view", axes())


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_video_holds_the_frames(tmp_path: Path, suffix: str) -> None:
    x = np.linspace(0.0, 1.0, 7)
    told: list[float] = []
    moving = scene(np.column_stack([0 * x, x, 0 * x])[None], [(0, 0, 200)])
    file = write_video(
        moving, tmp_path / f"a{suffix}", width=96, height=64, progress=lambda _, share: told.append(share)
    )
    assert told[-1] == 1.0
    if suffix == ".gif":
        with Image.open(file) as image:
            assert (image.size, image.n_frames) == ((96, 64), 3)  # type: ignore[attr-defined]
            first = np.asarray(image.convert("L"), dtype=float)
            image.seek(2)
            last = np.asarray(image.convert("L"), dtype=float)
        edges = np.concatenate([first[0], first[-1], first[:, 0], first[:, -1]])
        assert edges.min() > 230.0  # no frame is drawn about the picture
        columns = np.arange(96)
        assert centre(first, columns) > centre(last, columns) + 20  # from right to left: y grows to the left
    else:
        ffmpeg = pytest.importorskip("imageio_ffmpeg")
        frames, seconds = ffmpeg.count_frames_and_secs(str(file))
        assert (frames, seconds) == (7, pytest.approx(7 / 30, abs=0.05))


def centre(picture: np.ndarray, columns: np.ndarray) -> float:
    dark = (255.0 - picture).sum(axis=0)
    return float(dark @ columns / dark.sum())


def test_bad_videos_are_refused(tmp_path: Path) -> None:
    one = stage(ball_on_plate(duration=0.1))
    with pytest.raises(InputError, match=r"\.mp4 or \.gif"):
        write_video(one, tmp_path / "a.avi")
    with pytest.raises(InputError, match="width = 65"):
        write_video(one, tmp_path / "a.gif", width=65)
    with pytest.raises(InputError, match="seconds"):
        write_video(replace(one, seconds=0.0), tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []

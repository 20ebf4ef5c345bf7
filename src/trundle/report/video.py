"""The moving picture as a video file: MP4 or GIF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trundle.checks import positive
from trundle.errors import InputError, optional
from trundle.records.whole import storing, write_bytes
from trundle.report.picture import by_motion, draw_stage
from trundle.report.staging import Stage
from trundle.scratch import scratch

_DPI = 100  # pixels an inch; figures are sized in pixels divided by it
_GIF_EVERY = 3  # frames: a GIF has no compression between them


def write_video(
    stage: Stage,
    path: str | Path,
    *,
    width: int = 1280,
    height: int = 720,
    progress: Callable[[str, float], None] | None = None,
) -> Path:
    """Write the moving picture of a stage as a video, drawn like the still picture, from the viewer's camera.

    Parameters
    ----------
    stage : Stage
    path : path
        Its ending, ``.mp4`` or ``.gif``, chooses the format.
    width, height : int
        Pixels; even numbers from 64 to 4096.
    progress : callable, optional
        Called with what is going on and the share that is done.

    Raises
    ------
    InputError
        If the ending is another or the file cannot be written.
    MissingExtraError
        If an MP4 is asked for without the extra ``video``.
    """
    from matplotlib import rc_context
    from matplotlib.animation import FFMpegWriter, PillowWriter
    from matplotlib.figure import Figure as Canvas

    suffix = _check_video_path(path, width, height)
    every = _GIF_EVERY if suffix == ".gif" else 1
    rate = max(1, round(1.0 / (positive("seconds", stage.seconds) * every)))
    canvas = Canvas(figsize=(width / _DPI, height / _DPI), dpi=_DPI)
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    frames = range(0, len(stage.contact), every)
    draw_stage(stage, ax, by_motion(stage), aspect=width / height)
    limits = ax.get_xlim(), ax.get_ylim()
    with scratch() as folder, rc_context({"animation.ffmpeg_path": _ffmpeg() if suffix == ".mp4" else ""}):
        file = folder / f"video{suffix}"
        if suffix == ".mp4":
            writer = FFMpegWriter(rate, codec="libx264", extra_args=["-pix_fmt", "yuv420p"])
        else:
            writer = PillowWriter(rate)
        with storing(file), writer.saving(canvas, str(file), _DPI):
            for rank, k in enumerate(frames):
                ax.clear()
                draw_stage(stage, ax, [k])
                ax.set_axis_off()
                ax.set_xlim(limits[0])
                ax.set_ylim(limits[1])
                writer.grab_frame()
                if progress is not None:
                    progress(f"video {Path(path).name}", (rank + 1) / len(frames))
        return write_bytes(path, file.read_bytes())


def _check_video_path(path: str | Path, width: int, height: int) -> str:
    """Return the ending of the video's file."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".mp4", ".gif"):
        raise InputError("path", str(path), "a file that ends in .mp4 or .gif")
    for name, value in (("width", width), ("height", height)):
        if not 64 <= value <= 4096 or value % 2:
            raise InputError(name, value, "an even number from 64 to 4096 (pixels)")
    return suffix


def _ffmpeg() -> str:
    """Return the program that encodes MP4."""
    return str(optional("imageio_ffmpeg", "imageio-ffmpeg", "video").get_ffmpeg_exe())

"""`trundle walk`."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from trundle.errors import InputError, printable

if TYPE_CHECKING:
    from trundle.models.feet import Foot


def walk(
    robot: str = typer.Argument(metavar="FILE.urdf|NAME", help="A description, or a robot of example-robot-data."),
    feet: str = typer.Option(..., "--feet", metavar="LINK,LINK,...", help="Links that are feet, two or more."),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Folder of the run [runs/<name>-<time>]."),
    pattern: str = typer.Option("walk", "--pattern", metavar="NAME", help="walk, trot or pace, of four feet."),
    speed: float | None = typer.Option(None, "--speed", metavar="V", help="m/s [that of a stroll on such legs]."),
    slope: float = typer.Option(0.0, "--slope", metavar="DEG", help="Degrees, > 0 uphill."),
    steps: int = typer.Option(6, "--steps", metavar="N", min=0, max=1000, help="Steps to replay in the simulator."),
    no_plots: bool = typer.Option(False, "--no-plots", help="Write no pictures."),
) -> None:
    """Plan a walk of a robot of one's own: suggest feet, check the description, plan, replay, and write a page.

    Exit codes: 0 done; 1 no walk was found (the joint, what it is asked and its limit are named); 2 bad input.
    """
    from trundle.models.urdf.checks import load_urdf
    from trundle.models.urdf.examples import load_example_robot
    from trundle.records.whole import write_bytes
    from trundle.scenarios import load_scenario
    from trundle.scenarios import run as run_scenario
    from trundle.systems.walking.robots.legged import LeggedRobot
    from trundle.systems.walking.robots.soles import missing_limits, suggest_feet

    file = Path(robot)
    urdf = load_urdf(file, meshes=False, repair=True) if file.suffix == ".urdf" else load_example_robot(robot)
    links = [link.strip() for link in feet.split(",") if link.strip()]
    if len(set(links)) != len(links) or len(links) < 2:
        raise InputError("--feet", feet, "two links or more, each once")
    suggested = suggest_feet(urdf, links)
    legged = LeggedRobot(urdf, suggested)
    for link in urdf.repaired:
        typer.echo(printable(f"link {link}: an impossible inertia, replaced by the nearest possible one"))
    for line in missing_limits(urdf, legged.tree.joints):
        typer.echo(printable(line))
    typer.echo(printable(f"locked, for no foot hangs on them: {', '.join(legged.locked) or 'none'}"))
    for link, foot in suggested.items():
        typer.echo(printable(f"foot {link}: {_shape(foot)}"))
    gait = {"pattern": pattern, "slope": slope} | ({} if speed is None else {"speed": speed})
    source = {"urdf": str(file.resolve()), "repair": True} if file.suffix == ".urdf" else {"example": robot}
    tables = {"robot": source, "gait": gait, "replay": {"steps": steps, "period": 0.002}}
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{file.stem.replace('/', '_')}_walks.toml"
        write_bytes(path, _write_scenario(tables, suggested).encode())
        loaded = load_scenario(str(path), (), None, [file.resolve().parent])
        result = run_scenario(loaded, out, plots=not no_plots, verbose=True)
    for name, entry in result.summary["metrics"].items():
        if entry["value"] is not None and not name.endswith("_replay"):
            typer.echo(f"{name} {entry['value']:.3g} {entry['unit']}".rstrip())
    message = "" if result.trajectory is None else str(result.trajectory.metadata["message"])
    typer.echo(printable(f"{result.summary['scenario']}: {result.summary['status']}{message and ': ' + message}"))
    typer.echo(printable(f"files: {result.directory}"))
    raise typer.Exit(result.exit_code)


def _shape(foot: Foot) -> str:
    """Return what a suggested foot is, in a few words."""
    from trundle.contact.patch import FlatPatch

    at = ", ".join(f"{x:.3g}" for x in foot.position)
    if isinstance(foot.shape, FlatPatch):
        x, y = foot.shape.half_sides or (0.0, 0.0)
        return f"flat, {2 * x:.3g} m by {2 * y:.3g} m, its middle at ({at}) m"
    return f"a ball of radius {foot.shape.reference_length:.3g} m at ({at}) m"


def _write_scenario(tables: dict[str, dict[str, object]], feet: dict[str, Foot]) -> str:
    """Return the scenario file."""
    from trundle.contact.patch import FlatPatch

    lines = ["schema = 1", 'kind = "walking"', 'task = "walk"']
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    for link, foot in feet.items():
        if isinstance(foot.shape, FlatPatch):
            shape = f'{{ type = "flat", half_lengths = {json.dumps(foot.shape.half_sides)} }}'
        else:
            shape = f'{{ type = "sphere", radius = {foot.shape.reference_length!r} }}'
        place = {"frame": link, "position": foot.position, "rpy": foot.rpy}
        lines += ["", f"[feet.{link}]", f"shape = {shape}"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in place.items()]
    return "\n".join(lines) + "\n"

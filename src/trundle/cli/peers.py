"""`trundle mjcf` and `trundle compare`: the scene of a scenario in other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trundle.cli.check import ALLOW_PATH, SET
from trundle.cli.completion import scenarios
from trundle.cli.export import split
from trundle.cli.terminal import say
from trundle.errors import InputError

if TYPE_CHECKING:
    from trundle.simulate.run import Call

_LONGEST = 5.0  # s that are compared unless another duration is asked for
CONTACT = typer.Option("hard", "--contact", metavar="hard|default", help="As hard as the step allows, or as it comes.")
SCENE = typer.Argument(
    metavar="SCENE", help="A scenario that simulates bodies in contact, or a file.", autocompletion=scenarios
)


def mjcf(
    scene: str = SCENE,
    out: Path | None = typer.Option(None, "--out", metavar="FILE", help="FILE.xml, or FILE.mjb with all digits."),
    step: float = typer.Option(1e-3, "--step", metavar="S", help="Time step (s)."),
    contact: str = CONTACT,
    reach: float | None = typer.Option(None, "--reach", metavar="M", help="Half the width of terrain (m)."),
    cells: int = typer.Option(200, "--cells", metavar="N", help="Of terrain, along each side."),
    overrides: list[str] = SET,
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Write the scene of a scenario for MuJoCo: bodies, joints, shapes, contacts, and the start as a keyframe.

    What is another thing in MuJoCo is said on stderr and in a comment of the file. Without --out the XML is printed.
    """
    if out is not None and out.suffix not in (".xml", ".mjb"):
        raise InputError("--out", str(out), "a file that ends in .xml or .mjb")
    import numpy as np

    from trundle.interop.mujoco import load_mujoco, to_mjcf
    from trundle.records.whole import write_bytes

    name, call = _call(scene, overrides, allow_path)
    options = {"step": step, "reach": reach, "cells": cells, "name": name}
    spec = to_mjcf(call.model, call.start, contact=contact, **options)  # pyright: ignore[reportArgumentType]
    for note in filter(None, spec.comment.split("; ")):
        say(f"note: {note}", err=True)
    if call.policy is not None:
        inputs = ", ".join(call.system.model().input_layout)
        say(f"note: here a policy gives {inputs}: it is not written", err=True)
    if out is None:
        typer.echo(spec.to_xml())
        return
    content = spec.to_xml().encode()
    if out.suffix == ".mjb":
        mj, model = load_mujoco(), spec.compile()
        buffer = np.empty(mj.mj_sizeModel(model), np.uint8)
        mj.mj_saveModel(model, None, buffer)
        content = buffer.tobytes()
    say(f"written: {write_bytes(out, content)}")


def compare(
    scene: str = SCENE,
    peers: str = typer.Option("mujoco,pybullet,drake", "--with", metavar="PEER,...", help="Simulators."),
    steps: str = typer.Option("0.004,0.002,0.001,0.0005", "--steps", metavar="S,...", help="Time steps (s)."),
    duration: float | None = typer.Option(
        None, "--duration", metavar="S", help=f"Time that is compared (s) [the scenario's, at most {_LONGEST:g}]."
    ),
    out: Path | None = typer.Option(None, "--out", metavar="DIR", help="Folder for comparison.md and .png."),
    cells: int = typer.Option(200, "--cells", metavar="N", help="Of terrain, along each side."),
    contact: str = CONTACT,
    overrides: list[str] = SET,
    allow_path: list[Path] = ALLOW_PATH,
) -> None:
    """Run the same scene here and in other simulators: gap, slip, energy and path against the time step.

    A simulator that is not installed is named and left out.
    """
    from trundle.interop.comparison import compare as compare_scene
    from trundle.records.whole import write_bytes
    from trundle.report import write_figures
    from trundle.scenarios.engine.folder import own_folder

    try:
        wanted = [float(step) for step in split(steps)]
    except ValueError:
        raise InputError("--steps", steps, "numbers with commas between them (s)") from None
    _, call = _call(scene, overrides, allow_path)
    if call.policy is not None:
        raise InputError("SCENE", scene, "one that no policy controls")
    length = min(call.duration, _LONGEST) if duration is None else duration
    options = {"peers": split(peers), "steps": wanted, "cells": cells, "contact": contact}
    found = compare_scene(call.model, call.start, length, **options)  # pyright: ignore[reportArgumentType]
    typer.echo(found.table())
    if out is not None:
        with own_folder(out, "comparison", "that of an earlier comparison") as folder:
            say(f"written: {write_bytes(folder.target('comparison.md'), (found.table() + chr(10)).encode())}")
            folder.target("comparison.png")
            for file in write_figures({"comparison": found.figure()}, folder.path, say):
                say(f"written: {file}")


def _call(scene: str, overrides: list[str], allow_path: list[Path]) -> tuple[str, Call]:
    """Return the name of a scenario, and what its main run calls `simulate` with."""
    from trundle.scenarios import load_scenario
    from trundle.scenarios.engine.building import main_simulation

    scenario = load_scenario(scene, overrides, allow_path=allow_path)
    call = main_simulation(scenario)
    if call is None:
        raise InputError("SCENE", scene, "a scenario whose main run simulates bodies in contact")
    return scenario.name, call

"""`trundle fit-foot`."""

from __future__ import annotations

from pathlib import Path

import typer

from trundle.errors import InputError, printable


def fit_foot(
    data: str = typer.Argument(metavar="DATA", help="Table of markers and force plate; line 1 names the columns."),
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Folder of foot.json, foot.toml and foot.png."),
    ankle: str = typer.Option("RLM", "--ankle", metavar="NAME", help="Ankle marker: columns NAME.PosX, NAME.PosY (m)."),
    knee: str = typer.Option("RLEK", "--knee", metavar="NAME", help="Knee marker."),
    hip: str = typer.Option("RGTRO", "--hip", metavar="NAME", help="Hip marker; '' if there is none."),
    plate: str = typer.Option("FP2", "--plate", metavar="NAME", help="Plate: columns NAME.ForY (N), NAME.MomZ (N m)."),
    low: float = typer.Option(100.0, "--from-force", metavar="N", help="Lowest cut-off of the force of a loaded foot."),
    high: float = typer.Option(300.0, "--to-force", metavar="N", help="Highest one; the bootstrap draws between both."),
    samples: int = typer.Option(1000, "--samples", metavar="N", min=2, max=1_000_000, help="Draws of the bootstrap."),
    seed: int = typer.Option(0, "--seed", metavar="N", min=0, max=2**53, help="Seed of the bootstrap."),
    no_plots: bool = typer.Option(False, "--no-plots", help="Write no picture."),
) -> None:
    """Fit an equivalent rolling foot to measured gait: centre of pressure in the frame of the shank."""
    from trundle.systems.walking.scenario.measured import foot_fit
    from trundle.systems.walking.scenario.measured.gait_data import read_gait

    gait = read_gait(data, ankle, knee, plate, hip or None)
    try:
        foot = foot_fit.fit_foot(gait, cutoffs=(low, high), samples=samples, seed=seed)
    except InputError as error:
        raise error.within("", data) from None
    files = foot_fit.write_foot(foot, out, Path(data).name, plots=not no_plots)
    circle, (least, most) = foot.circle, foot.interval
    typer.echo(f"radius {circle.radius:.4f} m, deviation {foot.deviation:.4f} m, 95 %: {least:.4f} to {most:.4f} m")
    typer.echo(
        f"centre {circle.center[0]:.4f} m ahead of the ankle, {circle.center[1]:.4f} m above it; rms {circle.rms:.4f} m"
    )
    if foot.leg is not None:
        typer.echo(f"leg {foot.leg:.3f} m, radius over leg {circle.radius / foot.leg:.3f}")
    for contact in foot.contacts:
        count = contact.last - contact.first + 1
        typer.echo(f"contact of {count} samples: {'left out, ' + contact.fault if contact.fault else 'used'}")
    typer.echo(f"rows that lack a number: {foot.missing}")
    typer.echo(printable("files: " + ", ".join(str(path) for path in files)))

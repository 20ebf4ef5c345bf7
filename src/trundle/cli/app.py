"""The commands, gathered."""

from __future__ import annotations

import logging
from collections.abc import Callable

import typer
import typer.main

from trundle.cli import (
    check,
    doctor,
    export,
    listing,
    peers,
    report,
    reproduce,
    run,
    sweep,
    view,
)
from trundle.cli.guard import guard_command
from trundle.cli.terminal import say
from trundle.scenarios.system import load, systems

_log = logging.getLogger("trundle.systems")

app = typer.Typer(
    name="trundle",
    help="Rolling contact in the plane and in space: scenarios, simulation, pictures.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _name, _function in {
    "list": listing.list_scenarios,
    "show": listing.show,
    "check": check.check,
    "schema": listing.schema,
    "run": run.run,
    "view": view.view,
    "report": report.report,
    "render": report.render,
    "sweep": sweep.sweep,
    "reproduce": reproduce.reproduce,
    "export": export.export,
    "mjcf": peers.mjcf,
    "compare": peers.compare,
    "doctor": doctor.doctor,
}.items():
    app.command(_name)(guard_command(_function))


def _alone(command: Callable[..., None]) -> typer.Typer:
    """Return an application of one command."""
    made = typer.Typer()
    made.command()(command)
    return made


_OWN = {command.name for command in app.registered_commands}
for _system in systems():
    for _name, _reference in _system.commands.items():
        if _name in _OWN:
            _log.warning("kind %s: its command %r is left out, trundle has one of that name", _system.name, _name)
            continue
        try:
            _command = guard_command(load(_reference))
            typer.main.get_command(_alone(_command))  # what typer cannot read is said of this command alone
            app.command(_name)(_command)
            _OWN.add(_name)
        except Exception as _error:  # a package of somebody else
            _log.warning("kind %s: its command %r cannot be loaded: %s", _system.name, _name, _error)


def _version(wanted: bool) -> None:
    if wanted:
        from trundle.version import __version__

        say(f"trundle {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Rolling contact in the plane and in space: scenarios, simulation, pictures."""

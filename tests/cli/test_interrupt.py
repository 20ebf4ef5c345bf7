"""Ctrl-C: exit code 130 whatever becomes of the exception that the signal raises, and the data are saved."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.cli.test_cli import trundle
from tests.scenarios.files import JUGGLING, written
from trundle.cli import interrupt
from trundle.cli.guard import guard_command
from trundle.errors import InputError
from trundle.scenarios import catalogue
from trundle.scenarios.engine import building


def lose_an_interrupt() -> None:
    """Send SIGINT and drop the exception it raises, as Python does in destructors and C callbacks."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass


def test_the_signal_raises_and_is_noted_and_the_handler_goes_when_the_block_ends() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupt.watch_interrupts():
        interrupt.check()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert interrupt.was_interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()
    assert signal.getsignal(signal.SIGINT) is before
    with interrupt.watch_interrupts():
        assert not interrupt.was_interrupted()


def test_ignored_interrupts_stay_ignored_and_other_threads_change_nothing() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupt.watch_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert not interrupt.was_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    seen: list[Any] = []

    def elsewhere() -> None:
        with interrupt.watch_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize(
    "error", [None, SystemError("returned a result with an exception set"), InputError("x", 1, "2"), typer.Exit(1)]
)
def test_a_lost_interrupt_is_130_whatever_comes_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception | None
) -> None:
    def entries() -> list[catalogue.CatalogueEntry]:
        lose_an_interrupt()
        if error is not None:
            raise error
        return catalogue_entries

    catalogue_entries = catalogue.entries()
    monkeypatch.setattr(catalogue, "entries", entries)
    code, _, err = trundle(capsys, "list")
    assert (code, err) == (130, "interrupted\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemError("odd"), ImportError("half a module")])
def test_an_interrupt_while_modules_load_is_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    def app(**_: object) -> None:
        lose_an_interrupt()
        raise error

    monkeypatch.setattr("trundle.cli.app.app", app)
    code, _, err = trundle(capsys, "list")
    assert (code, err) == (130, "interrupted\n")


def test_without_an_interrupt_the_guard_changes_nothing() -> None:
    def left() -> None:
        raise typer.Exit(7)

    with interrupt.watch_interrupts(), pytest.raises(typer.Exit) as caught:
        guard_command(left)()
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_a_lost_interrupt_ends_the_simulation_and_keeps_what_was_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    run = building.Simulation.run

    def interrupted(self: building.Simulation, **further: Any) -> object:
        lose_an_interrupt()
        return run(self, **further)

    monkeypatch.setattr(building.Simulation, "run", interrupted)
    path, out = written(tmp_path, JUGGLING), tmp_path / "out"
    code, _, err = trundle(capsys, "run", path, "--out", out, "--no-plots", option)
    assert (code, err) == (130, "")
    assert json.loads((out / "summary.json").read_text())["status"] == "interrupted"
    assert (out / "trajectory.nc").is_file()


# The child says when its own code begins: what came before is Python's start, where no program can catch a signal.
_CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from trundle.cli import interrupt, main
print("up", flush=True)
main(sys.argv[1:])
"""
_ENDLESS = ("--set", "simulation.duration=1e5", "--set", "simulation.output_step=1.0", "--no-plots")


def _begun(out: Path, name: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, "run", name, "--out", str(out), *_ENDLESS],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    return child


@pytest.mark.slow
def test_an_interrupt_at_any_moment_ends_an_endless_run_with_130(tmp_path: Path) -> None:
    delays, begun = random.Random(20), time.monotonic()
    for i in range(12):
        if time.monotonic() - begun > 30:
            break
        wait = delays.uniform(0.01, 1.6)
        child = _begun(tmp_path / str(i), "plate-spinning")
        try:
            time.sleep(wait)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=30)
        finally:
            child.kill()
        # Before `main` has the signal Python itself ends by it, which a shell calls 130 as well.
        assert child.returncode in (130, -signal.SIGINT), f"after {wait:.3f} s: {child.returncode}\n{err}"
        assert "bug in trundle" not in err


def test_a_second_interrupt_ends_the_process_at_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from trundle.cli import interrupt\n"
        "with interrupt.watch_interrupts():\n"
        "    for _ in range(2):\n"
        "        print('up', flush=True)\n"
        "        try:\n"
        "            time.sleep(60)\n"
        "        except KeyboardInterrupt:\n"
        "            pass\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        for _ in range(2):
            assert child.stdout.readline() == "up\n"
            time.sleep(0.1)
            child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
    finally:
        child.kill()
    assert child.returncode == -signal.SIGINT

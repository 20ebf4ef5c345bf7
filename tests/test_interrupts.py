"""Ctrl-C meets a computation between two steps: what it has done is whole, every time."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import timeit
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle import interrupts
from trundle.status import Status

PAIR = tr.RollingPair(tr.RigidBody(tr.Ellipse(semi_axes=(0.25, 0.12)), 1.0, 0.02), tr.Ground(tr.Sinusoid(0.06, 0.8)))
START = PAIR.place(contact_x=0.2, angle=0.4)


@contextmanager
def interrupted_after(delay: float) -> Iterator[None]:
    """Send SIGINT to this process when `delay` (s) has passed, unless the block ends before."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def rolled() -> tr.Trajectory:
    return tr.simulate(PAIR, START, 5.0, output_step=2e-3)


def test_at_any_instant_the_record_is_the_beginning_of_the_whole_run() -> None:
    """Also while outputs are evaluated and the record is put together, a third of this run's time."""
    whole = rolled()
    length, delays = min(timeit.repeat(rolled, number=1, repeat=3)), random.Random(3)
    statuses: list[Status] = []
    for _ in range(12):
        with interrupted_after(delays.uniform(2e-3, 0.95 * length)):
            run = rolled()
        statuses.append(run.status)
        done = len(run) - 1  # the last sample is where it stopped
        np.testing.assert_array_equal(run.time[:done], whole.time[:done])
        for name in ("body_position", "contact_force", "energy"):
            np.testing.assert_array_equal(run[name][:done], whole[name][:done])
    assert statuses.count(Status.INTERRUPTED) >= 9
    assert set(statuses) <= {Status.INTERRUPTED, Status.SUCCESS}


def test_a_signal_is_noted_and_raised_where_it_is_checked_or_after_the_block() -> None:
    with interrupts.hold_interrupts():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # soon after the first: waits with it
        with interrupts.hold_interrupts() as outermost:
            assert not outermost
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
    with pytest.raises(KeyboardInterrupt), interrupts.hold_interrupts():
        signal.raise_signal(signal.SIGINT)


def test_one_that_comes_late_is_not_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "PATIENCE", 0.0)
    with interrupts.hold_interrupts():
        monkeypatch.setattr(interrupts, "PATIENCE", 1e9)
        signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(interrupts, "PATIENCE", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("error", [None, ValueError("as which it came out")])
def test_what_is_open_is_left_at_once_even_where_the_exception_gets_lost(error: Exception | None) -> None:
    with interrupts.hold_interrupts(), pytest.raises(KeyboardInterrupt), interrupts.opened():  # noqa: PT012
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if error is not None:
                raise error from None


def test_other_errors_and_threads_are_left_alone() -> None:
    with interrupts.hold_interrupts(), pytest.raises(ValueError, match="of its own"), interrupts.opened():
        raise ValueError("of its own")
    seen: list[object] = []

    def elsewhere() -> None:
        with interrupts.hold_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))
            interrupts.check()

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts.hold_interrupts():  # noqa: PT012
        signal.raise_signal(signal.SIGINT)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert len(seen) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            interrupts.check()
    finally:
        signal.signal(signal.SIGINT, before)


# Forks a child for each instant, which says when its run begins: before that nothing is computed that could be kept.
_CHILDREN = """
import os, random, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from trundle.cli import main
from trundle.scenarios.engine import pictures, run
from trundle.simulate.runner import Runner
pictures.write_report = lambda *args, **settings: []  # takes seconds, and comes when all is saved
said, delays, step, told = os.pipe(), random.Random(5), Runner.run, []
def begun(*given):
    if not told:  # of a child's runs, the first: what it says later is not taken for the next one's
        os.write(said[1], b"!")
        told.append(True)
    return step(*given)
Runner.run = begun
def trundle(name, duration):
    settings = ["--set", f"simulation.duration={duration}", "--set", "simulation.output_step=1.0", "--quiet"]
    main(["run", "plate-spinning", "--out", f"{sys.argv[1]}/{name}", *settings])
try:
    trundle("first", 1.0)  # imports and compiles for all
except SystemExit:
    os.read(said[0], 1)
def forked(name, instants):
    told.clear()
    child = os.fork()
    if not child:
        try:
            trundle(name, 800.0)
        except SystemExit as end:
            os._exit(end.code)  # all is saved: what the interpreter does at its end is not ours
    os.read(said[0], 1)
    start = time.monotonic()
    for instant in instants:
        time.sleep(instant)
        os.kill(child, signal.SIGINT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), time.monotonic() - start
_, whole = min(forked("whole", []) for _ in range(2))
for k in range(int(sys.argv[2])):
    count = 1 + k % 2
    print(forked(k, [delays.uniform(0.0, 0.9 * whole / count) for _ in range(count)])[0], flush=True)
"""


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_the_command_line_leaves_a_record_every_time(tmp_path: Path, count: int) -> None:
    """From the first step over recording to saving; every other run is interrupted twice."""
    command = [sys.executable, "-c", _CHILDREN, str(tmp_path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20 + 10 * count, check=True)
    codes = [int(code) for code in done.stdout.split()]
    assert len(codes) == count
    # The second ends a process at once, but for what holds it; a run that loses other work beside it may be done (0).
    assert set(codes) <= {0, 130, -signal.SIGINT}
    assert set(codes[::2]) <= {0, 130}
    assert codes.count(130) >= count // 4
    assert "Traceback" not in done.stderr
    for k, code in enumerate(codes):
        run = tr.load_trajectory(tmp_path / str(k) / "trajectory.nc")
        assert run.status in (Status.INTERRUPTED, Status.SUCCESS)
        assert np.all(np.isfinite(run["object_position"]))
        if code == 130:
            summary = json.loads((tmp_path / str(k) / "summary.json").read_text())
            parts = [part["status"] for part in summary["parts"].values()]
            assert "interrupted" in (summary["status"], *parts), "the main run, or the part that came after it"

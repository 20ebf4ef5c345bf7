"""One bar over all that a run does: its share, what it says of the time, and how it ends."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import trundle as tr
from trundle import bars
from trundle.scenarios.engine.clock import Clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def looked_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of stderr; within a test, as pytest captures it anew after fixtures."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    for name, value in {"TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    return made


def last_line(text: str) -> str:
    """The last line that a terminal shows, without what steers it."""
    shown = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", text.split("\x1b[2K")[-1])
    return shown.strip()


def clock(*seconds: float) -> Iterator[float]:
    yield from seconds


def test_the_share_of_a_run_is_the_time_gone_over_the_time_it_takes_and_never_falls() -> None:
    told: list[tuple[str, float]] = []
    times = clock(0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 3.0, 5.0, 5.0, 5.0, 10.0)
    run = Clock(lambda what, share: told.append((what, share)), lambda: next(times))
    build = run.stage("build", "build", ["simulate", "report"])
    assert build is not None
    build(1.0)  # 1 s gone, 2 s + 5 s guessed
    plan = run.stage("plan", "solve", ["report"])  # 10 s + 5 s guessed: less is done than was thought
    assert plan is not None
    plan(0.5)  # 2 s gone of 4 s
    plan(1.0)  # ended: 5 s gone, 5 s guessed
    report = run.stage("report", "report", [])
    assert report is not None
    report(1.0)
    shares = [share for _, share in told]
    assert shares == pytest.approx([0.0, 1 / 8, 1 / 8, 3 / (3 + 2 + 5), 0.5, 0.5, 1.0])
    assert [what for what, _ in told] == ["build", "build", "plan", "plan", "plan", "report", "report"]


def test_trials_ahead_take_as_long_as_those_before() -> None:
    told: list[float] = []
    times = clock(0.0, 0.0, 0.0, 3.0, 3.0, 3.0)
    run = Clock(lambda what, share: told.append(share), lambda: next(times))
    first = run.stage("closed-loop-1", "simulate", ["simulate", "simulate"])
    assert first is not None
    first(1.0)  # 3 s gone, 2 s guessed of each of two
    run.stage("closed-loop-2", "simulate", ["simulate"])  # now 3 s each
    assert told == pytest.approx([0.0, 3 / 7, 3 / 7])


def test_a_bar_is_full_at_the_end_with_the_time_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    with bars.bar() as show:
        show("solve", 0.37)
    text = terminal.getvalue()
    assert "solve" in text
    assert " 37%" in text
    assert re.fullmatch(r"done +━+ 100% 0:0\d elapsed", last_line(text))


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, ValueError])
def test_a_bar_that_ends_early_says_where(monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None) -> None:
    terminal = looked_at(monkeypatch)

    def work() -> None:
        with bars.bar() as show:
            show("solve", 0.37)
            show.stopped = True
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(error):
            work()
    assert re.match(r"ended in: solve +━+[╸╺]?━+  37% 0:0\d elapsed$", last_line(terminal.getvalue()))


@pytest.mark.parametrize("dumb", [False, True])
def test_without_a_terminal_there_are_lines_now_and_then(monkeypatch: pytest.MonkeyPatch, dumb: bool) -> None:
    terminal = looked_at(monkeypatch)
    if dumb:
        monkeypatch.setenv("TERM", "dumb")
    else:
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    with bars.bar() as show:
        for now[0] in (1.0, 9.0, 11.0, 12.0, 75.0):
            show("solve", now[0] / 100.0)
    assert terminal.getvalue().splitlines() == [
        "solve:  11%, 0:11 elapsed, 1:29 left",
        "solve:  75%, 1:15 elapsed, 0:25 left",
        "done: 100%, 1:15 elapsed",
    ]


def test_a_short_run_without_a_terminal_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with bars.bar() as show:
        show("solve", 0.5)
    assert terminal.getvalue() == ""


def test_in_a_notebook_one_line_is_replaced_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(display=lambda data, raw: None, update=lambda data, raw: shown.append(data["text/plain"]))
    made = SimpleNamespace(DisplayHandle=lambda: handle)
    for name, module in {"ipykernel": SimpleNamespace(), "IPython": SimpleNamespace(), "IPython.display": made}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(looked_at(monkeypatch), "isatty", lambda: False)
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    with bars.bar() as show:
        for now[0] in (1.0, 1.1, 2.0):
            show("solve", now[0] / 4.0)
    assert [line.lstrip("━─ ") for line in shown] == [
        "solve:  25%, 0:01 elapsed, 0:03 left",
        "solve:  50%, 0:02 elapsed, 0:02 left",
        "done: 100%, 0:02 elapsed",
    ]
    assert [line.count("━") for line in shown] == [8, 15, 30]


def test_a_verbose_callback_shows_and_passes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    seen: list[float] = []

    def own(t: float) -> bool:
        seen.append(t)
        return t < 1.0

    with bars.reporting(True, own, lambda t: (f"t = {t:g} s", t / 2.0)) as progress:
        assert progress is not None
        assert [progress(0.5), progress(1.0)] == [True, False]
    assert seen == [0.5, 1.0]
    assert "t = 1 s" in terminal.getvalue()


def verbose_plan() -> tuple[object, str]:
    pair = tr.RollingPair(tr.RigidBody(tr.Circle(0.05), mass=0.1), tr.Hand(tr.Line(), extent=0.4))
    task = tr.juggling.Transfer(pair, {}, {"contact_on_hand": (0.1, 0.0)}, duration=1.0)
    return tr.juggling.plan(
        task, nodes=10, starts=1, max_refinements=0, max_iterations=2, verbose=True
    ), "iteration 1: cost"


def verbose_simulation() -> tuple[object, str]:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), rpy=(0, 0.5, 0)))
    return tr.simulate(pair, pair.place(), 5.0, verbose=True), " s of 5 s"


def verbose_simulations() -> tuple[object, str]:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=1.0), tr.Hand(tr.Plane(), rpy=(0, 0.5, 0)))
    return tr.simulate_many(pair, [pair.place()] * 2, 0.1, verbose=True), "2 of 2"


def verbose_run(folder: Path) -> tuple[object, str]:
    scenario = tr.load_scenario("plate-spinning", ["simulation.duration=0.1"])
    return tr.run(scenario, folder, plots=False, verbose=True), "plate-spinning: plots and page"


def verbose_walk() -> tuple[object, str]:
    bolt, gait = tr.load_example_robot("bolt"), tr.walking.RobotGait(speed=0.25, intervals=(4, 2))
    return tr.walking.plan_walk(bolt, ["FL_FOOT", "FR_FOOT"], gait, max_iterations=2, verbose=True), "iteration 1: cost"


def verbose_throw() -> tuple[object, str]:
    body, hand = tr.RigidBody(tr.Ellipse((0.04, 0.025)), 0.05), tr.Hand(tr.Line(), extent=0.4)
    pair = tr.RollingPair(body, hand, friction=0.8, on_slip="slide", on_separation="fly")
    task = tr.juggling.ThrowCatch(pair, pair.place(), goal_angle=1.5)
    return task.plan(samples=20, starts=1, max_rollouts=20, verbose=True), " throws"


@pytest.mark.parametrize(
    "call",
    [
        verbose_plan,
        verbose_simulation,
        verbose_simulations,
        verbose_walk,
        verbose_throw,
        pytest.param(verbose_run, marks=pytest.mark.slow),
    ],
)
def test_long_verbs_show_the_same_bar(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Callable[..., tuple[object, str]]
) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")
    _, said = call(tmp_path) if call is verbose_run else call()
    assert said in terminal.getvalue()
    assert re.match(r"done +━+ 100%", last_line(terminal.getvalue()))

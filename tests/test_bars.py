"""One bar over all that a run does: its share, what it says of the time, and how it ends."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator

import pytest

from trundle import bars
from trundle.scenarios.engine.course import Course


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
    course = Course(lambda what, share: told.append((what, share)), lambda: next(times))
    build = course.stage("build", "build", ["simulate", "report"])
    assert build is not None
    build(1.0)  # 1 s gone, 2 s + 5 s guessed
    plan = course.stage("plan", "solve", ["report"])  # 10 s + 5 s guessed: less is done than was thought
    assert plan is not None
    plan(0.5)  # 2 s gone of 4 s
    plan(1.0)  # ended: 5 s gone, 5 s guessed
    report = course.stage("report", "report", [])
    assert report is not None
    report(1.0)
    shares = [share for _, share in told]
    assert shares == pytest.approx([0.0, 1 / 8, 1 / 8, 3 / (3 + 2 + 5), 0.5, 0.5, 1.0])
    assert [what for what, _ in told] == ["build", "build", "plan", "plan", "plan", "report", "report"]


def test_trials_ahead_take_as_long_as_those_before() -> None:
    told: list[float] = []
    times = clock(0.0, 0.0, 0.0, 3.0, 3.0, 3.0)
    course = Course(lambda what, share: told.append(share), lambda: next(times))
    first = course.stage("closed-loop-1", "simulate", ["simulate", "simulate"])
    assert first is not None
    first(1.0)  # 3 s gone, 2 s guessed of each of two
    course.stage("closed-loop-2", "simulate", ["simulate"])  # now 3 s each
    assert told == pytest.approx([0.0, 3 / 7, 3 / 7])


def test_a_bar_is_full_at_the_end_with_the_time_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    with bars.bar() as show:
        show("solve", 0.37)
    text = terminal.getvalue()
    assert "solve" in text
    assert " 37%" in text
    assert re.fullmatch(r"done +━+ 100% 0:00:0\d elapsed 0:00:00 left", last_line(text))


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
    assert re.match(r"ended in: solve +━+[╸╺]?━+  37%", last_line(terminal.getvalue()))


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
        "solve:  11%, 0:00:11 elapsed, about 0:01:29 left",
        "solve:  75%, 0:01:15 elapsed, about 0:00:25 left",
        "done: 100%, 0:01:15 elapsed",
    ]


def test_a_short_run_without_a_terminal_prints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with bars.bar() as show:
        show("solve", 0.5)
    assert terminal.getvalue() == ""


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

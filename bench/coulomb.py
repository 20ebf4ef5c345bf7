"""``python -m bench.coulomb --problems N --seed S``: contacts by Coulomb's law, judged, and beside Siconos' numerics.

Random bodies with random contacts (`bench.coulomb_problems.scenes`); an answer is right if the law holds to 1e-10
(`tests.oracles.coulomb_law`, which shares no code with the package). Siconos (``apt-get install python3-siconos``)
solves the same problems in a process of its own. What can be compared are the velocities after: where both obey the
law and differ, the law has several answers, or hardly decides between them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from rich.console import Console

from bench.coulomb_problems import siconos
from bench.coulomb_problems.scenes import Array, Problem, problems
from tests.oracles.coulomb_law import breach, energy_gain
from trundle.simulate.events.coulomb import contact_impulses

RIGHT = 1e-10
"""Largest breach of the law, of the speeds."""
NEARLY = 1e-6
"""The same of an answer of Gauss-Seidel, and the difference of velocities that counts."""
SMALL = 4
"""Contacts of a small problem."""
CHUNK = 100
"""Problems that one process of Siconos solves."""
SECONDS = 300.0
PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Answer:
    """What a solver found: impulses (m, d), by how much they miss the law, and the processor's time (s)."""

    impulses: Array
    breach: float
    seconds: float


def answer(problem: Problem) -> tuple[Answer, float]:
    """Return what trundle finds, and by how much kinetic energy grows."""
    begin = process_time()
    found = contact_impulses(problem.D, problem.before, problem.friction)
    seconds = process_time() - begin
    missed = breach(problem.D, problem.before, problem.friction, found.impulses)
    return Answer(found.impulses, missed, seconds), energy_gain(problem.D, problem.before, found.impulses)


def by_siconos(chunk: list[Problem]) -> list[Answer | None]:
    """Return what Siconos finds of problems whose friction has a limit; None where it is left out or ends itself."""
    asked = [k for k, one in enumerate(chunk) if np.isfinite(one.friction).all()]
    given: dict[str, Array] = {"count": np.array(len(asked))}
    for at, k in enumerate(asked):
        given |= {f"D{at}": chunk[k].D, f"before{at}": chunk[k].before, f"friction{at}": chunk[k].friction}
    answers: list[Answer | None] = [None] * len(chunk)
    with TemporaryDirectory() as folder:
        ways = [str(Path(folder) / name) for name in ("problems.npz", "answers.npz")]
        np.savez(ways[0], **given)  # pyright: ignore[reportArgumentType]
        command = [PYTHON, "-I", str(siconos.__file__), *ways]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return answers
        if done.returncode:
            return answers
        found = np.load(ways[1])
        for at, k in enumerate(asked):
            one, L = chunk[k], found[f"L{at}"]
            answers[k] = Answer(L, breach(one.D, one.before, one.friction, L), float(found[f"seconds{at}"]))
    return answers


def verdict(problem: Problem, own: Answer, other: Answer | None) -> str:
    """Return how two answers compare."""
    if other is None:
        return "not compared"
    if not other.breach <= NEARLY:
        return "only trundle obeys the law" if own.breach <= NEARLY else "neither obeys the law"
    if not own.breach <= NEARLY:
        return "only Siconos obeys the law"
    change = problem.D @ (own.impulses - other.impulses).ravel()
    apart = float(np.abs(change).max()) / max(float(np.abs(problem.before).max()), 1e-300)
    if not other.breach <= RIGHT:
        return f"Siconos obeys it to {NEARLY:.0e}; velocities {'close' if apart <= 1e-3 else 'far'}"
    return "both obey the law, " + ("same velocities" if apart <= NEARLY else "other velocities")


def has_siconos() -> bool:
    """Whether the system's Python has it."""
    try:
        command = [PYTHON, "-c", "import siconos.numerics"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def summary(label: str, seconds: list[float]) -> str:
    """Return the times of problems."""
    if not seconds:
        return f"{label}: none"
    us = 1e6 * np.array(seconds)
    return f"{label}: {len(us)}, median {np.median(us):.0f} us, 99 % {np.percentile(us, 99):.0f}, worst {us.max():.0f}"


def main() -> int:
    """Print the figures; 1 where more than one in a hundred is unsolved, energy grows, or only Siconos is right."""
    parser = argparse.ArgumentParser(prog="python -m bench.coulomb", description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="without Siconos")
    options = parser.parse_args()
    console, compares = Console(highlight=False, soft_wrap=True), has_siconos() and not options.alone
    drawn, verdicts, unsolved = problems(options.problems, options.seed), Counter[str](), 0
    small, large, theirs, theirs_small = [], [], [], []
    solved, worst, gain, theirs_right = 0, 0.0, 0.0, 0
    while chunk := list(islice(drawn, CHUNK)):
        others = by_siconos(chunk) if compares else [None] * len(chunk)
        for one, other in zip(chunk, others, strict=True):
            own, grows = answer(one)
            few = len(one.friction) <= SMALL
            (small if few else large).append(own.seconds)
            solved += own.breach <= RIGHT
            worst, gain = max(worst, own.breach), max(gain, grows)
            said = verdict(one, own, other)
            verdicts[said] += 1
            if other is not None:
                theirs_right += other.breach <= RIGHT
                (theirs_small if few else theirs).append(other.seconds)
            if not own.breach <= RIGHT or said == "only Siconos obeys the law":
                unsolved += not own.breach <= RIGHT
                size = f"{len(one.friction)} contacts, d = {one.before.shape[1]}"
                limit = "" if np.isfinite(one.friction).all() else ", friction without limit"
                console.print(
                    f"  {one.kind} {one.seed}: {size}{limit}, breach {own.breach:.1e}, {own.seconds:.2f} s, {said}"
                )
    console.print(f"solved {solved}, unsolved {unsolved} of {options.problems}; worst breach {worst:.1e}")
    console.print(f"largest gain of energy {gain:.1e}")
    console.print(summary(f"1 to {SMALL} contacts", small))
    console.print(summary("more", large))
    if compares:
        console.print(summary(f"Siconos, 1 to {SMALL} contacts", theirs_small))
        console.print(summary("Siconos, more", theirs))
        console.print(f"Siconos to {RIGHT:.0e}: {theirs_right} of {len(theirs) + len(theirs_small)}")
    for what, count in verdicts.most_common():
        console.print(f"{what}: {count}")
    return int(100 * unsolved > options.problems or gain > 1e-9 or verdicts["only Siconos obeys the law"] > 0)


if __name__ == "__main__":
    sys.exit(main())

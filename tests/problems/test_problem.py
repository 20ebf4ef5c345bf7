"""Phases and problems refuse what no back end could solve, and say what they are."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from trundle.errors import InputError
from trundle.optimal import Condition, OptimalControlProblem, Phase

x, u = ca.SX.sym("x", 2), ca.SX.sym("u")
RATE = ca.vertcat(x[1], u)


def test_a_problem_prints_its_parts() -> None:
    phase = Phase("roll", x, u, RATE, (0.5, 2.0), path=[Condition("cone", x[0] ** 2, 0, 1)])
    text = str(OptimalControlProblem([phase, Phase("rest", x, u, RATE, 1.0)]))
    assert "roll: 2 states, 1 inputs, 0.5 to 2 s" in text
    assert "path: cone (1)" in text
    assert "link: roll to rest (2)" in text


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: Phase("a", x, u, x[0], 1.0), "a.rate"),
        (lambda: Phase("a", x, u, RATE, 0.0), "a.duration"),
        (lambda: Phase("a", x, u, RATE, (2.0, 1.0)), "a.duration"),
        (lambda: Phase("a", x, u, RATE, 1.0, x_bounds=(1, 0)), "a.x_bounds"),
        (lambda: Phase("a", x, u, RATE, 1.0, u_bounds=(np.nan, 0)), "a.u_bounds"),
        (lambda: Phase("a", x, u, RATE, 1.0, running=ca.SX.sym("stray")), "a.running"),
        (lambda: Phase("a", x, u, RATE, 1.0, end=[Condition("goal", ca.SX.sym("stray"))]), "a.goal"),
        (lambda: Condition("c", x, 1, 0), "c.lower"),
        (lambda: Condition("c", x, [np.nan, 0], 1), "c.lower"),
        (lambda: OptimalControlProblem([]), "phases"),
    ],
)
def test_what_cannot_be_solved_is_refused(build, key: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.key == key

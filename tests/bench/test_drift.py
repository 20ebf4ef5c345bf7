"""Smooth bodies keep their energy for a minute, heavy balls Jellett's and Routh's integrals: docs/reliability.md."""

from __future__ import annotations

import pytest

from bench.classics import drift

HARDEST = ("ball, heavy below", "coin")
EACH = [name if name in HARDEST else pytest.param(name, marks=pytest.mark.slow) for name in drift.BODIES]


@pytest.mark.parametrize("name", EACH)
def test_what_a_smooth_body_keeps_drifts_by_less_than_the_limit(name: str) -> None:
    rolling = drift.BODIES[name]
    run = rolling.run()
    assert run.time[-1] == drift.LENGTH
    found = {key: drift.drift(values) for key, values in rolling.kept(run).items()}
    assert len(found) == (3 if name == "ball, heavy below" else 1)
    assert max(found.values()) <= drift.LIMIT, found

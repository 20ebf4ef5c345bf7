"""Planted faults: of 200 small changes of what runs say of themselves the audit catches at least 95 %."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.audit.mutants import MUTATIONS
from tests.audit.runs import RUNS, STEPPED, evidence
from trundle.audit import anatomy_of, audit_run

COUNT, CAUGHT = 200, 0.95


@pytest.mark.parametrize("name", [*RUNS, *STEPPED])
def test_a_run_that_keeps_the_laws_is_passed(name: str) -> None:
    system, told = evidence((RUNS | STEPPED)[name]())
    report = audit_run(system, told)
    assert [finding.text for finding in report.findings] == []
    assert sum(check.count for check in report.checks) > 1000


def test_planted_faults_are_found() -> None:
    rng = np.random.default_rng(42)
    known = [evidence(make(), step) for make in RUNS.values() for step in (None, 0.01)]
    missed, tried = Counter[str](), 0
    while tried < COUNT:
        system, told = known[rng.integers(len(known))]
        name = str(rng.choice(list(MUTATIONS)))
        mutant = MUTATIONS[name](told, anatomy_of(system), rng)
        if mutant is None:
            continue
        tried += 1
        missed[name] += not audit_run(system, mutant).findings
    assert sum(missed.values()) <= (1.0 - CAUGHT) * COUNT, missed

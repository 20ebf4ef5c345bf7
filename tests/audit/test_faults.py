"""Runs that broke a law and said ``success``: the audit condemns what they recorded, and names what, when, how much."""

from __future__ import annotations

import numpy as np
import pytest

from tests.audit.faults import FAULTS, load
from trundle.audit import audit_run


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_that_broke_a_law_is_condemned(name: str) -> None:
    make, law = FAULTS[name]
    system = make().model.system
    evidence = load(name, system)
    report = audit_run(system, evidence)
    found = [finding for finding in report.findings if finding.law == law]
    assert found, [finding.text for finding in report.findings]
    first, times = found[0], evidence.samples.time
    assert first.excess > 10.0  # condemned by far, not by a tolerance
    assert times[0] <= first.time <= times[-1]
    assert 0.0 < abs(first.amount) < np.inf
    assert all(body in first.text for body in first.bodies)

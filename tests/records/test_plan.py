"""Plans on disk: what was written is read, and nothing half written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.records import Plan, Reference, load_plan
from trundle.status import Status


def some_plan() -> Plan:
    times = np.linspace(0, 1, 5)
    return Plan(
        Status.GOAL_NOT_REACHED, times, np.outer(times, [1.0, 2.0]), np.outer(times, [3.0]), ((0, 1),),
        {"kkt_residual": 1e-9, "friction_use": float("nan")}, ({"nodes": 4, "solve": 0.5},), message="why",
    )  # fmt: skip


def test_a_saved_plan_is_read_as_it_was(tmp_path: Path) -> None:
    plan = some_plan()
    again = load_plan(plan.save(tmp_path / "attempt.npz"))
    for name in ("times", "states", "inputs"):
        np.testing.assert_array_equal(getattr(again, name), getattr(plan, name))
    assert again.status is plan.status
    assert again.atlas == plan.atlas
    assert again.history == plan.history
    assert again.message == "why"
    assert np.isnan(again.residuals["friction_use"])
    assert [p.name for p in tmp_path.iterdir()] == ["attempt.npz"]


@pytest.mark.parametrize("content", [b"", b"not a plan", b"PK\x03\x04 broken"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "attempt.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="path"):
        load_plan(path)
    with pytest.raises(InputError, match="path"):
        load_plan(tmp_path / "missing.npz")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        some_plan().save(tmp_path / "no" / "attempt.npz")


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="states"):
        Plan(Status.SUCCESS, [0.0, 1.0], [[0.0], [np.nan]], [[0.0], [0.0]], ((0, 0),), {})


def test_the_reference_is_read_as_it_was(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(1e-4, 2e-3, size=50))
    plan = Plan(
        Status.SUCCESS, [0.0, 1.0], [[0.0], [1.0]], [[0.0], [0.0]], ((0, 0),), {},
        reference=Reference(times, rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), ((0, 1), (2, 0))),
    )  # fmt: skip
    again = load_plan(plan.save(tmp_path / "plan.npz")).reference
    assert again is not None
    assert plan.reference is not None
    for name in ("times", "states", "inputs"):
        np.testing.assert_array_equal(getattr(again, name), getattr(plan.reference, name))
    assert again.atlas == plan.reference.atlas


def test_files_of_before_have_no_reference(tmp_path: Path) -> None:
    assert load_plan(some_plan().save(tmp_path / "attempt.npz")).reference is None

"""A program whose numbers are renewed in place against one built anew."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.numerics.qp.qp import QpSolver
from trundle.status import Status
from trundle.systems.multicontact.preview.persistent import LAYOUTS, Entries, PersistentQp

N, EQUATIONS, ROWS = 8, 3, 5


def numbers(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    E, C = rng.normal(size=(EQUATIONS, N)), rng.normal(size=(ROWS, N))
    lower = np.where(rng.random(N) < 0.5, x - rng.random(N), -np.inf)
    return {
        "h": rng.random(N) + 0.1,
        "g": rng.normal(size=N),
        "E": E,
        "e": E @ x,
        "C": C,
        "low": C @ x - 0.1,
        "x": lower,
    }


def full(m: int) -> tuple[Entries, np.ndarray]:
    """A full matrix, its places in a shuffled order."""
    order = np.random.default_rng(1).permutation(m * N)
    rows, columns = np.divmod(np.arange(m * N), N)
    return Entries(rows[order], columns[order], (m, N)), order


def program(layout: str = "sparse_ldlt", **more) -> PersistentQp:
    return PersistentQp(N, full(EQUATIONS)[0], full(ROWS)[0], layout=layout, **more)


def write(qp: PersistentQp, data: dict[str, np.ndarray]) -> None:
    qp.write_equations(data["E"].ravel()[full(EQUATIONS)[1]])
    qp.write_inequalities(data["C"].ravel()[full(ROWS)[1]])
    qp.write_weights(data["h"])
    qp.g[:], qp.e[:], qp.low[:], qp.x_lower[:] = data["g"], data["e"], data["low"], data["x"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_renewed_numbers_give_the_new_optimum(layout: str) -> None:
    qp = program(layout, accuracy=1e-10)
    for seed in range(4):
        data = numbers(seed)
        write(qp, data)
        np.testing.assert_array_equal(qp.equations.toarray(), data["E"])
        np.testing.assert_array_equal(qp.inequalities.toarray(), data["C"])
        found = qp.solve()
        A = np.vstack((data["E"], data["C"]))
        low = np.concatenate((data["x"], data["e"], data["low"]))
        high = np.concatenate((np.full(N, np.inf), data["e"], np.full(ROWS, np.inf)))
        other = QpSolver("daqp").solve(np.diag(data["h"]), data["g"], A, low, high)
        assert found.status is Status.SUCCESS
        np.testing.assert_allclose(found.x, other.x, atol=1e-7)
        np.testing.assert_allclose(found.multipliers, other.multipliers, atol=1e-5)
        assert found.error < 1e-7


def test_what_is_not_written_stays() -> None:
    qp, data = program(), numbers(3)
    write(qp, data)
    first = qp.solve()
    again = qp.solve()
    np.testing.assert_allclose(again.x, first.x, atol=1e-9)
    qp.g[:] = 0.0
    moved = qp.solve()
    assert moved.status is Status.SUCCESS
    assert np.abs(moved.x - first.x).max() > 1e-3


@pytest.mark.parametrize("where", ["g", "e", "h", "low", "x_lower"])
def test_nan_is_not_solved(where: str) -> None:
    qp = program()
    write(qp, numbers(0))
    getattr(qp, where)[0] = np.nan
    found = qp.solve()
    assert found.status is Status.NOT_FINITE
    assert np.all(np.isnan(found.x))


@pytest.mark.parametrize("where", ["low", "x_lower"])
def test_a_bound_that_nothing_is_above_is_not_solved(where: str) -> None:
    qp = program()
    write(qp, numbers(0) | {"x": np.full(N, -9.0)})
    getattr(qp, where)[0] = np.inf
    assert qp.solve().status is Status.NOT_FINITE


def test_a_contradiction_and_too_few_iterations_are_no_success() -> None:
    qp, data = program(), numbers(0)
    data["C"][1], data["low"][0], data["low"][1] = -data["C"][0], 1.0, 1.0
    write(qp, data)
    assert qp.solve().status not in (Status.SUCCESS, Status.NOT_FINITE)
    write(qp, numbers(0))
    assert qp.solve().status is Status.SUCCESS  # and the solver recovers
    hurried = program(max_iterations=1)
    write(hurried, numbers(0))
    assert hurried.solve().status is Status.ITERATION_LIMIT


def test_places_must_be_right() -> None:
    good = full(ROWS)[0]
    for bad in (
        Entries([0, 0], [1, 1], (EQUATIONS, N)),
        Entries([0], [N], (EQUATIONS, N)),
        Entries([EQUATIONS], [0], (EQUATIONS, N)),
        Entries([0], [0], (EQUATIONS, N + 1)),
    ):
        with pytest.raises(InputError, match=r"^E = .*places"):
            PersistentQp(N, bad, good)
    with pytest.raises(InputError, match="layout"):
        program("dense")


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-6, 1.0, 1e6])
def test_a_small_cost_has_its_minimum_or_is_no_success(unit: float) -> None:
    """h = 1e-9 and g = -1e-9 have their minimum at 1; 0 passed for it."""
    qp = program()
    data = numbers(0) | {"E": np.zeros((EQUATIONS, N)), "e": np.zeros(EQUATIONS), "low": np.full(ROWS, -10.0)}
    write(qp, data | {"h": np.full(N, unit), "g": np.full(N, -unit), "C": np.eye(N)[:ROWS], "x": np.full(N, -9.0)})
    found = qp.solve()
    if found.status is Status.SUCCESS:
        np.testing.assert_allclose(found.x, np.ones(N), atol=1e-4)
    assert found.status is Status.SUCCESS or unit < 1e-2


def test_values_are_as_many_as_places() -> None:
    qp = program()
    for write in (qp.write_equations, qp.write_inequalities):
        with pytest.raises(InputError, match="values"):
            write(np.zeros(7))

"""What an error says: numbers as numbers, whatever library they came from."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import trundle as tr


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(1.0), "1.0"),
        (np.int64(3), "3"),
        ([np.float64(1.0), np.float64(-2.5)], "[1.0, -2.5]"),
        ((np.float64(1.0), [np.float64(2.0)]), "[1.0, [2.0]]"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), "[[1.0, 2.0], [3.0, 4.0]]"),
        (np.array(0.5), "0.5"),
        (np.bool_(True), "True"),
        ("wide", "'wide'"),
        (None, "None"),
    ],
)
def test_values_print_as_plain_numbers_and_lists(value: object, text: str) -> None:
    assert str(tr.InputError("key", value, "better")) == f"key = {text}: must be better"


def test_long_values_are_cut() -> None:
    text = str(tr.InputError("key", np.zeros((100_000, 3)), "shorter"))
    assert len(text) < 160
    assert "array" not in text


def test_errors_keep_what_was_given_and_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(tr.errors.ShapeError("key", [1.0], "better", "a.toml")))
    assert (error.key, error.value, error.allowed, error.file) == ("key", [1.0], "better", "a.toml")
    assert str(error.within("table")) == "a.toml: table.key = [1.0]: must be better"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tr.Superellipsoid([1, 1, 1], 4), "exponents = 4: must be at most 2 without rounding"),
        (lambda: tr.Superellipsoid([1, 1, 1], [2, 3]), "exponents = [2, 3]: must be at most 2 without rounding"),
        (lambda: tr.Sphere(0), "radius = 0: must be a length > 0, from 1e-7 to 1e7 (m)"),
        (lambda: tr.Sphere(1e-8), "radius = 1e-08: must be a length > 0, from 1e-7 to 1e7 (m)"),
        (lambda: tr.Disc(1.0, -1.0), "rounding = -1.0: must be 0 or a length > 0, from 1e-7 to 1e7 (m)"),
        (lambda: tr.Disc(1.0, 1e-9), "rounding = 1e-09: must be 0 or a length > 0, from 1e-7 to 1e7 (m)"),
        (lambda: tr.Ellipsoid(np.zeros(3)), "semi_axes = [0.0, 0.0, 0.0]: must be 3 lengths > 0, each from 1e-7"),
    ],
)
def test_sizes_and_exponents_are_named_as_given(make, text: str) -> None:
    with pytest.raises(tr.InputError) as caught:
        make()
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "error",
    [
        tr.errors.SimulationError("it fell", tr.Status.FAILED, {"steps": 3}),
        tr.errors.CompileError("refused", "line 1"),
        tr.errors.MissingExtraError("mujoco", "sim"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_reach_another_process_whole(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))

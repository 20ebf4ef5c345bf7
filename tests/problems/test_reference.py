"""A reference interpolates, holds at its ends, and refuses what is not a motion."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.records.reference import Reference


def test_linear_between_samples_and_held_outside() -> None:
    reference = Reference([0.0, 1.0, 3.0], [[0.0], [2.0], [0.0]], [[1.0], [1.0], [5.0]])
    assert reference.duration == 3.0
    for time, x, u in ((-1.0, 0.0, 1.0), (0.25, 0.5, 1.0), (2.0, 1.0, 3.0), (9.0, 0.0, 5.0)):
        found = reference.at(time)
        np.testing.assert_allclose([found[0][0], found[1][0]], [x, u], atol=1e-15)


@pytest.mark.parametrize(
    ("times", "states", "key"),
    [([0.0], [[0.0]], "times"), ([0.0, 0.0], [[0.0], [1.0]], "times"), ([0.0, 1.0], [[0.0], [np.nan]], "states")],
)
def test_bad_motions_are_refused(times: list[float], states: list[list[float]], key: str) -> None:
    with pytest.raises(InputError, match=key):
        Reference(times, states, [[0.0]] * len(times))

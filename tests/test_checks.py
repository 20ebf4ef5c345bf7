"""Fields that a constructor converts."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from numpy.typing import ArrayLike

from trundle.checks import ArrayField, Converted, FloatArray, array


@dataclasses.dataclass(frozen=True)
class Place:
    name: str
    position: ArrayField = ArrayField()
    size: Converted[float, float] = Converted()
    axis: Converted[ArrayLike | None, FloatArray | None] = Converted(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", array("position", self.position, (2,)))


def test_a_converted_field_is_a_field_like_any_other() -> None:
    place = Place("here", [1, 2], 0.5)
    assert place.position.tolist() == [1.0, 2.0]
    assert place.axis is None
    assert repr(place) == "Place(name='here', position=array([1., 2.]), size=0.5, axis=None)"
    moved = dataclasses.replace(place, position=(3, 4))
    for one in (moved, pickle.loads(pickle.dumps(moved)), copy.deepcopy(moved)):
        np.testing.assert_array_equal(one.position, [3.0, 4.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.size = 1.0  # type: ignore[misc]


def test_a_converted_field_without_a_default_is_required() -> None:
    with pytest.raises(TypeError, match="position"):
        Place("here")
    with pytest.raises(AttributeError):
        _ = Place.position
    assert Place.axis is None

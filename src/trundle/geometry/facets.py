"""Facets: which corners, edges and faces of two convex polytopes touch each other in one point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from trundle.geometry.features import Feature
from trundle.geometry.shape import Shape

_KEPT = 64
"""Pairs of shapes whose facets are kept."""


@dataclass(frozen=True)
class FacetPair:
    """A feature of A and one of B that touch in one point.

    Attributes
    ----------
    of_A, of_B : int
        Their numbers.
    beside : tuple of int
        Numbers of the pairs whose features are these or parts of each other: a point passes from one onto the next.
    """

    of_A: int
    of_B: int
    beside: tuple[int, ...]


def has_facets(shape: Shape) -> bool:
    """Return whether a shape is a convex polytope, sharp or rounded."""
    found = shape.representations.features
    return bool(found) and not any(feature.radius for feature in found)


@lru_cache(maxsize=_KEPT)
def middle(shape: Shape) -> tuple[float, ...]:
    """Return the mean of the corners of a polytope, m: a point inside."""
    corners = [feature.at for feature in shape.representations.features if not feature.axes]
    return tuple(sum(entries) / len(corners) for entries in zip(*corners, strict=True))


@lru_cache(maxsize=_KEPT)
def facet_pairs(A: Shape, B: Shape) -> tuple[FacetPair, ...]:
    """Return the pairs of features of two polytopes that touch in one point.

    A corner and a face, a face and a corner, two edges; if one of the two is rounded also two corners, a corner and an
    edge.
    """
    of_A, of_B = A.representations.features, B.representations.features
    d, rounded = A.d, bool(of_A[0].rounding or of_B[0].rounding)
    numbers: dict[tuple[int, int], int] = {}
    for i, a in enumerate(of_A):
        for k, b in enumerate(of_B):
            together = a.dimension + b.dimension
            if together == d - 1 or (rounded and together < d - 1):
                numbers[i, k] = len(numbers)
    return tuple(FacetPair(i, k, _beside(numbers, (i, k), of_A, of_B)) for i, k in numbers)


def _beside(
    numbers: dict[tuple[int, int], int], pair: tuple[int, int], of_A: Sequence[Feature], of_B: Sequence[Feature]
) -> tuple[int, ...]:
    """Return the numbers of the pairs next to one."""
    i, k = pair
    near = ((a, b) for a in (i, *of_A[i].beside) for b in (k, *of_B[k].beside) if (a, b) != pair)
    return tuple(numbers[one] for one in near if one in numbers)

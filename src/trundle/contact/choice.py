"""Which contact suits two shapes, and its coordinates at a pair of boundary points."""

from __future__ import annotations

import casadi as ca
import numpy as np

from trundle.checks import FloatArray, choice
from trundle.contact.contact import Contact
from trundle.contact.contacts import (
    ChartContact,
    LevelContact,
    LevelPairContact,
    PairContact,
    SupportChartContact,
    SupportContact,
)
from trundle.contact.parts.facets import FacetContact
from trundle.contact.parts.feature import FeatureContact
from trundle.errors import InputError
from trundle.geometry.boundary import Representations
from trundle.geometry.facets import facet_pairs, has_facets, middle
from trundle.geometry.features import Feature, balls_around, divide_edges
from trundle.geometry.shape import Shape

FORMS = ("auto", "support", "facets", "features", "pair", "level", "level-pair", "chart", "support-chart")

IN_PARTS = ("facets", "features")
"""Forms in which corners, edges and faces touch in a body's place, each with a contact of its own."""


def contact_form(A: Shape, B: Shape, form: str = "auto") -> str:
    """Return the form of contact that suits shape A on shape B, or check that `form` is possible.

    ``"auto"`` takes the first that is possible: in space support (convex on a flat), facets (two polytopes), features
    (of a polytope or a cylinder on smooth ground), pair (two convex bodies), level (convex on a level set), level-pair
    (two level sets), chart, support-chart (convex on a chart); in the plane charts come before pairs. Where B has lines
    or faces, pair comes last: it cannot tell points of one normal apart. Where A has, charts come second: a capsule
    rolls from its cap onto its side.
    """
    choice("contact", form, FORMS)
    if A.d != B.d:
        raise InputError("contact", (type(A).__name__, type(B).__name__), "two shapes of one dimension")
    a, b = A.representations, B.representations
    convex_A, convex_B = a.support is not None and not a.hull, b.support is not None and not b.hull
    possible = {
        "support": a.support is not None and b.flat,
        "facets": has_facets(A) and has_facets(B),
        "features": bool(a.features) and not b.flat and _suits_features(a, b),
        "pair": convex_A and convex_B,
        "level": convex_A and b.level is not None,
        "level-pair": a.level is not None and b.level is not None,
        "chart": bool(a.charts) and bool(b.charts),
        "support-chart": convex_A and bool(b.charts),
    }
    first = ("support", "facets", "features", "chart")
    order = FORMS[1:] if A.d == 3 else (*first, "pair", "level", "level-pair", "support-chart")
    if A.d == 3 and convex_A and a.roundness is not None:
        # A support function knows one point of a line or a face, charts know them all.
        order = (*first, *(name for name in order if name not in first))
    if b.roundness is not None:
        order = (*(name for name in order if name != "pair"), "pair")
    if form == "auto":
        for name in order:
            if possible[name]:
                return name
    elif possible[form]:
        return form
    names = [name for name, yes in possible.items() if yes]
    allowed = f"one of {names}" if names else "a contact that these shapes have representations for (there is none)"
    raise InputError("contact", f"{form} ({type(A).__name__} on {type(B).__name__})", allowed)


def in_place(A: Shape, B: Shape) -> bool | None:
    """Return whether A and B are to be the sides A and B of their contact, or the other way round; None: either.

    The order decides which forms of contact there are. The better form comes first: one that knows lines and faces of
    either shape before a pair of supports, which does not. With forms as good, A is what touches in points, then what
    is smaller: what is looked for all over a shape is looked for on A.
    """
    here, there = ((_rank(a, b), _bluntness(a), a.reference_length, repr(a)) for a, b in ((A, B), (B, A)))
    return None if here == there else here < there


def _bluntness(shape: Shape) -> int:
    """Return 0 of a shape without lines and faces, 1 of one whose charts know them, 2 of any other."""
    known = shape.representations
    return 0 if known.roundness is None else 1 if known.charts else 2


def _rank(A: Shape, B: Shape) -> int:
    """Return how well the form of contact of A on B suits them, from 0, the best."""
    try:
        form = contact_form(A, B)
    except InputError:
        return len(FORMS) + 2
    if form == "pair":
        # Its normal does not tell the points of a line or a face of B apart.
        return FORMS.index(form) + (len(FORMS) if B.representations.roundness is not None else 0)
    return FORMS.index(form)


def pieces_of(A: Shape, form: str, B: Shape | None = None) -> tuple[int | None, ...]:
    """Return the numbers of the pieces with which shape A touches B in a contact of this `form`; None: as a whole."""
    if form == "features":
        most = A.d - 1 if B is None else bent_directions(B)
        return tuple(i for i, feature in enumerate(features_on(A, B)) if feature.dimension <= most)
    if form == "facets" and B is not None:
        return tuple(range(len(facet_pairs(A, B))))
    count = len(A.representations.pieces) if form == "support" else 0
    return tuple(range(count)) or (None,)


def features_on(A: Shape, B: Shape | None) -> tuple[Feature, ...]:
    """Return the features with which shape A touches B: on waves, edges that may meet two crests are in parts."""
    found = A.representations.features
    return divide_edges(found, B.reference_length) if B is not None and bumpy(B) else found


def parts_beside(A: Shape, B: Shape, form: str, piece: int) -> tuple[int, ...]:
    """Return the numbers of the parts onto which a point of contact may pass from one: parts of it and its wholes."""
    return facet_pairs(A, B)[piece].beside if form == "facets" else features_on(A, B)[piece].beside


def parts_in_place(A: Shape, B: Shape, form: str, piece: int) -> tuple[int, ...]:
    """Return the numbers of the parts that, where they touch, do so in place of one.

    On waves a body may touch with an edge and its corner across a hollow: there only parts of one edge do. On a face of
    another polytope a body touches with all corners and edges that reach it.
    """
    if form == "facets":
        return ()
    found = features_on(A, B)
    alike = (k for k in found[piece].beside if found[k].dimension == found[piece].dimension)
    return tuple(alike) if bumpy(B) else found[piece].beside


def balls_around_parts(A: Shape, B: Shape, form: str) -> tuple[tuple[FloatArray, FloatArray], ...]:
    """Return middles (n, d) and radii (n,), m, of balls about the parts of A, and of facets also about those of B."""
    if form == "facets":
        numbers = [[one.of_A for one in facet_pairs(A, B)], [one.of_B for one in facet_pairs(A, B)]]
        whole = (balls_around(shape.representations.features) for shape in (A, B))
        return tuple((middles[own], radii[own]) for (middles, radii), own in zip(whole, numbers, strict=True))
    return (balls_around(features_on(A, B)),)


def _suits_features(a: Representations, b: Representations) -> bool:
    """Whether features of a can touch b: it has a level set.

    Round faces need a quadratic ground that is convex in all directions: elsewhere rims touch by the support function.
    With them the side of a cylinder needs its distance: what the level set calls nearest, as rims do, is not.
    """
    bends = None if b.level is None else b.level.bends
    if any(feature.radius for feature in a.features):
        known = b.distance is not None or not a.features[0].rounding
        return known and bends is not None and bool(np.all(bends > 0))
    return b.level is not None


def bent_directions(B: Shape) -> int:
    """Return in how many directions at once a surface may be convex: features with more axes do not touch it."""
    level = B.representations.level
    if level is None or level.bends is None:
        return B.d - 1
    return min(int(np.sum(level.bends > 1e-9 * np.abs(level.bends).max())), B.d - 1)


def bumpy(B: Shape) -> bool:
    """Whether a surface is a level set that is not quadratic: one feature may be near it in several points."""
    level = B.representations.level
    return level is not None and level.bends is None


def make_contact(
    A: Shape,
    B: Shape,
    form: str,
    center_A: tuple[float, ...] = (),
    atlas: tuple[int, int] = (0, 0),
    piece: int | None = None,
) -> Contact:
    """Return the contact of shape A, or of one of its pieces, on shape B.

    ``center_A`` (d,), m: origin of A's shape in its body's frame; ``atlas``: which charts to use.
    """
    if form == "facets":
        one = facet_pairs(A, B)[piece or 0]
        features = A.representations.features[one.of_A], B.representations.features[one.of_B]
        return FacetContact(*features, middle(A), middle(B), center_A)
    level = B.representations.level
    if form == "features" and level is not None:
        return FeatureContact(features_on(A, B)[piece or 0], level, center_A, B.representations.distance)
    if piece is not None:
        part = A.representations.pieces[piece]
        a, at = part.shape.representations, tuple(c + x for c, x in zip(center_A, part.at, strict=True))
        return SupportContact(a.support, at, a.roundness)  # pyright: ignore[reportArgumentType]
    a, b = A.representations, B.representations
    if form == "support" and a.support is not None:
        return SupportContact(a.support, center_A, a.roundness)
    if form == "pair" and a.support is not None and b.support is not None:
        return PairContact(a.support, b.support, center_A, a.roundness, b.roundness)
    if form == "level" and a.support is not None and b.level is not None:
        return LevelContact(a.support, b.level, center_A, a.roundness)
    if form == "level-pair" and a.level is not None and b.level is not None:
        return LevelPairContact(a.level, b.level, center_A)
    if form == "support-chart" and a.support is not None:
        return SupportChartContact(a.support, b.charts[atlas[1]], center_A, a.roundness)
    return ChartContact(a.numbered[atlas[0]], b.numbered[atlas[1]], center_A)


def contact_coordinates(
    A: Shape, B: Shape, form: str, x_A: FloatArray, x_B: FloatArray, n_B: FloatArray
) -> tuple[FloatArray, tuple[int, int]]:
    """Return the contact coordinates and the atlas entry at a pair of boundary points.

    Parameters
    ----------
    x_A, x_B : (d,) m
        Boundary points, each in its shape's frame.
    n_B : (d,)
        Outward normal of B at `x_B`, in B's frame.

    Raises
    ------
    InputError
        In the form pair, if B touches with a line or a face.
    """
    if form in ("support", *IN_PARTS):
        return np.zeros(0), (0, 0)
    if form == "pair":
        _check_curved_at(B, x_B, n_B)
        return np.array(n_B), (0, 0)
    if form == "level":
        return np.array(x_B), (0, 0)
    if form == "level-pair":
        return np.concatenate([x_A, x_B]), (0, 0)
    chart_B, u_B = B.locate(x_B, tolerance=1e-3 * B.reference_length)
    if form == "support-chart":
        return u_B, (0, chart_B)
    chart_A, u_A = A.locate(x_A, tolerance=1e-3 * A.reference_length)
    return np.concatenate([u_A, u_B]), (chart_A, chart_B)


def _check_curved_at(B: Shape, x_B: FloatArray, n_B: FloatArray) -> None:
    """Refuse a contact on a line or a face of B, where its support function knows only one of the points."""
    support = B.representations.support
    if support is None or B.representations.roundness is None:
        return
    n = ca.SX.sym("n", B.d)
    point = ca.Function("point", [n], [support.point_and_radii(n)[0]])
    if float(np.linalg.norm(np.asarray(point(n_B)).ravel() - x_B)) > 1e-6 * B.reference_length:
        allowed = f"where the {type(B).__name__} is curved: there it is a line or a face"
        raise InputError("contact", list(x_B), allowed)

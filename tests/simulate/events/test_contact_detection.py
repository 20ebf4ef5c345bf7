"""Which pairs of bodies are looked at for contacts that nobody follows, and what is found there."""

from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.simulate.events.contact_detection import PairDetector
from trundle.simulate.mode import Mode

PEANUT = tr.FourierRadius(0.3, [0, 0.35])
APART, ROLLS = "separated", "rolling"


def detector(shape: tr.Shape, ground: tr.Shape, laws: tuple[str, ...], rest: bool = False) -> PairDetector:
    inertia = 0.05 if shape.d == 2 else "solid"
    base = tr.Ground(ground) if shape.d == 2 else tr.Hand(ground)
    system = tr.RollingPair(tr.RigidBody(shape, 1.0, inertia), base).system
    laws = (*laws, *[APART] * (len(system.contact_pairs) - len(laws)))
    return PairDetector(system, Mode(laws, system.first_atlas, rest), system.pairs[0])


@pytest.mark.parametrize(
    ("shape", "ground", "laws", "needed"),
    [
        (PEANUT, tr.Line(), (), True),  # where its chart says so, a contact may be elsewhere
        (PEANUT, tr.Line(), (ROLLS,), True),
        (PEANUT, tr.Line(), (ROLLS, ROLLS), False),  # all are followed
        (tr.Sphere(0.2), tr.Plane(), (), False),  # the support function says where it is nearest
        (tr.Sphere(0.2), tr.Plane(), (ROLLS,), False),
        (tr.Sphere(0.2), tr.Dish([1, 1, 1]), (), True),
    ],
)
def test_what_the_margins_do_not_see_is_looked_for(
    shape: tr.Shape, ground: tr.Shape, laws: tuple[str, ...], needed: bool
) -> None:
    assert detector(shape, ground, laws).needed is needed
    assert not detector(shape, ground, laws).full
    assert not detector(shape, ground, laws, rest=True).needed


def test_the_nearest_approach_is_that_of_no_contact_which_is_followed() -> None:
    """A peanut that stands level on its left end falls on its right one, which touches; a lifted one on either."""
    x = tr.RollingPair(tr.RigidBody(PEANUT, 1.0, 0.05), tr.Ground(tr.Line())).place(angle=0.0).x
    left = x[3]
    for laws, lift, ends in (((ROLLS,), 0.0, [3 * np.pi - left]), ((), 0.01, [left, 3 * np.pi - left])):
        found = detector(PEANUT, tr.Line(), laws)
        moved = x + np.eye(len(x))[1] * lift - 0.1 * np.eye(len(x))[-1]
        near = found.nearest(moved)
        assert near is not None
        assert near.gap == pytest.approx(lift, abs=1e-12)
        assert near.speed == pytest.approx(-0.1)
        assert any(near.coordinates[0] == pytest.approx(end, abs=1e-9) for end in ends)
        higher = found.follow(moved + 1e-3 * np.eye(len(x))[1], near)
        assert higher is not None
        assert higher.gap == pytest.approx(lift + 1e-3, abs=1e-12)
        assert higher.coordinates[0] == pytest.approx(near.coordinates[0], abs=1e-9)
    assert detector(PEANUT, tr.Line(), (ROLLS,)).nearest(x + 0.5 * np.eye(len(x))[1]) is None  # far from touching


@pytest.mark.parametrize(
    ("depth", "speed", "new", "seen"),
    [
        (1e-8, -0.1, False, "touch"),
        (1e-8, 0.1, False, None),  # it goes apart
        (1e-8, -0.1, True, None),  # it has come apart at this instant and was not away yet
        (1e-6, -0.1, True, "touch"),  # too deep for that
        (0.01, -0.1, False, "overlap"),  # too deep to go on from
    ],
)
def test_what_overlaps_touches_if_it_comes_closer_and_was_away_or_is_deep(
    depth: float, speed: float, new: bool, seen: str | None
) -> None:
    pair = tr.RollingPair(tr.RigidBody(PEANUT, 1.0, 0.05), tr.Ground(tr.Line()))
    e, x = np.eye(len(pair.place(angle=0.0).x)), pair.place(angle=0.0).x
    mode = Mode((ROLLS, APART), pair.system.first_atlas)
    watch = PairDetector(pair.system, mode, pair.system.pairs[0], frozenset({"second.gap"} if new else ()))
    after = x - depth * e[1] + speed * e[-1]
    found = watch.find_first_touch(np.array([0.0, 1e-3]), np.stack([x, after]), lambda t: after)
    assert (None if found is None else found[1].margin) == seen

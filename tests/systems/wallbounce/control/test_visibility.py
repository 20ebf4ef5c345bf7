"""The shortest path round discs: against the length of tangents and arcs, and what closes ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trundle.contact.soft import Wall
from trundle.errors import InputError
from trundle.systems.wallbounce.control.costs import KeepOutDisc
from trundle.systems.wallbounce.control.visibility import distance, shortest_path, side_of

LEFT = np.array([0.0, 1.0])


def length(path):
    return float(np.sum(np.linalg.norm(np.diff(path, axis=0), axis=1)))


def samples(path, step=0.01):
    return np.concatenate([
        a + np.linspace(0, 1, max(2, int(np.linalg.norm(b - a) / step)))[:, None] * (b - a)
        for a, b in itertools.pairwise(path)
    ])  # fmt: skip


@pytest.mark.parametrize("aside", [0.0, 0.1, -0.2, 0.39])
def test_one_disc_is_passed_by_tangents_and_an_arc_on_its_nearer_side(aside):
    d, r = 1.5, 0.4
    path = shortest_path([0, 0], [2 * d, 0], [KeepOutDisc((d, aside), r)])
    far = np.hypot(d, aside)
    tangent, arc = np.sqrt(far**2 - r**2), np.pi - 2 * np.arccos(r / far) - 2 * np.arctan2(abs(aside), d)
    assert length(path) == pytest.approx(2 * tangent + r * arc, rel=2e-3)
    assert length(path) >= 2 * tangent + r * arc - 1e-9
    assert np.min(distance(KeepOutDisc((d, aside), r), samples(path))) > -1e-6
    if aside:
        assert np.sign(path[1:-1, 1]) == pytest.approx(np.full(len(path) - 2, -np.sign(aside)))


def test_what_is_not_in_the_way_bends_nothing():
    path = shortest_path([0, 0], [3, 1], [KeepOutDisc((1.0, 2.0), 0.5), KeepOutDisc((2.0, -1.0), 0.5)])
    assert path == pytest.approx(np.array([[0, 0], [3, 1]]))
    assert shortest_path([1, 1], [1, 1], []) == pytest.approx(np.ones((2, 2)))


def test_sides_are_chosen_together_and_may_be_given():
    discs = [KeepOutDisc((1.0, 0.2), 0.4), KeepOutDisc((2.2, -0.1), 0.4)]
    best = shortest_path([0, 0], [3.2, 0], discs)
    combinations = [
        shortest_path([0, 0], [3.2, 0], discs, [a * LEFT, b * LEFT]) for a, b in itertools.product((1, -1), repeat=2)
    ]
    assert length(best) == pytest.approx(min(length(one) for one in combinations), abs=1e-9)
    for (a, b), path in zip(itertools.product((1, -1), repeat=2), combinations, strict=True):
        assert [float(side_of(path, disc, LEFT) @ LEFT) for disc in discs] == [a, b]
        assert min(float(np.min(distance(disc, samples(path)))) for disc in discs) > -1e-6


def test_a_long_box_is_followed_along_its_sides():
    disc = KeepOutDisc((1.5, 0.1), 0.3, half=np.array([0.0, 0.8]))
    path = shortest_path([0, 0], [3, 0], [disc])
    assert np.min(distance(disc, samples(path))) > -1e-6
    assert np.min(path[:, 1]) == pytest.approx(-1.0, abs=0.01)
    assert distance(disc, [[1.5, 0.1], [1.5, 1.2], [2.0, 0.5], [1.5 + 0.3, 0.9 + 0.4]]) == pytest.approx(
        [-0.3, 0.0, 0.2, 0.2]
    )
    with pytest.raises(InputError, match="half"):
        _ = KeepOutDisc((0, 0), 0.3, half=np.array([0.1, 0.8])).numbers


def test_walls_close_a_way():
    disc, wall = KeepOutDisc((1.5, 0.1), 0.4), Wall([0.0, -0.45, 0.0], [0.0, 1.0, 0.0])
    assert np.min(shortest_path([0, 0], [3, 0], [disc])[:, 1]) < -0.29
    assert np.max(shortest_path([0, 0], [3, 0], [disc], (), [wall], [(0.1, 0.2)])[:, 1]) > 0.49
    assert shortest_path([0, 0], [3, 0], [disc], [-LEFT], [wall], [(0.1, 0.2)]) is None
    over = Wall([0.0, -1.0, 0.0], [0.0, np.cos(0.6), -np.sin(0.6)])  # at 1.2 m height, 0.82 m nearer
    assert np.max(shortest_path([0, 0], [3, 0], [disc], (), [over], [(0.1, 0.2), (1.2, 0.2)])[:, 1]) > 0.49


def test_between_discs_that_meet_there_is_no_way():
    ring = [KeepOutDisc((np.cos(a), np.sin(a)), 0.45) for a in np.arange(8) * np.pi / 4]
    assert shortest_path([0, 0], [3, 0], ring) is None
    assert shortest_path([0, 0], [3, 0], ring[1:]) == pytest.approx(np.array([[0, 0], [3, 0]]))


def test_out_of_a_disc_the_path_leads_without_going_deeper():
    disc = KeepOutDisc((1.0, 0.0), 0.5)
    path = shortest_path([0.7, 0.05], [3, 0], [disc])
    assert np.min(distance(disc, samples(path))) == pytest.approx(float(distance(disc, [0.7, 0.05])[0]), abs=1e-5)
    into = shortest_path([-1, 0.1], [0.7, 0.05], [disc])
    assert np.min(distance(disc, samples(into))) == pytest.approx(float(distance(disc, [0.7, 0.05])[0]), abs=1e-5)


def test_a_robot_that_rolls_to_one_side_passes_on_it():
    disc = KeepOutDisc((1.5, 0.05), 0.4)
    assert side_of(shortest_path([0, 0], [3, 0], [disc]), disc, LEFT) @ LEFT == -1.0
    rolling = shortest_path([0, 0], [3, 0], [disc], turning=(0.2, 0.4))
    assert side_of(rolling, disc, LEFT) @ LEFT == 1.0

"""The survey of models: a few of its scenes, its own geometry, and that its judges condemn what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import trundle as tr
from bench.model_judges import against_flow, spectra_differ
from bench.model_scenes import made_by, random_pair
from bench.model_shapes import ellipsoid, gap, hollow
from bench.survey_models import (
    Verdict,
    survey_equilibrium,
    survey_linearize,
    survey_lqr,
    survey_place,
)


@pytest.mark.parametrize(
    ("survey", "seed"),
    [
        (survey_place, 54),
        (survey_linearize, 55),
        (survey_linearize, 3),
        (survey_equilibrium, 55),
        pytest.param(survey_linearize, 110, marks=pytest.mark.slow),
        pytest.param(survey_equilibrium, 110, marks=pytest.mark.slow),
        pytest.param(survey_lqr, 104, marks=pytest.mark.slow),
    ],
)
def test_a_scene_of_the_survey_is_right(survey: Callable[[int], Verdict], seed: int) -> None:
    verdict = survey(seed)
    assert verdict.failures == ()
    assert verdict.labels


def test_the_gap_of_whole_shapes_is_that_of_a_formula() -> None:
    axes, dish = np.array([0.03, 0.02, 0.01]), np.array([0.4, 0.3, 0.2])
    for height in (0.0, 1e-6, -1e-6):
        found, point = gap(ellipsoid(axes), hollow(dish), np.eye(3), np.array([0, 0, height - 0.19]))
        assert found == pytest.approx(height, abs=1e-15, rel=1e-5)
        assert np.abs(point - [0, 0, height - 0.2]).max() < 1e-8


def test_a_linear_model_that_is_wrong_is_condemned() -> None:
    scene = replace(random_pair(54), ignores=True)
    made = made_by(scene.script)
    pair, start = made["pair"], made["start"]
    linear = tr.linearize(pair, start)
    assert against_flow(54, scene, pair, start, linear) == []
    doubled = replace(linear, A=2 * linear.A)
    assert "of its flow differs" in against_flow(54, scene, pair, start, doubled)[0].text
    some = linear.states[1:]
    lost = replace(linear, A=linear.A[1:, 1:], states=some, directions=linear.directions[:, 1:], drift=linear.drift[1:])
    assert "of a start beside it is in no coordinate" in against_flow(54, scene, pair, start, lost)[0].text


def test_spectra_are_compared_whatever_the_order_and_the_zeros() -> None:
    assert spectra_differ([2.0, 1j, -1j, 1e-9], [-1j, 2.0, 1j], 1.0) == 0.0
    assert spectra_differ([2.0, 1j, -1j], [2.0], 1.0) == float("inf")
    assert spectra_differ([2.0], [1.0], 1.0) == 0.5

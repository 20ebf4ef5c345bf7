from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import trundle as tr
from tests.report.synthetic import ball_on_plate, changed, ellipsoid_in_dish, rock_on_terrain
from tests.simulate.events.test_patches import CORNERS, block
from trundle.numerics.rotations import rotation_matrices
from trundle.records import Trajectory
from trundle.report.implicit import curve, level_set
from trundle.report.recompute import common_normal, touch

SURFACES = [
    {"type": "plane"},
    {"type": "sphere", "radius": 0.3},
    {"type": "ellipsoid", "semi_axes": [0.3, 0.2, 0.1]},
    {"type": "dish", "semi_axes": [0.3, 0.2, 0.1]},
    {"type": "cylinder", "radius": 0.2},
    {"type": "tube", "radius": 0.2},
    {"type": "torus", "major": 0.3, "minor": 0.1},
]
CURVES = [
    {"type": "circle", "radius": 0.2},
    {"type": "ellipse", "semi_axes": [0.25, 0.12]},
    {"type": "fourier", "radius": 0.3, "cos": [0.01, 0.1], "sin": [0.0, 0.02, 0.01]},
    {"type": "line", "slope": 0.2, "offset": 0.1},
    {"type": "parabola", "curvature": -0.3},
    {"type": "sinusoid", "amplitude": 0.06, "wavelength": 0.8, "phase": 0.4},
    {"type": "arc", "radius": 2.0, "center": [0.1, 0.2], "side": "inside"},
    {"type": "arc", "radius": 2.0, "center": [0.1, 0.2], "side": "outside"},
    {"type": "sum", "terms": [{"type": "parabola", "curvature": 0.1}, {"type": "line", "slope": -0.2}]},
]


@pytest.mark.parametrize("shape", SURFACES, ids=lambda s: s["type"])
def test_level_sets_are_the_gradients_and_hessians_of_their_function(shape):
    surface = level_set(shape)
    x = np.random.default_rng(0).normal(size=(20, 3)) * 0.3
    f, g, H = surface.derivatives(x)
    h = 1e-5
    for k in range(3):
        e = h * np.eye(3)[k]
        plus, minus = surface.derivatives(x + e), surface.derivatives(x - e)
        assert g[:, k] == pytest.approx((plus[0] - minus[0]) / (2 * h), abs=1e-7)
        assert H[:, :, k] == pytest.approx((plus[1] - minus[1]) / (2 * h), abs=1e-6)
        N = surface.normal(x)[1]
        assert N[:, :, k] == pytest.approx((surface.normal(x + e)[0] - surface.normal(x - e)[0]) / (2 * h), abs=2e-4)
    assert f.shape == (20,)


def test_containers_have_their_normal_towards_the_inside():
    at = np.array([[0.0, 0.0, -0.1]])
    assert level_set(SURFACES[3]).normal(at)[0][0] == pytest.approx([0, 0, 1])
    assert level_set(SURFACES[2]).normal(at)[0][0] == pytest.approx([0, 0, -1])
    assert level_set(SURFACES[5]).normal(np.array([[0.2, 0, 0]]))[0][0] == pytest.approx([-1, 0, 0])


@pytest.mark.parametrize("shape", CURVES, ids=lambda s: s["type"])
def test_curves_have_their_derivatives_and_know_their_parameter(shape):
    c = curve(shape)
    u = np.linspace(-0.6, 0.7, 14)
    P, D, E = c.at(u)
    h = 1e-5
    assert D == pytest.approx((c.at(u + h)[0] - c.at(u - h)[0]) / (2 * h), abs=1e-8)
    assert E == pytest.approx((c.at(u + h)[1] - c.at(u - h)[1]) / (2 * h), abs=1e-8)
    assert c.parameter(P) == pytest.approx(u, abs=1e-12)


def test_terrains_run_to_the_right_with_their_free_side_on_the_left():
    for shape in CURVES[3:]:
        tangent = curve(shape).at(np.zeros(1))[1][0]
        assert tangent[0] > 0


def test_shapes_without_a_simple_form_have_none():
    assert level_set({"type": "superellipsoid", "semi_axes": [1, 1, 1]}) is None
    assert curve({"type": "spline"}) is None
    assert curve({"type": "sum", "terms": [{"type": "spline"}]}) is None
    assert level_set({}) is None


def test_quaternions_need_not_be_unit_to_give_rotations():
    q = np.random.default_rng(1).normal(size=(50, 4))
    R = rotation_matrices(q)
    assert R @ np.swapaxes(R, 1, 2) == pytest.approx(np.tile(np.eye(3), (50, 1, 1)), abs=1e-14)
    half = np.array([[np.cos(0.3), 0.0, 0.0, np.sin(0.3)]])
    assert rotation_matrices(half)[0] @ [1, 0, 0] == pytest.approx([np.cos(0.6), np.sin(0.6), 0])


def test_the_common_normal_is_found_from_a_rough_start_and_across_a_gap():
    ball, plane = level_set({"type": "sphere", "radius": 0.2}), level_set({"type": "plane"})
    R, r = np.eye(3)[None], np.array([[0.4, -0.1, 0.25]])
    found, a, b = common_normal(ball, plane, R, r, np.array([[0.05, 0.03, -0.19]]), np.array([[0.3, 0.0, 0.0]]))
    assert found.all()
    assert a[0] == pytest.approx([0, 0, -0.2], abs=1e-14)
    assert b[0] == pytest.approx([0.4, -0.1, 0.0], abs=1e-14)


def test_penetration_is_a_negative_gap():
    run = ellipsoid_in_dish()
    sunk = changed(run, object_position=run["object_position"] - 1e-5 * run["contact_normal"])
    assert touch(sunk).gap == pytest.approx(np.full(len(run), -1e-5), rel=1e-3)


def test_wrong_contact_points_in_the_record_do_not_hide_a_gap_or_make_one():
    run = ellipsoid_in_dish()
    on_object, on_hand = run["contact_on_object"] + 1e-4, run["contact_on_hand"] - 1e-4
    nudged = changed(run, contact_on_object=on_object, contact_on_hand=on_hand)
    assert np.max(np.abs(touch(nudged).gap)) < 1e-15
    assert touch(nudged).lever == pytest.approx(touch(run).lever, abs=1e-13)


def test_unknown_shapes_are_judged_by_the_recorded_points():
    run = ellipsoid_in_dish()
    measured = dataclasses.replace(run.scene[0], shape={"type": "samples"})
    unknown = dataclasses.replace(run, scene=(measured, run.scene[1]))
    again = touch(unknown)
    assert not again.exact.any()
    assert np.max(np.abs(again.gap)) < 1e-15
    apart = changed(unknown, contact_on_object=run["contact_on_object"] + [1e-6, 0, 0])
    assert np.abs(touch(apart).gap) == pytest.approx(np.full(len(run), 1e-6), rel=1e-6)


def test_a_far_away_hand_costs_no_digits():
    run = ball_on_plate(duration=1.0)
    far = np.array([1000.0, 0, 0])
    names = ("object_position", "hand_position", "contact_position")
    assert np.max(np.abs(touch(changed(run, **{n: run[n] + far for n in names})).gap)) < 1e-12


def test_planar_samples_without_known_curves_use_the_record():
    run = rock_on_terrain()
    scene = (run.scene[0], dataclasses.replace(run.scene[1], shape={"type": "spline"}))
    unknown = Trajectory(run.dataset, run.status, True, run.metadata, scene)
    again = touch(unknown)
    assert not again.exact.any()
    assert again.normal == pytest.approx(touch(run).normal, abs=2e-2)
    assert np.max(np.abs(again.slip)) < 1e-12


def test_contacts_of_a_robot_in_space_are_found_again_from_its_shapes():
    slope = 0.3
    robot = block((0.02, 0.01, 0.1), slope)
    start = robot.place(contacts=CORNERS, block=(0.0, -0.2, 0.0, np.cos(slope / 2), 0.0, np.sin(slope / 2), 0.0))
    run = tr.simulate(robot, start, 0.02, output_step=0.01, relative_tolerance=1e-9)
    for slot in range(4):
        again = touch(run, slot)
        assert again.exact.all()
        np.testing.assert_allclose(again.gap, run["gap"][:, slot], atol=1e-14)
        np.testing.assert_allclose(again.slip, run["slip"][:, slot], atol=1e-14)
        np.testing.assert_allclose(again.normal, run["contact_normal"][:, slot], atol=1e-14)
    # A record that says otherwise than its poses is found out.
    moved = run.dataset.copy(deep=True)
    moved["gap"] = moved["gap"] * 0.0
    moved["contact_position"] = moved["contact_position"] + 1e-3
    moved["body_position"] = moved["body_position"] + 2e-3 * run["contact_normal"][0, 0]
    false = touch(dataclasses.replace(run, dataset=moved), 0)
    np.testing.assert_allclose(false.gap, 2e-3, atol=1e-12)

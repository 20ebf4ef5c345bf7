from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate, changed, disk_down_slope, ellipsoid_in_dish, rock_on_terrain
from trundle.errors import InputError
from trundle.numerics.rotations import rotation_matrices
from trundle.report import meshes
from trundle.report.scene import build_stage
from trundle.report.staging import FIELD_OF_VIEW, FRAMES_PER_SECOND, MOST_FRAMES, frame_points


def test_frames_follow_the_motion_at_thirty_a_second():
    stage = build_stage(ball_on_plate(duration=2.0))
    assert len(stage.contact) == 61
    assert stage.seconds == pytest.approx(1 / FRAMES_PER_SECOND)
    assert stage.lapse == pytest.approx(1.0)


def test_long_runs_have_no_more_frames_than_a_page_can_carry():
    run = ball_on_plate(duration=3.0, step=0.03)
    slow = run.dataset.assign_coords(time=("time", run.time * 200, run.dataset["time"].attrs))
    stage = build_stage(dataclasses.replace(run, dataset=slow))
    assert len(stage.contact) == MOST_FRAMES + 1
    assert stage.seconds <= 2 / FRAMES_PER_SECOND
    assert stage.seconds * stage.lapse * MOST_FRAMES == pytest.approx(600.0)


def test_bodies_touch_the_contact_point_in_every_frame():
    run = ellipsoid_in_dish()
    stage = build_stage(run)
    body = stage.actors[0]
    # The recorded contact on the object, carried by the drawn pose, is the drawn contact point.
    frames = np.linspace(run.time[0], run.time[-1], len(stage.contact))
    local = np.stack([np.interp(frames, run.time, c) for c in run["contact_on_object"].T], axis=1)
    R = rotation_matrices(body.quaternions)
    at = body.positions + np.einsum("nij,nj->ni", R, local)
    assert at == pytest.approx(stage.contact, abs=2e-4)


def test_the_plane_is_drawn_upright_and_turns_counter_clockwise():
    run = rock_on_terrain()
    body = build_stage(run).actors[0]
    R = rotation_matrices(body.quaternions[-1:])[0]
    angle = run["body_angle"][-1, 0]
    assert R @ [1, 0, 0] == pytest.approx([np.cos(angle), 0, np.sin(angle)], abs=1e-12)
    local = run.scene[0].vertices[3]
    c, s = np.cos(angle), np.sin(angle)
    com = run.scene[0].center_of_mass
    world = run["body_position"][-1, 0] + np.array([[c, -s], [s, c]]) @ (local - com)
    drawn = body.positions[-1] + R @ [local[0], 0, local[1]]
    assert drawn == pytest.approx([world[0], 0, world[1]], abs=1e-12)


@pytest.mark.parametrize("make", [lambda: ball_on_plate(3.0), ellipsoid_in_dish, disk_down_slope, rock_on_terrain])
def test_the_camera_sees_the_whole_motion(make):
    stage = build_stage(make())
    forward = stage.look_at - stage.camera
    forward = forward / np.linalg.norm(forward)
    to = stage.actors[0].positions - stage.camera
    depth = to @ forward
    off = np.linalg.norm(to - depth[:, None] * forward, axis=1)
    # 0.72 rad is the height of the view, the width is at least 1.3 times that.
    assert np.all(depth > 0)
    assert np.all(off < 1.35 * np.tan(0.36) * depth)


@pytest.mark.parametrize("size", [(3.0, 0.5, 1.8), (0.5, 0.5, 1.8), (0.4, 6.0, 0.2)])
def test_a_frame_holds_all_points_and_no_more_than_it_must(size):
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3)) * size + [4.0, -2.0, 1.0]
    look_at, camera = frame_points(points, np.array([0.35, -1.25, 0.25]), aspect=1.4, room=0.84)
    ahead = (look_at - camera) / np.linalg.norm(look_at - camera)
    right = np.cross(ahead, [0.0, 0.0, 1.0]) / np.linalg.norm(np.cross(ahead, [0.0, 0.0, 1.0]))
    to = points - camera
    depth = to @ ahead
    assert depth.min() > 0.0
    height = 0.84 * np.tan(FIELD_OF_VIEW / 2)
    used = [np.max(np.abs(to @ axis) / depth) / height for axis in (right / 1.4, np.cross(right, ahead))]
    assert max(used) == pytest.approx(1.0)


def test_the_force_is_an_arrow_about_as_long_as_the_body():
    stage = build_stage(disk_down_slope())
    length = stage.force_scale * np.linalg.norm(stage.forces, axis=1)
    assert length.max() == pytest.approx(1.5 * stage.size, rel=1e-6)


def test_the_force_on_an_object_in_space_comes_out_of_it():
    stage = build_stage(ball_on_plate(duration=1.0))
    length = stage.force_scale * np.linalg.norm(stage.forces, axis=1)
    assert np.all(length > 2.5 * stage.size)
    still = ball_on_plate(duration=1.0)
    still = changed(still, contact_force=0 * still["contact_force"])
    assert build_stage(still).force_scale == 1.0


def test_the_fields_of_the_dish_end_on_straight_lines():
    run = ellipsoid_in_dish()
    axes = np.asarray(run.body("hand").shape["semi_axes"])
    for part in build_stage(run).actors[1].parts:
        edges = np.sort(np.concatenate([part.faces[:, [0, 1]], part.faces[:, [1, 2]], part.faces[:, [2, 0]]]), axis=1)
        unique, count = np.unique(edges, axis=0, return_counts=True)
        x = part.vertices[unique[count == 1]] / axes
        around = np.arctan2(x[:, :, 1], x[:, :, 0])
        up = np.arctan2(np.hypot(x[:, :, 0], x[:, :, 1]), x[:, :, 2])
        diagonal = (np.abs(np.sin(np.diff(around)[:, 0])) > 0.02) & (np.abs(np.diff(up)[:, 0]) > 0.02)
        at_pole = np.any(up > 0.94 * np.pi, axis=1)  # where all meridians meet
        assert np.mean(diagonal & ~at_pole) < 0.02


def test_a_run_without_surfaces_cannot_be_shown():
    run = ball_on_plate(duration=0.2)
    with pytest.raises(InputError, match="scene"):
        build_stage(dataclasses.replace(run, scene=()))
    with pytest.raises(InputError, match="'hand'"):
        build_stage(dataclasses.replace(run, scene=run.scene[:1]))


def area(parts):
    total = 0.0
    for part in parts:
        a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
        total += 0.5 * np.sum(np.linalg.norm(np.cross(b - a, c - a), axis=1))
    return total


def test_the_checkered_ball_is_the_whole_ball_in_two_equal_colours():
    parts = meshes.checkered_object(ball_on_plate(duration=0.2).scene[0])
    assert len({part.colour for part in parts}) == 2
    assert area(parts) == pytest.approx(4 * np.pi * 0.2**2, rel=0.01)
    assert area(parts[:1]) == pytest.approx(area(parts[1:]), rel=0.05)
    for part in parts:  # outwards
        a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
        assert np.all(np.sum(np.cross(b - a, c - a) * (a + b + c), axis=1) >= -1e-12)


def test_a_coarse_mesh_is_refined_without_changing_its_surface():
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    fine_vertices, fine = meshes._refine_triangles(vertices, faces, 1000)
    assert len(fine) == 1024
    before = area([meshes.MeshPart(vertices, faces, (0, 0, 0))])
    assert area([meshes.MeshPart(fine_vertices, fine, (0, 0, 0))]) == pytest.approx(before)


def test_the_dish_is_seen_from_inside():
    run = ellipsoid_in_dish()
    for part in build_stage(run).actors[1].parts:
        a, b, c = (part.vertices[part.faces[:, k]] for k in range(3))
        inwards = -np.sum(np.cross(b - a, c - a) * (a + b + c), axis=1)
        assert np.all(inwards >= 0)


def test_the_extruded_outline_has_the_thickness_asked_for():
    parts = meshes.extruded_body(disk_down_slope(duration=0.2).scene[0], 0.1)
    points = np.vstack([part.vertices for part in parts])
    assert np.ptp(points[:, 1]) == pytest.approx(0.1)
    caps = 2 * np.pi * 0.25**2
    assert area(parts) == pytest.approx(caps + 2 * np.pi * 0.25 * 0.1, rel=0.01)


def test_the_cone_opens_by_the_friction_angle():
    lines = meshes.cone_lines(0.8, 1.0)
    assert np.hypot(lines[:48, 0, 0], lines[:48, 0, 1]) == pytest.approx(0.8)
    assert lines[48:, 0] == pytest.approx(0.0)
    assert meshes.wedge_lines(0.5, 1.0)[:, 1].tolist() == [[0.5, 0, 1], [-0.5, 0, 1]]


def test_a_long_flight_does_not_push_the_contact_out_of_sight():
    run = ellipsoid_in_dish()
    force, position = run["contact_force"].copy(), run["object_position"].copy()
    force[100:] = 0.0
    position[100:, 2] -= np.linspace(0, 100, 100)
    stage = build_stage(changed(run, contact_force=force, object_position=position))
    assert np.linalg.norm(stage.camera - stage.look_at) < 3 * np.linalg.norm(
        build_stage(run).camera - build_stage(run).look_at
    )

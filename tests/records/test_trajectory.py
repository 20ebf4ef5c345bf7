from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
import xarray as xr

from tests.report.synthetic import ball_on_plate, changed, disk_down_slope
from trundle.errors import InputError
from trundle.records import Trajectory, load_trajectory
from trundle.status import Status


@pytest.fixture(scope="module")
def ball():
    return ball_on_plate(duration=0.5)


@pytest.fixture(scope="module")
def disk():
    return disk_down_slope(duration=0.5)


@pytest.mark.parametrize("which", ["ball", "disk"])
def test_a_saved_run_comes_back_exactly(which, request, tmp_path):
    run = request.getfixturevalue(which)
    metadata = dict(run.metadata) | {
        "transitions": [{"time": 0.1, "from": "rolling", "to": "sliding", "reason": "cone"}]
    }
    run = dataclasses.replace(run, status=Status.SLIPPED, feasible=False, metadata=metadata)
    again = load_trajectory(run.save(tmp_path / "trajectory.nc"))
    xr.testing.assert_identical(again.dataset, run.dataset)
    assert all(again.dataset[name].dtype == run.dataset[name].dtype for name in run.dataset.variables)
    assert (again.status, again.feasible, again.metadata) == (Status.SLIPPED, False, run.metadata)
    assert again.transitions[0]["to"] == "sliding"
    for one, other in zip(again.scene, run.scene, strict=True):
        assert np.array_equal(one.vertices, other.vertices)
        assert np.array_equal(one.center_of_mass, other.center_of_mass)
        assert (one.faces is None and other.faces is None) or np.array_equal(one.faces, other.faces)
        assert (one.name, one.role, one.closed, one.shape) == (other.name, other.role, other.closed, other.shape)


def test_anybody_can_read_the_file_with_xarray_alone(ball, tmp_path):
    with xr.open_dataset(ball.save(tmp_path / "trajectory.nc")) as plain:
        assert set(plain.data_vars) == set(ball.dataset.data_vars)
        assert plain["time"].dtype == np.float64
        assert set(plain["mode"].values) == {"rolling"}
        assert list(plain["xyz"].values) == ["x", "y", "z"]
        assert plain.attrs["status"] == "success"
        for variable in plain.data_vars.values():
            assert {"units", "frame", "long_name"} <= set(variable.attrs)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(ball, disk, tmp_path, monkeypatch):
    target = ball.save(tmp_path / "trajectory.nc")
    before = target.read_bytes()

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(InputError, match="disk full"):
        disk.save(target)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["trajectory.nc"]


def test_files_that_are_no_trajectory_are_named(ball, tmp_path):
    with pytest.raises(InputError, match="existing file"):
        load_trajectory(tmp_path / "none.nc")
    text = tmp_path / "text.nc"
    text.write_text("hello")
    with pytest.raises(InputError, match=r"text\.nc.*written by trundle"):
        load_trajectory(text)
    foreign = tmp_path / "foreign.nc"
    ball.dataset.to_netcdf(foreign, engine="h5netcdf")
    with pytest.raises(InputError, match=r"foreign\.nc.*written by trundle"):
        load_trajectory(foreign)
    with pytest.raises(InputError, match="folder"):
        ball.save(tmp_path / "no" / "such" / "trajectory.nc")


def test_a_file_with_a_missing_or_broken_variable_is_refused(ball, tmp_path):
    lacking = Trajectory(ball.dataset.drop_vars("gap"), ball.status, True, ball.metadata)
    with pytest.raises(InputError, match=r"lacking\.nc: gap"):
        load_trajectory(lacking.save(tmp_path / "lacking.nc"))
    broken = changed(ball, gap=np.full(len(ball), np.nan))
    with pytest.raises(InputError, match="gap = 'not finite'"):
        load_trajectory(broken.save(tmp_path / "broken.nc"))


def test_metadata_that_json_cannot_hold_is_refused_before_anything_is_written(ball, tmp_path):
    run = dataclasses.replace(ball, metadata=dict(ball.metadata) | {"speed": float("nan")})
    with pytest.raises(InputError, match="JSON"):
        run.save(tmp_path / "trajectory.nc")
    assert not list(tmp_path.iterdir())


def test_values_are_reached_by_name_and_cannot_be_changed(ball, tmp_path):
    for run in (ball, load_trajectory(ball.save(tmp_path / "trajectory.nc"))):
        assert run["object_position"].shape == (len(run), 3)
        assert run.final["object_position"] == pytest.approx(run["object_position"][-1])
        assert run.time[-1] == pytest.approx(0.5)
        assert "gap" in run
        assert "torque" not in run
        with pytest.raises(ValueError, match="read-only"):
            run["gap"][0] = 1.0
    with pytest.raises(InputError, match="one of time, object_position"):
        ball["objet_position"]


def test_a_run_says_in_one_line_what_it_is(ball):
    assert repr(ball) == "<Trajectory juggling: 51 samples over 0.5 s, success, feasible>"
    assert ball.kind == "juggling"
    assert ball.body("hand").name == "plate"
    assert ball.body("terrain") is None


def test_metadata_is_a_copy_and_a_kind_is_what_made_the_run(ball):
    metadata = {"kind": "juggling", "statistics": {"steps": 3}}
    run = Trajectory(ball.dataset, Status.SUCCESS, True, metadata)
    metadata["statistics"]["steps"] = 4
    assert run.metadata["statistics"]["steps"] == 3
    assert run.kind == "juggling"
    alone = Trajectory(ball.dataset, Status.SUCCESS, True, {})
    assert (alone.kind, alone.layout, alone.dimension) == ("pair", "pair", 3)

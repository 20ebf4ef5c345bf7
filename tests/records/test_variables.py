from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate, disk_down_slope
from trundle.errors import InputError
from trundle.records import PAIR, ROBOT, Variable, View, make_dataset, tree_view

CONTRACT = {
    "juggling": "object_position object_quaternion object_velocity object_angular_velocity hand_position "
    "hand_quaternion hand_velocity hand_angular_velocity contact_position contact_normal contact_force "
    "contact_moment contact_on_hand contact_on_object gap slip energy mode hand_acceleration",
    "planar": "body_position body_angle body_velocity body_angular_velocity contact_position contact_normal "
    "contact_force gap slip energy mode torque joint_position joint_velocity",
    "spatial": "body_position body_quaternion body_velocity body_angular_velocity contact_position contact_normal "
    "contact_force contact_moment gap slip energy mode torque joint_position joint_velocity body_torque",
    "walking": "com_position com_velocity joint_position joint_velocity joint_torque base_position base_quaternion "
    "base_velocity base_angular_velocity contact_position contact_force gap slip phase body_position body_quaternion "
    "body_velocity body_angular_velocity contact_normal contact_moment energy mode body_torque",
}


def arrays(run):
    return {str(name): run[str(name)] for name in run.dataset.data_vars}


VIEWS = {"juggling": PAIR, "planar": tree_view(2), "spatial": tree_view(3), "walking": ROBOT}


@pytest.mark.parametrize("kind", CONTRACT)
def test_the_view_has_the_names_that_others_rely_on(kind):
    variables = VIEWS[kind].variables
    assert set(variables) == set(CONTRACT[kind].split())
    for variable in variables.values():
        assert variable.dims[0] == "time"
        assert variable.units
        assert variable.frame
        assert variable.long_name


def test_a_view_may_have_labels_of_its_own():
    view = View("mine", {"load": Variable(("time", "cell"), "N", "none", "load of a cell")}, {"cell": ("fore", "aft")})
    data = make_dataset(view, [0.0, 1.0], {"load": np.ones((2, 2))})
    assert data["cell"].values.tolist() == ["fore", "aft"]
    with pytest.raises(InputError, match=r"variables of the view mine: load"):
        make_dataset(view, [0.0, 1.0], {"lode": np.ones((2, 2))})


def test_dimensions_follow_the_kind():
    ball, disk = ball_on_plate(duration=0.1).dataset, disk_down_slope(duration=0.1).dataset
    assert ball["object_position"].dims == ("time", "xyz")
    assert ball["object_quaternion"].dims == ("time", "wxyz")
    assert {ball[name].dims for name in ("gap", "energy", "contact_moment", "mode")} == {("time",)}
    assert disk["body_position"].dims == ("time", "body", "xz")
    assert disk["contact_force"].dims == ("time", "contact", "xz")
    assert disk["gap"].dims == ("time", "contact")
    assert disk["energy"].dims == ("time",)
    assert set(ball.coords) == {"time", "xyz", "wxyz"}
    assert set(disk.coords) == {"time", "xz", "body", "contact", "joint"}


def test_a_driven_hand_brings_its_twist_rate():
    given = arrays(ball_on_plate(duration=0.1))
    data = make_dataset(PAIR, np.arange(11) * 0.01, given | {"hand_acceleration": np.zeros((11, 6))})
    assert data["hand_acceleration"].sizes == {"time": 11, "twist": 6}
    assert data["twist"].values[0] == "angular_x"


def test_modes_are_names_however_they_are_given():
    given = arrays(ball_on_plate(duration=0.1))
    given["mode"] = np.array([0] * 5 + [1] * 6)
    data = make_dataset(PAIR, np.arange(11) * 0.01, given, mode_names=("rolling", "sliding"))
    assert data["mode"].values.tolist() == ["rolling"] * 5 + ["sliding"] * 6
    with pytest.raises(InputError, match="mode_names"):
        make_dataset(PAIR, np.arange(11) * 0.01, given, mode_names=("rolling",))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(bad):
    given = arrays(ball_on_plate(duration=0.1))
    force = given["contact_force"].copy()
    force[7, 2] = bad
    with pytest.raises(InputError, match=r"contact_force.*at sample 7"):
        make_dataset(PAIR, np.arange(11) * 0.01, given | {"contact_force": force})


def test_missing_unknown_and_misshapen_variables_are_refused():
    given = arrays(ball_on_plate(duration=0.1))
    time = np.arange(11) * 0.01
    with pytest.raises(InputError, match="missing: gap"):
        make_dataset(PAIR, time, {k: v for k, v in given.items() if k != "gap"})
    with pytest.raises(InputError, match="gab"):
        make_dataset(PAIR, time, given | {"gab": given["gap"]})
    with pytest.raises(InputError, match=r"slip.*\(11, 3\)"):
        make_dataset(PAIR, time, given | {"slip": given["slip"].T})
    with pytest.raises(InputError, match="not decreasing"):
        make_dataset(PAIR, time[::-1], given)
    with pytest.raises(InputError, match="energy"):
        make_dataset(PAIR, time, given | {"energy": ["a"] * 11})


def test_two_samples_at_one_time_are_allowed_for_an_impact():
    given = arrays(ball_on_plate(duration=0.02))
    data = make_dataset(PAIR, [0.0, 0.01, 0.01], given)
    assert data.sizes["time"] == 3


def test_planar_torque_is_zero_unless_given():
    disk = disk_down_slope(duration=0.1)
    assert disk["torque"].shape == (11, 1)
    assert not disk["torque"].any()


def test_importing_the_records_loads_no_heavy_package():
    code = (
        "import sys, trundle.records, trundle.report; "
        "print([m for m in ('xarray', 'h5netcdf', 'matplotlib', 'viser', 'casadi', 'scipy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"

from __future__ import annotations

import numpy as np
import pytest

from tests.systems.walking.measured import c3d, mot, text, trc
from tests.systems.walking.measured import columns as made
from trundle.errors import InputError
from trundle.systems.walking.scenario.measured import motion_files
from trundle.systems.walking.scenario.measured.gait_data import read_gait
from trundle.systems.walking.scenario.measured.motion_files import read_motion

columns = pytest.fixture(made)


def table(path, **settings):
    found = read_motion(path, **settings)
    return dict(zip(found.names, found.rows.T, strict=True))


def test_a_trc_and_a_mot_file_say_what_the_text_says(tmp_path, columns):
    plain = table(text(tmp_path / "walk.txt", columns))
    other = table(trc(tmp_path / "walk.trc", columns), forces=mot(tmp_path / "walk.mot", columns))
    assert set(other) == set(columns)
    for name in columns:
        np.testing.assert_allclose(other[name], plain[name], atol=1e-6, rtol=1e-6)
    gait = read_gait(tmp_path / "walk.trc", "LM", "LEK", "FP1", "HIP", forces=tmp_path / "walk.mot")
    np.testing.assert_allclose(gait.pressure, 0.3 + columns["TimeStamp"], atol=1e-6)
    np.testing.assert_allclose(gait.push, columns["FP1.ForX"], atol=1e-6)


def test_axes_point_where_they_are_said_to(tmp_path, columns):
    file = trc(tmp_path / "walk.trc", columns)
    turned = table(file, forward="-y", up="z")
    np.testing.assert_allclose(turned["LM.PosX"], -columns["LM.PosY"], atol=1e-6)
    np.testing.assert_allclose(turned["LM.PosY"], 0.08)
    with pytest.raises(InputError, match="up = 'y': must be another axis than forward"):
        table(file, forward="-y", up="y")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("PathFileType", "Path", "a TRC file: its first line begins with PathFileType"),
        ("\tmm\n", "\tinch\n", "line 3, Units = 'inch'"),
        ("\n3\t0.02\t", "\n3\t0.02x\t", r"line 9, Time: 0.02x': must be a finite number"),
        ("\n3\t0.02\t", "\n3\t", r"line 9: 10 fields': must be 11"),
        ("\t50\t3\tmm", "\t51\t3\tmm", r"50 rows': must be whole: 51 are announced"),
    ],
)
def test_a_malformed_trc_file_is_refused_by_name_and_line(tmp_path, columns, before, after, message):
    file = trc(tmp_path / "walk.trc", columns)
    file.write_text(file.read_text().replace(before, after, 1))
    with pytest.raises(InputError, match=message) as caught:
        read_motion(file)
    assert "walk.trc" in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("endheader", "", "a line 'endheader'"),
        ("nRows=50", "nRows=51", "whole: 51 are announced"),
        ("FP1_py", "FP1_q", "a file with the columns FP1_py"),
        ("\ttime", "", "fields"),
        ("time\t", "t\t", "a file with the column time"),
        ("\n0.02\t", "\n0.01\t", "times that ascend and reach from 0 to 0.49 s"),
    ],
)
def test_a_malformed_mot_file_is_refused_by_name(tmp_path, columns, before, after, message):
    markers, forces = trc(tmp_path / "walk.trc", columns), mot(tmp_path / "walk.mot", columns)
    changed = forces.read_text().replace(before, after, 1)
    if changed == forces.read_text():
        changed = changed.replace("time\t", "", 1)
    forces.write_text(changed)
    with pytest.raises(InputError, match=message) as caught:
        read_motion(markers, forces)
    assert "walk.mot" in str(caught.value)
    assert caught.value.key == "FORCES"


def test_a_c3d_file_with_z_up_says_what_the_text_says(tmp_path, columns):
    pytest.importorskip("ezc3d")
    columns["LM.PosX"][7] = columns["LM.PosY"][7] = np.nan
    found = table(c3d(tmp_path / "walk.c3d", columns))
    np.testing.assert_allclose(found["TimeStamp"], columns["TimeStamp"], atol=1e-6)
    np.testing.assert_allclose(found["LEK.PosY"], columns["LEK.PosY"], atol=1e-6)
    assert np.flatnonzero(np.isnan(found["LM.PosX"])).tolist() == [7]


def test_a_c3d_file_that_is_cut_off_or_breaks_its_reader_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("ezc3d")
    file = c3d(tmp_path / "walk.c3d", made())
    whole = file.read_bytes()
    file.write_bytes(whole[:12_000])
    with pytest.raises(InputError, match=r"36 rows.*must be whole: 50 are announced"):
        read_motion(file)
    file.write_bytes(whole)
    dies = tmp_path / "dies.py"
    for script, seconds, said in (
        ("import os; os.abort()", 60.0, "its reader broke down"),
        ("while True: pass", 0.5, "had not ended after"),
    ):
        dies.write_text(script)
        monkeypatch.setattr(motion_files.c3d_reader, "__file__", str(dies))
        monkeypatch.setattr(motion_files, "_SECONDS", seconds)
        with pytest.raises(InputError, match=said):
            read_motion(file)


def test_a_plate_in_a_c3d_file_tells_the_force_on_the_foot_and_where_it_acts(tmp_path):
    pytest.importorskip("ezc3d")
    found = table(c3d(tmp_path / "walk.c3d", made()))
    np.testing.assert_allclose(found["FP1.ForX"], 50.0)
    np.testing.assert_allclose(found["FP1.ForY"], 600.0)
    # about the surface My = 72 N m - 50 N x 0.04 m, so that the force acts 70/600 m ahead of the middle at 0.3 m
    np.testing.assert_allclose(found["FP1.MomZ"], 600.0 * (0.3 + 70.0 / 600.0), rtol=1e-6)


def test_what_is_no_c3d_file_is_refused(tmp_path):
    pytest.importorskip("ezc3d")
    (tmp_path / "walk.c3d").write_text("no")
    with pytest.raises(InputError, match=r"walk\.c3d': must be a C3D file"):
        read_motion(tmp_path / "walk.c3d")

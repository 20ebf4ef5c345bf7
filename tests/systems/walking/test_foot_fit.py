from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from tests.cli.test_cli import trundle
from trundle.errors import InputError
from trundle.scenarios import load_scenario
from trundle.scenarios.catalogue import path_of
from trundle.systems.planar.passive_walker import PassiveWalker
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.walking.scenario.build import build
from trundle.systems.walking.scenario.measured import foot_fit
from trundle.systems.walking.scenario.measured.gait_data import read_gait

NAMES = "TimeStamp RGTRO.PosX RGTRO.PosY RLEK.PosX RLEK.PosY RLM.PosX RLM.PosY FP2.ForY FP2.MomZ".split()


def synthetic(radius=0.28, noise=0.0, seed=0, contacts=2, center=(0.03, 0.19), shape=None):
    """Rows of a leg whose shank carries a rigid sole that rolls on the ground: a circle, or a support function.

    The shank turns from -0.35 to 0.5 rad on the ground; in between the foot is in the air. ``shape``: angle of the
    normal from straight down -> point (x, y) in the shank's frame, for soles that are no circles.
    """
    rows, t = [], 0.0
    sole = shape or (lambda u: np.array(center) + radius * np.array([np.sin(u), -np.cos(u)]))
    for _ in range(contacts):
        rolled, last = 0.4, None
        for phi in np.linspace(-0.35, 0.5, 70):  # clockwise: the shank leans forward
            R = np.array([[np.cos(phi), np.sin(phi)], [-np.sin(phi), np.cos(phi)]])
            point = sole(phi)
            if last is not None:
                rolled += float(np.linalg.norm(point - last))
            last = point
            ankle = np.array([rolled, 0.0]) - R @ point
            knee, hip = ankle + R @ [0.0, 0.44], ankle + R @ [0.0, 0.82]
            force = 600.0
            rows.append([t, *hip, *knee, *ankle, force, force * rolled])
            t += 0.01
        for _ in range(30):
            rows.append([t, *hip, *knee, *ankle, 2.0, 0.0])
            t += 0.01
    rows = [[k * 0.01, *rows[-1][1:-2], 1.0, 0.0] for k in range(20)] + [[r[0] + 0.2, *r[1:]] for r in rows]
    data = np.array(rows)
    random = np.random.default_rng(seed)
    data[:, 1:7] += noise * random.normal(size=(len(data), 6))
    data[:, 8] += noise * data[:, 7] * random.normal(size=len(data))
    return data


def file_of(path, data, separator="\t", comment="% "):
    lines = [comment + separator.join(NAMES)]
    lines += [separator.join("NaN" if np.isnan(v) else f"{v:.6g}" for v in row) for row in data]
    path.write_text("\n".join(lines) + "\n")
    return path


def fitted(path, **settings):
    return foot_fit.fit_foot(read_gait(path, "RLM", "RLEK", "FP2", "RGTRO"), **{"samples": 60} | settings)


@pytest.mark.parametrize("radius", [0.2, 0.28, 0.36])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_known_shape_with_noise_gives_its_radius_back(tmp_path, radius, seed):
    foot = fitted(file_of(tmp_path / "gait.txt", synthetic(radius, noise=0.001, seed=seed)))
    assert abs(foot.circle.radius - radius) < 0.03 * radius
    assert np.linalg.norm(foot.circle.center - [0.03, 0.19]) < 0.03 * radius
    assert foot.interval[0] < foot.circle.radius < foot.interval[1]
    assert 0.0 < foot.deviation < 0.03 * radius
    assert foot.tangency < 0.03
    assert foot.leg == pytest.approx(0.82 + radius - 0.19, rel=0.01)


def test_exact_data_give_the_exact_circle_in_any_layout(tmp_path):
    data = synthetic()
    data[:, 1:7:2] += 3.0  # where the origin is does not matter
    data[:, 8] += 3.0 * data[:, 7]
    for separator, comment in (("\t", "% "), (",", "# "), (",", "")):
        foot = fitted(file_of(tmp_path / "gait.txt", data, separator, comment), samples=2)
        assert foot.circle.radius == pytest.approx(0.28, abs=1e-4)
        assert foot.tangency < 1e-3


def test_contacts_that_lack_numbers_or_ends_are_left_out(tmp_path):
    data = synthetic(contacts=3)
    data[40, 3] = np.nan
    foot = fitted(file_of(tmp_path / "gait.txt", data[: len(data) - 60]))
    assert [bool(contact.fault) for contact in foot.contacts] == [True, False, True]
    assert foot.missing == 1
    assert len(foot.points) == 70
    with pytest.raises(InputError, match=r"complete contact .*lack a number"):
        fitted(file_of(tmp_path / "gait.txt", data[:100]))


def test_ellipsoid_has_the_circles_lowest_point_and_curvature(tmp_path):
    foot = fitted(file_of(tmp_path / "gait.txt", synthetic()))
    axes, center = foot.ellipsoid(lateral=0.05, vertical=0.04)
    assert axes[0] ** 2 / axes[2] == pytest.approx(foot.circle.radius)
    assert center[2] - axes[2] == pytest.approx(foot.circle.center[1] - foot.circle.radius)
    assert center[0] == foot.circle.center[0]


def test_the_avatar_stands_on_the_fitted_foot(tmp_path):
    before = build_avatar()
    foot = fitted(file_of(tmp_path / "gait.txt", synthetic()))
    after = foot.on_avatar(before, scale=1.1)
    depth = after.foot.depth
    assert depth == pytest.approx(1.1 * (foot.circle.radius - foot.circle.center[1]))
    assert after.foot.sole.semi_axes[0] ** 2 / after.foot.sole.semi_axes[2] == pytest.approx(1.1 * foot.circle.radius)
    np.testing.assert_allclose(after.foot.flat[:, 2], -depth)
    # Ankles stay where they are below the base.
    ankle = before.base_height - before.foot.depth
    assert after.base_height - depth == pytest.approx(ankle)
    assert after.robot is before.robot


def test_command_writes_estimate_tables_and_picture(tmp_path, capsys):
    path = file_of(tmp_path / "gait.txt", synthetic(noise=0.001))
    code, out, _ = trundle(capsys, "fit-foot", path, "--out", tmp_path / "foot", "--samples", "50")
    assert code == 0
    assert "radius 0.2" in out
    assert {p.name for p in (tmp_path / "foot").iterdir()} == {".trundle.jsonl", "foot.json", "foot.toml", "foot.png"}
    found = json.loads((tmp_path / "foot" / "foot.json").read_text())
    tables = tomllib.loads((tmp_path / "foot" / "foot.toml").read_text())
    assert found["radius_interval"][0] < found["radius"] < found["radius_interval"][1]
    assert tables["foot"]["shape"]["type"] == "ellipsoid"
    assert len(tables["foot"]["center"]) == 3
    walker = PassiveWalker(**tables["walker"])
    assert walker.foot_radius == pytest.approx(0.28, rel=0.03)
    walk = path_of("walk-flat").read_text() + (tmp_path / "foot" / "foot.toml").read_text().partition("[walker]")[0]
    (tmp_path / "walk.toml").write_text(walk)
    foot = build(load_scenario(tmp_path / "walk.toml")).avatar.foot
    assert foot.sole.semi_axes[0] ** 2 / foot.sole.semi_axes[2] == pytest.approx(found["radius"], rel=1e-3)
    assert foot.center.tolist() == tables["foot"]["center"]
    again = trundle(capsys, "fit-foot", path, "--out", tmp_path / "two", "--samples", "50", "--no-plots")
    assert again[1].splitlines()[0] == out.splitlines()[0]


BROKEN = {
    "empty": ("", "not empty"),
    "binary": (b"\xff\xfe\x00", "UTF-8"),
    "one row": ("\t".join(NAMES) + "\n" + "\t".join("0" * 9) + "\n", "at least 20 rows"),
    "letters": ("\t".join(NAMES) + "\n" + "\t".join(["0"] * 8 + ["much"]) + "\n", "line 2, FP2.MomZ: much"),
    "infinity": ("\t".join(NAMES) + "\n" + "\t".join(["0"] * 8 + ["inf"]) + "\n", "finite number"),
    "ragged": ("\t".join(NAMES) + "\n0\t1\n", "line 2: 2 fields"),
    "twice": ("\t".join([*NAMES, "FP2.ForY"]) + "\n", "a header whose names all differ (FP2.ForY occurs twice)"),
    "no plate": ("\t".join(NAMES[:-1]) + "\n" + ("\t".join("012345678"[:8]) + "\n") * 30, "FP2.MomZ"),
    "time stands": ("\t".join(NAMES) + "\n" + ("\t".join("0" * 9) + "\n") * 30, "ascends"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_bad_input(tmp_path, capsys, name):
    content, said = BROKEN[name]
    path = tmp_path / "gait.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, _, err = trundle(capsys, "fit-foot", path, "--out", tmp_path / "foot")
    assert code == 2
    assert said in err
    assert "gait.txt" in err
    assert not (tmp_path / "foot").exists()


def test_other_bad_input(tmp_path, capsys):
    path = file_of(tmp_path / "gait.txt", synthetic())
    for arguments, said in (
        (["--from-force", "-1"], "cutoffs"),
        (["--from-force", "300", "--to-force", "100"], "cutoffs"),
        (["--ankle", "LLM"], "LLM.PosX"),
        (["--from-force", "5000", "--to-force", "6000"], "complete contact"),
    ):
        code, _, err = trundle(capsys, "fit-foot", path, "--out", tmp_path / "foot", *arguments)
        assert (code, said in err) == (2, True), err
    assert trundle(capsys, "fit-foot", tmp_path / "no.txt", "--out", tmp_path / "foot")[0] == 2
    in_mm = synthetic() * np.array([1, *[1000] * 6, 1, 1])
    assert trundle(capsys, "fit-foot", file_of(tmp_path / "mm.txt", in_mm), "--out", tmp_path / "foot")[0] == 2


def test_a_bad_sample_of_the_plate_does_not_move_the_radius(tmp_path):
    data = synthetic(noise=0.001)
    data[60, 8] += 600.0 * 5.0  # a centre of pressure 5 m away
    foot = fitted(file_of(tmp_path / "gait.txt", data))
    assert abs(foot.circle.radius - 0.28) < 0.03 * 0.28


@pytest.mark.parametrize(("column", "name"), [(3, "RLEK.PosX"), (6, "RLM.PosY"), (1, "RGTRO.PosX")])
@pytest.mark.parametrize("row", [0, 60, -1])
def test_a_marker_that_jumps_is_refused_with_its_place(tmp_path, capsys, column, name, row):
    data = synthetic()
    data[row, column] += 5.0
    path = file_of(tmp_path / "gait.txt", data)
    code, _, err = trundle(capsys, "fit-foot", path, "--out", tmp_path / "foot")
    line = row % len(data) + 2
    assert (code, f"line {line}, {name}" in " ".join(err.split())) == (2, True), err


def test_data_without_an_arc_are_refused_by_their_file(tmp_path, capsys):
    still = synthetic()
    still[:, 1:7] = still[60, 1:7]
    still[:, 8] = np.where(still[:, 7] > 100, still[60, 8], 0.0)
    code, _, err = trundle(capsys, "fit-foot", file_of(tmp_path / "gait.txt", still), "--out", tmp_path / "foot")
    assert (code, "gait.txt" in err, "line" in err) == (2, True, True), err


@pytest.mark.parametrize("seed", range(3))
def test_mutated_files_are_read_or_refused_in_good_order(tmp_path, seed):
    import random

    rng = random.Random(seed)
    base = file_of(tmp_path / "good.txt", synthetic(contacts=1)).read_bytes()
    path = tmp_path / "case.txt"
    for _ in range(60):
        content = bytearray(base)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(content))
            what = rng.random()
            if what < 0.4:
                content[at] = rng.choice(b"0123456789.-e\t\n,NaNinf%\xff")
            elif what < 0.7:
                del content[at : at + rng.randint(1, 200)]
            else:
                content[at:at] = rng.choice([b"nan", b"1e999", b"\n", b"\t", b"--", b"9" * 30])
        path.write_bytes(bytes(content))
        try:
            radius = fitted(path, samples=5).circle.radius
        except InputError:
            radius = 0.0
        assert np.isfinite(radius)


@pytest.mark.parametrize("fault", ["reversed", "repeated", "missing"])
def test_a_time_that_does_not_ascend_is_refused_with_its_line(tmp_path, fault):
    data = synthetic()
    data[60:63, 0] = {"reversed": data[60:63, 0][::-1], "repeated": data[60, 0], "missing": np.nan}[fault]
    with pytest.raises(InputError, match=r"line 6[23], TimeStamp: .* ascends \(s\)"):
        fitted(file_of(tmp_path / "gait.txt", data))


def test_a_hip_that_is_never_seen_leaves_no_leg(tmp_path):
    data = synthetic()
    data[:, 1:3] = np.nan
    assert fitted(file_of(tmp_path / "gait.txt", data)).leg is None

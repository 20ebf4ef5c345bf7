"""A run as a table: columns by name, files that other programs read back with the same numbers, and MCAP."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from tests.records.test_trials import FULL, SPARE, recorded
from tests.report.synthetic import ball_on_plate, changed, disk_down_slope
from trundle.cli import main
from trundle.errors import InputError, MissingExtraError
from trundle.extras import command
from trundle.numerics.rotations import rotation_rpy
from trundle.records import Trajectory, Variable, View, make_dataset


def cart() -> Trajectory:
    """A body on two wheels, which roll down a slope: two contacts, two joints."""
    robot = tr.Robot()
    base = robot.free(2.0, 0.05, name="base")
    for name, x in (("front", 0.2), ("rear", -0.2)):
        wheel = robot.revolute(base, at=(x, 0.0), mass=0.3, inertia=0.001, name=name)
        robot.attach(wheel, tr.Circle(0.1), name=name)
    robot.terrain(tr.Line(slope=-0.1))
    tree = robot.finish()
    return tr.simulate(tree, tree.place(contacts=["front", "rear"], base=(0.0, 0.1, -0.0997)), 0.3)


@pytest.fixture(scope="module")
def runs() -> dict[str, Trajectory]:
    return {"pair": ball_on_plate(duration=0.3), "disk": disk_down_slope(duration=0.3), "tree": cart()}


KINDS = ("pair", "disk", "tree")


def same_in_csv(path, table: pd.DataFrame) -> bool:
    """Compare a file with a table; numbers as Python reads them: pandas before version 3 is off in their last digit."""
    read = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert list(read) == list(table)
    for name, column in table.items():
        number = column.dtype.kind in "iuf"
        found = np.array([float(text or "nan") if number else text for text in read[name]])
        if not np.array_equal(found, column.to_numpy(found.dtype), equal_nan=number):
            return False
    return True


def messages(path) -> dict[str, list[tuple[float, dict]]]:
    """The messages of an MCAP file by topic, with their times in s."""
    from mcap.reader import make_reader

    found: dict[str, list[tuple[float, dict]]] = {}
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            assert (schema.encoding, channel.message_encoding) == ("jsonschema", "json")
            content = json.loads(message.data)
            fits(content, json.loads(schema.data))
            found.setdefault(channel.topic, []).append((message.log_time * 1e-9, content))
    return found


def sent(run: Trajectory, path) -> dict[str, list[tuple[float, dict]]]:
    """The messages that a run writes."""
    pytest.importorskip("mcap")
    return messages(run.to_mcap(path))


def fits(content, schema) -> None:
    """Check a message against its schema: types all the way down, and no key that the schema lacks."""
    known = {"object": dict, "array": list, "number": (int, float), "integer": int, "string": str, "boolean": bool}
    assert isinstance(content, known[schema["type"]])
    if schema["type"] == "object":
        assert content.keys() <= schema["properties"].keys()
        for key, value in content.items():
            fits(value, schema["properties"][key])
    for value in content if schema["type"] == "array" else ():
        fits(value, schema["items"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_a_run_is_in_the_table_under_its_name(runs, kind) -> None:
    run = runs[kind]
    table = run.to_dataframe()
    assert len(table) == len(run)
    numbers = sum(run[name][0].size for name in run.keys())
    assert table.shape[1] == numbers
    for name in run.keys():
        own = [column for column in table if column.split(".")[0] == name]
        assert np.array_equal(table[own].to_numpy().reshape(run[name].shape), run[name])
        for column in own:
            assert table.attrs["units"][column] == run.dataset[name].attrs["units"]
            assert table.attrs["frame"][column] == run.dataset[name].attrs["frame"]


def test_columns_are_named_by_joints_contacts_bodies_and_components(runs) -> None:
    run = runs["tree"]
    table = run.to_dataframe()
    contacts, joints, bodies = (run[name].tolist() for name in ("contact", "joint", "body"))
    assert {f"contact_force.{c}.{axis}" for c in contacts for axis in "xz"} <= set(table)
    assert {f"joint_position.{joint}" for joint in joints} <= set(table)
    assert {f"body_angle.{body}" for body in bodies} <= set(table)
    assert np.array_equal(table["contact_force.rear.z"], run["contact_force"][:, contacts.index("rear"), 1])
    assert np.array_equal(table["joint_velocity.front"], run["joint_velocity"][:, joints.index("front")])
    assert set(table["mode.front"]) == {"rolling"}


def test_columns_are_chosen_by_name_or_how_it_begins_in_the_order_asked_for(runs) -> None:
    choose = runs["tree"].to_dataframe
    assert list(choose(["gap", "contact_force.rear"])) == [
        "time", "gap.front", "gap.rear", "contact_force.rear.x", "contact_force.rear.z",
    ]  # fmt: skip
    assert list(choose(["time", "energy"])) == ["time", "energy"]
    assert list(choose([])) == ["time"]
    assert list(choose("energy")) == ["time", "energy"]
    assert set(choose(["gap"]).attrs["units"]) == {"time", "gap.front", "gap.rear"}
    with pytest.raises(InputError, match=r"columns = 'contact_forces': must be among time, .*contact_force, gap"):
        choose(["gap", "contact_forces"])
    with pytest.raises(InputError, match=r"columns = 'gap.left': must be among gap.front, gap.rear$"):
        choose(["gap.left"])
    with pytest.raises(InputError, match=r"columns = 'contact_force\.rea'"):  # part of a word is no name
        choose(["contact_force.rea"])


@pytest.mark.parametrize("kind", KINDS)
def test_files_read_back_by_others_hold_the_same_numbers(runs, kind, tmp_path) -> None:
    pytest.importorskip("pyarrow")
    run = runs[kind]
    table = run.to_dataframe()
    assert same_in_csv(run.to_csv(tmp_path / "run.csv"), table)
    again = pd.read_parquet(run.to_parquet(tmp_path / "run.parquet"))
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert again.attrs == table.attrs
    file = run.to_csv(tmp_path / "some.csv", ["energy"])
    assert file.read_text().splitlines()[0] == "time,energy"


@pytest.mark.parametrize("kind", KINDS)
def test_an_mcap_file_holds_the_same_numbers_and_times(runs, kind, tmp_path) -> None:
    run = runs[kind]
    found = sent(run, tmp_path / "run.mcap")["/run"]
    table = run.to_dataframe()
    again = pd.json_normalize([content for _, content in found])
    pd.testing.assert_frame_equal(again[list(table)], table, check_exact=True)
    assert [time for time, _ in found] == pytest.approx(run.time, abs=1e-9)


def placed(entity: dict, transforms: list[dict]) -> np.ndarray:
    """The points of an entity in the world, as a viewer places them."""
    points = np.array(
        [[p[axis] for axis in "xyz"] for one in entity["lines"] + entity["triangles"] for p in one["points"]]
    )
    for one in transforms:
        if one["child_frame_id"] == entity["frame_id"]:
            assert one["parent_frame_id"] == "world"
            R = Rotation.from_quat([one["rotation"][key] for key in "xyzw"]).as_matrix()
            return points @ R.T + [one["translation"][axis] for axis in "xyz"]
    assert entity["frame_id"] == "world"
    return points


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_stand_in_the_scene_of_an_mcap_file_where_the_viewer_draws_them(runs, kind, tmp_path) -> None:
    run = runs[kind]
    found = sent(run, tmp_path / "run.mcap")
    ((time, scene),) = found["/scene"]
    assert time == run.time[0]
    entities = {entity["id"]: entity for entity in scene["entities"]}
    assert len(entities) == len(run.scene)
    transforms = found["/transforms"][-1][1]["transforms"]
    for body in run.scene:
        points = placed(entities[f"{body.role} {body.name}"], transforms)
        # Independently: bodies touch the ground or plate at the recorded contact, in the plane y = 0 or in space.
        contact = run["contact_position"][-1].reshape(-1, 2 if run.dimension == 2 else 3)
        contact = contact if contact.shape[1] == 3 else np.insert(contact, 1, 0.0, axis=1)
        if body.role != "link":
            distance = np.linalg.norm(points[:, None] - contact, axis=2).min()
            assert distance < 0.1 * np.linalg.norm(np.ptp(points, axis=0))
    own = {one["child_frame_id"]: one["translation"] for one in transforms}
    if kind == "pair":
        assert list(own["object"].values()) == run["object_position"][-1].tolist()
    else:
        x, z = run["body_position"][-1, 0].tolist()
        assert own[str(run["body"][0])] == {"x": x, "y": 0.0, "z": z}


def test_a_planar_angle_turns_from_x_up_to_z(tmp_path) -> None:
    run = disk_down_slope(duration=0.3)
    run = changed(run, body_angle=np.full_like(run["body_angle"], np.pi / 2))
    (one,) = sent(run, tmp_path / "run.mcap")["/transforms"][0][1]["transforms"]
    turn = Rotation.from_quat([one["rotation"][key] for key in "xyzw"])
    assert turn.apply([1.0, 0.0, 0.0]) == pytest.approx([0.0, 0.0, 1.0], abs=1e-15)


def test_a_robots_base_has_one_frame_turned_as_its_record_says(tmp_path) -> None:
    place, rpy = Variable(("time", "xyz"), "m", "world", "place"), [0.3, -0.4, 0.5]
    own = View("own", {"base_position": place, "base_rpy": Variable(("time", "rpy"), "rad", "world", "turn")})
    dataset = make_dataset(own, [0.0], {"base_position": [[1.0, 2.0, 3.0]], "base_rpy": [rpy]})
    run = Trajectory(dataset, tr.Status.SUCCESS, True, {})
    (one,) = sent(run, tmp_path / "run.mcap")["/transforms"][0][1]["transforms"]
    turn = Rotation.from_quat([one["rotation"][key] for key in "xyzw"])
    assert turn.as_matrix() == pytest.approx(rotation_rpy(np.array(rpy)), abs=1e-15)
    bodies = View(
        "bodies",
        {
            "body_position": Variable(("time", "body", "xyz"), "m", "world", "centre of mass"),
            "body_quaternion": Variable(("time", "body", "wxyz"), "1", "world", "turn"),
            "base_position": place,
            "base_quaternion": Variable(("time", "wxyz"), "1", "world", "turn"),
        },
    )
    still = [[1.0, 0.0, 0.0, 0.0]]
    arrays = {"body_position": [[[1.0, 2.0, 4.0]]], "body_quaternion": [still]}
    arrays |= {"base_position": [[1.0, 2.0, 3.0]], "base_quaternion": still}
    run = Trajectory(make_dataset(bodies, [0.0], arrays, bodies=["base"]), tr.Status.SUCCESS, True, {})
    (one,) = sent(run, tmp_path / "run.mcap")["/transforms"][0][1]["transforms"]
    assert one["translation"] == {"x": 1.0, "y": 2.0, "z": 4.0}, "of a body that is recorded, its centre of mass"


def test_trials_are_a_table_of_their_own(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    run = recorded(FULL, SPARE, FULL)
    assert not [name for name in run.to_dataframe() if name.startswith("trial")]
    table = run.to_dataframe(trials=True)
    assert table["trial"].tolist() == [0, 1, 2]
    assert table["trial_status"].tolist() == ["success", "fell", "success"]
    assert table["trial_lean"].tolist() == [0.2, 1.2, 0.2]
    assert table["trial_path.2.1"].to_numpy() == pytest.approx([5.0, np.nan, 5.0], nan_ok=True)  # axes without labels
    assert table["trial_hit.1"].tolist() == ["shelf", "", "shelf"]
    assert table.attrs["units"]["trial_lean"] == "rad"
    again = pd.read_parquet(run.to_parquet(tmp_path / "trials.parquet", trials=True))
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    assert same_in_csv(run.to_csv(tmp_path / "trials.csv", trials=True), table)
    with pytest.raises(InputError, match="trials = True: must be False: this run has no trials"):
        ball_on_plate(duration=0.1).to_dataframe(trials=True)


def test_numbers_that_are_not_finite_stay_what_they_are_and_are_left_out_of_json(tmp_path) -> None:
    pytest.importorskip("pyarrow")
    gap = np.zeros(11)
    gap[[2, 3, 4]] = np.nan, np.inf, -np.inf
    run = changed(ball_on_plate(duration=0.1), gap=gap)
    assert same_in_csv(run.to_csv(tmp_path / "a.csv"), run.to_dataframe())
    assert np.array_equal(pd.read_csv(tmp_path / "a.csv")["gap"], gap, equal_nan=True)
    assert np.array_equal(pd.read_parquet(run.to_parquet(tmp_path / "a.parquet"))["gap"], gap, equal_nan=True)
    rows = [content for _, content in sent(run, tmp_path / "a.mcap")["/run"]]
    assert ["gap" in row for row in rows] == np.isfinite(gap).tolist()
    lost = run["object_position"].copy()
    lost[1] = np.nan
    found = sent(changed(run, object_position=lost), tmp_path / "a.mcap")["/transforms"]
    assert [len(content["transforms"]) for _, content in found[:3]] == [2, 1, 2]


def test_samples_of_one_time_before_and_after_an_impact_stay_in_order(tmp_path) -> None:
    run = ball_on_plate(duration=0.1)
    time = run.time.copy()
    time[5] = time[4]
    run = replace(run, dataset=run.dataset.assign_coords(time=("time", time, run.dataset["time"].attrs)))
    rows = sent(run, tmp_path / "a.mcap")["/run"]
    assert [content["object_position"]["y"] for _, content in rows] == run["object_position"][:, 1].tolist()
    for wrong, first in ((time - 1.0, "-1.0"), (time + 2e10, "20000000000.0"), (time + 1e300, "1e+300")):
        other = replace(run, dataset=run.dataset.assign_coords(time=wrong))
        with pytest.raises(InputError, match=re.escape(f"time = {first}: must be at least 0 s in an MCAP file")):
            other.to_mcap(tmp_path / "other.mcap")


@pytest.mark.parametrize("form", ["csv", "parquet", "mcap"])
def test_a_file_appears_whole_or_not_at_all(form, tmp_path, monkeypatch) -> None:
    pytest.importorskip({"csv": "pandas", "parquet": "pyarrow", "mcap": "mcap"}[form])
    run = ball_on_plate(duration=0.1)
    write = getattr(run, f"to_{form}")
    before = write(tmp_path / "run").read_bytes()

    def fail(*_args) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.write", fail)
    with pytest.raises(InputError, match="disk full"):
        write(tmp_path / "run", ["gap"])
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run").read_bytes() == before
    monkeypatch.undo()
    with pytest.raises(InputError, match="folder"):
        write(tmp_path / "no" / "run")
    with pytest.raises(InputError, match="columns = 'nothing'"):
        write(tmp_path / "other", ["nothing"])
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(("form", "package"), [("parquet", "pyarrow"), ("mcap", "mcap")])
def test_a_missing_package_is_the_line_that_installs_it(form, package, tmp_path, monkeypatch) -> None:
    for name in (package, "mcap.writer"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=re.escape(f"{package} is not installed: {command('data')}")):
        getattr(ball_on_plate(duration=0.1), f"to_{form}")(tmp_path / "run")


def test_a_run_is_a_mapping_of_its_arrays_and_shows_itself_in_a_notebook(runs) -> None:
    run = runs["tree"]
    assert run.keys()[:2] == ["time", "body_position"]
    arrays = dict(run)
    assert arrays.keys() == {"time", *run.dataset.data_vars}
    assert np.array_equal(arrays["gap"], run["gap"])
    shown = run._repr_html_()
    assert "success" in shown
    for text in (f"{len(run)} samples over 0.3 s", f"<td>time {len(run)}, contact 2, xz 2</td>", "<td>N m</td>"):
        assert text in shown
    risky = replace(run, metadata=dict(run.metadata) | {"kind": "<script>"})
    assert "<script>" not in risky._repr_html_()


def trundle(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def test_the_command_line_exports_a_run(runs, tmp_path, capsys) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("mcap")
    run = runs["tree"]
    run.save(tmp_path / "trajectory.nc")
    out = tmp_path / "out"
    out.mkdir()
    assert trundle("export", tmp_path, "--to", "csv", "--out", out / "run.csv", "--columns", "gap, energy") == 0
    assert same_in_csv(out / "run.csv", run.to_dataframe(["gap", "energy"]))
    file = tmp_path / "trajectory.nc"
    assert trundle("export", file, "--to", "parquet", "--out", out / "run.parquet") == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out / "run.parquet"), run.to_dataframe(), check_exact=True)
    assert trundle("export", file, "--to", "mcap", "--out", out / "run.mcap") == 0
    assert len(messages(out / "run.mcap")["/run"]) == len(run)
    recorded(FULL, SPARE).save(file)
    assert trundle("export", file, "--to", "csv", "--out", out / "trials.csv", "--trials") == 0
    assert pd.read_csv(out / "trials.csv")["trial_lean"].tolist() == [0.2, 1.2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RUN", "--to", "xls"], "--to = 'xls': must be one of 'c', 'csv', 'parquet', 'mcap'"),
        (["plate-spinning", "--to", "csv"], "path = 'plate-spinning': must be an existing file"),
        (["RUN", "--to", "csv", "--columns", "gap,gaps"], "columns = 'gaps': must be among time, "),
        (["RUN", "--to", "csv", "--trials"], "trials = True: must be False: this run has no trials"),
        (["RUN", "--to", "mcap", "--trials"], "--trials = True: must be given only with"),
        (["RUN", "--to", "csv", "--set", "a.b=1"], "--set = ['a.b=1']: must be given only with --to c"),
        (
            ["plate-spinning", "--columns", "gap"],
            "--columns = 'gap': must be given only with --to csv, parquet or mcap",
        ),
    ],
)
def test_what_cannot_be_exported_is_named(runs, tmp_path, capsys, arguments, message) -> None:
    file = runs["pair"].save(tmp_path / "trajectory.nc")
    arguments = [file if argument == "RUN" else argument for argument in arguments]
    assert trundle("export", *arguments, "--out", tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

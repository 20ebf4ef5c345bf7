"""Records and plans that another program wrote under a right checksum: refused by name, and before they take memory."""

from __future__ import annotations

import dataclasses
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from tests.fuzz.damage import sealed, unsealed
from tests.fuzz.kinds import a_plan, a_walk
from tests.report.synthetic import ball_on_plate
from trundle.errors import InputError
from trundle.records import Plan, Trajectory, load_plan, load_trajectory
from trundle.scenarios.engine.pictures import write_report
from trundle.status import Status
from trundle.systems.walking.plan.plan import load_walk

BALL = ball_on_plate(duration=0.05)


@cache
def netcdf() -> bytes:
    """What the checksum of a record is of."""
    with tempfile.TemporaryDirectory() as folder:
        return unsealed(BALL.save(Path(folder) / "run.nc").read_bytes())


def altered(path: Path, change: Callable[[h5py.File], object]) -> Path:
    """A record that another program changed, with its checksum."""
    memory = io.BytesIO(netcdf())
    with h5py.File(memory, "r+") as file:
        change(file)
    path.write_bytes(sealed(memory.getvalue()))
    return path


def said(table: str, **values: Any) -> Callable[[h5py.File], None]:
    """A change of what is said of a run, or of its metadata."""

    def change(file: h5py.File) -> None:
        content = json.loads(file["trundle/content"][()])
        (content[table] if table else content).update(values)
        file["trundle/content"][()] = json.dumps(content)

    return change


def body(**changes: Any) -> Callable[[h5py.File], None]:
    """A change of what is said of the first body of the scene."""
    return lambda file: said("", scene=[json.loads(file["trundle/content"][()])["scene"][0] | changes])(file)


def values(name: str, new: Any) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][...] = new

    return change


def vast(file: h5py.File) -> None:
    file.create_dataset("vast", shape=(10**12,), chunks=(1000,), dtype="f8")


def packed(file: h5py.File) -> None:
    file.create_dataset("packed", data=np.zeros(10**7), compression="gzip")


def elsewhere(file: h5py.File) -> None:
    file.create_dataset("elsewhere", shape=(8,), dtype="f8", external=[("/dev/zero", 0, 64)])


def linked(file: h5py.File) -> None:
    file["linked"] = h5py.ExternalLink("/etc/passwd", "/")


def circle(file: h5py.File) -> None:
    file["circle"] = h5py.SoftLink("/circle")


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("/tmp/other.nc", "x", shape=(4,))
    file.create_virtual_dataset("virtual", layout)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (vast, "more than it holds"),
        (packed, "more than it holds"),
        (elsewhere, "from another file"),
        (linked, "from another file"),
        (circle, "from another file"),
        (virtual, "from another file"),
        (lambda file: file["gap"].attrs.create("NAME", 10**11), "path"),
        (values("time", np.arange(6)[::-1]), "time"),
        (values("time", [0, 0.1, 0.2, 0.3, 0.4, np.nan]), "time"),
        (values("time", [0, 0.1, 0.2, 0.3, 0.4, np.inf]), "time"),
        (values("object_position", np.nan), "object_position"),
        (values("contact_force", np.inf), "contact_force"),
        (values("xyz", ["x", "y", "u"]), "xyz"),
        (lambda file: file["gap"].attrs.modify("units", "mm"), "gap.units"),
        (said("", status="good"), "GOOD"),
        (said("", status=[]), "path"),
        (said("", feasible=1), "feasible"),
        (said("", metadata=[]), "path"),
        (said("", scene=[{"name": "x"}]), "path"),
        (body(name=3), "name"),
        (body(closed=1), "closed"),
        (body(shape=[[1.0, 2.0]]), "shape"),
        (body(center_of_mass=[0.0, None, 0.0]), "center_of_mass"),
        (body(role="guest"), "role"),
        (values("trundle/faces_0", 99_999), "faces"),
        (values("trundle/vertices_0", np.nan), "vertices"),
        (said("metadata", seed="3"), "seed"),
        (said("metadata", seed=True), "seed"),
        (said("metadata", physics=[]), "physics"),
        (said("metadata", transitions={}), "transitions"),
        (said("metadata", transitions=None), "transitions"),
        (said("metadata", physics=None), "physics"),
        (said("metadata", wall_time=None), "wall_time"),
        (said("metadata", transitions=[1]), "transitions"),
        (said("metadata", transitions=[{"time": "0"}]), "transitions"),
        (said("metadata", transitions=[{"time": 1.0, "from": 3}]), "transitions"),
        (said("metadata", statistics=3), "statistics"),
        (said("metadata", wall_time={"run": None}), "wall_time"),
        (said("metadata", kind=3), "kind"),
        (said("metadata", note="\ud800"), "surrogates"),
        (said("metadata", message=None, notice=3), "notice"),
    ],
)
def test_a_record_with_a_wrong_value_is_refused_by_file_and_key(
    change: Callable[[h5py.File], object], word: str, tmp_path: Path
) -> None:
    path = altered(tmp_path / "run.nc", change)
    with pytest.raises(InputError) as caught:
        load_trajectory(path)
    assert str(path) in str(caught.value)
    assert word in str(caught.value)


def test_what_is_not_changed_is_read(tmp_path: Path) -> None:
    assert load_trajectory(altered(tmp_path / "run.nc", lambda _: None)).dataset.identical(BALL.dataset)


@pytest.mark.parametrize(
    "metadata", [{"seed": "3"}, {"kind": 3}, {"transitions": [1]}, {"x": "\ud800"}, {"kind": "\0"}]
)
def test_metadata_that_could_not_be_read_back_are_not_written(metadata: dict[str, Any], tmp_path: Path) -> None:
    run = Trajectory(BALL.dataset, Status.SUCCESS, True, metadata)
    with pytest.raises(InputError):
        run.save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_seed_of_any_size_is_kept(tmp_path: Path) -> None:
    run = dataclasses.replace(BALL, metadata={"seed": 2**70})
    assert load_trajectory(run.save(tmp_path / "run.nc")).metadata["seed"] == 2**70


def changed(path: Path, name: str, value: Any) -> Path:
    """An .npz file with its checksum and another array, or another value in its content."""
    with np.load(io.BytesIO(unsealed(path.read_bytes()))) as data:
        arrays = {key: data[key] for key in data.files}
    if name in arrays:
        arrays[name] = np.asarray(value)
    else:
        arrays["content"] = np.array(json.dumps(json.loads(str(arrays["content"])) | {name: value}))
    np.savez(memory := io.BytesIO(), **arrays)
    path.write_bytes(sealed(memory.getvalue()))
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("times", [0.0, 0.1, 0.2, 0.15, 0.3]),
        ("times", [0.0, 0.1, 0.2, np.nan, 0.3]),
        ("states", np.zeros((4, 2))),
        ("inputs", np.full((5, 1), np.inf)),
        ("states", np.full((5, 2), "x")),
        ("reference_times", np.zeros(9)),
        ("reference_states", np.zeros(9)),
        ("status", "good"),
        ("status", {}),
        ("atlas", [[0]]),
        ("atlas", [["a", "b"]]),
        ("residuals", []),
        ("residuals", {"kkt_residual": "small"}),
        ("history", 3),
        ("history", [3]),
        ("history", [{"solve": "long"}]),
        ("message", None),
        ("format", 2),
    ],
)
def test_a_plan_with_a_wrong_value_is_refused_by_name(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"plan\.npz"):
        load_plan(changed(a_plan(tmp_path / "plan.npz"), name, value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("times", [0.0, 0.1, 0.3, 0.2, 0.4]),
        ("times", [0.0, 0.1, 0.2, 0.3, 0.3]),
        ("times", [0.0]),
        ("q", np.full((5, 8), np.nan)),
        ("q", np.zeros((5, 7))),
        ("torque", np.zeros((4, 3))),
        ("force", np.zeros((4, 2))),
        ("standing", np.full((4, 2), 2)),
        ("phase", [0, 0, 1, 2]),
        ("phase", [0, 0, 1, 0.5]),
        ("phase", [-1, 0, 0, 0]),
        ("mirror", np.eye(7)),
        ("gravity", [0.0, 0.0]),
        ("z", [np.nan]),
        ("dual", np.zeros((2, 2))),
        ("phases", "ab"),
        ("phases", [1, 2]),
        ("joints", ["left"]),
        ("statistics", []),
        ("settings", None),
    ],
)
def test_the_plan_of_a_walk_with_a_wrong_value_is_refused_by_name(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"walk\.npz"):
        load_walk(changed(a_walk(tmp_path / "walk.npz"), name, value))


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    np.lib.format.write_array_header_1_0(
        memory := io.BytesIO(), {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return memory.getvalue()


@pytest.mark.parametrize(
    "member",
    [header((10**12,)), header((2**62, 4)), header((0, 10**12)), header((1,), "|O"), b"\x93NUMPY\x03\x00", b""],
)
def test_an_array_that_declares_what_is_not_there_takes_no_memory(member: bytes, tmp_path: Path) -> None:
    path = a_plan(tmp_path / "plan.npz")
    memory = io.BytesIO(unsealed(path.read_bytes()))
    with zipfile.ZipFile(memory, "a") as archive:
        archive.writestr("vast.npy", member)
    path.write_bytes(sealed(memory.getvalue()))
    if member != header((0, 10**12)):
        with pytest.raises(InputError, match=r"plan\.npz"):
            load_plan(path)
    else:
        assert load_plan(path).status is Status.GOAL_NOT_REACHED  # no element: no memory


def test_a_packed_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = a_plan(tmp_path / "plan.npz")
    memory = io.BytesIO(unsealed(path.read_bytes()))
    with zipfile.ZipFile(memory, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vast.npy", bytes(10**7))
    path.write_bytes(sealed(memory.getvalue()))
    with pytest.raises(InputError, match="more than it holds"):
        load_plan(path)


def test_times_of_a_plan_do_not_decrease() -> None:
    with pytest.raises(InputError, match="times"):
        Plan(Status.SUCCESS, np.array([1.0, 0.0]), np.zeros((2, 1)), np.zeros((2, 1)), ((0, 0),), {})


@pytest.mark.parametrize(("kind", "key"), [("walking", "walk"), ("walking", "transfer"), ("multicontact", "plans")])
def test_a_record_whose_metadata_its_figures_cannot_use_is_refused_by_name(kind: str, key: str, tmp_path: Path) -> None:
    run = dataclasses.replace(BALL, metadata=dict(BALL.metadata) | {"kind": kind, key: 3})
    run.save(tmp_path / "trajectory.nc")
    with pytest.raises(InputError, match=f"{tmp_path.name}.*: must be the folder of a run whose record"):
        write_report(tmp_path, viewer=False)

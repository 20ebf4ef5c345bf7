"""Forces and torques of a recorded walk whose truth is known, their uncertainty, and a person's where there is one."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from tests.systems.walking.measured import NAMES, mot, recording, trc
from trundle.errors import InputError
from trundle.optimal import OptimalControlProblem
from trundle.optimal.transcription.transcription import MIDPOINT, Transcription
from trundle.scenarios import load_scenario, run
from trundle.status import Status
from trundle.systems.walking.gait.gait import Gait
from trundle.systems.walking.gait.walking import Walking
from trundle.systems.walking.plan.measured import deviations
from trundle.systems.walking.plan.walking import meshes, plan_walk, transcribe
from trundle.systems.walking.robots.avatar import build_avatar
from trundle.systems.walking.scenario.measured.estimate import build

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "measured_walk.toml"
RECORDED = ROOT.parent / "shared" / "data" / "gait"


@pytest.fixture(scope="module")
def truth():
    avatar, gait = build_avatar(), Gait(double=(0.12, 0.3), acceleration=2e-4)  # smooth, as a person's
    walking = Walking(avatar, gait)
    plan = plan_walk(gait, avatar, walking=walking)
    assert plan.status is Status.SUCCESS
    return walking, plan


@pytest.fixture(scope="module")
def scenario(truth, tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    columns = recording(*truth, noise=0.002)
    trc(folder / "walk.trc", columns)
    mot(folder / "walk.mot", columns)
    tables = tomllib.loads(EXAMPLE.read_text())
    tables["data"] = {"file": "walk.trc", "forces": "walk.mot", "plate": "FP1", "markers": NAMES}
    tables["subject"] = {"mass": 80.5}
    tables["tracking"] = {"speed": 1.2}
    tables.pop("acceptance", None)
    (folder / "measured.toml").write_text(tomli_w.dumps(tables))
    return folder / "measured.toml"


@pytest.mark.slow
def test_forces_and_torques_of_a_recorded_walk_come_back(scenario, truth, tmp_path):
    _, plan = truth
    result = run(load_scenario(scenario), tmp_path / "run", plots=False)
    assert result.status is Status.SUCCESS
    metrics = {name: metric["value"] for name, metric in result.summary["metrics"].items()}
    assert metrics["force_rms_up"] < 2.0
    assert metrics["force_rms_forward"] < 1.0
    assert metrics["base_residual"] < 1e-6
    assert metrics["torque_residual"] < 1e-6
    found = result.trajectory.metadata["estimate"]
    assert found["contacts"] == found["swings"] == 2
    true = plan.torque[:, [plan.joints.index(f"left_{name}") for name in ("hip_pitch", "knee", "ankle_pitch")]]
    of_left = np.array(found["torque"])[len(true) :]
    assert np.sqrt(np.mean((of_left - true)[:, 2] ** 2)) < 0.1 * np.ptp(true[:, 2])
    # Without the plate: the middle of single support, which Newton and Euler alone decide. In double support this
    # walk's load jumps from foot to foot, where the estimate takes it to go over smoothly.
    alone = result.parts["left-out"].metadata["estimate"]
    force, measured = (np.array(alone[key])[26:34, 1] for key in ("force", "force_measured"))
    assert np.sqrt(np.mean((force - measured) ** 2)) < 0.03 * 80.5 * 9.81


@pytest.mark.slow
def test_a_deviation_is_what_the_answer_to_another_measurement_says(scenario):
    """Of Gaussian errors df/dy = P/sigma^2 with the covariance P of f: one measured force is changed, solved again."""
    experiment = build(load_scenario(scenario))
    walking = Walking(experiment.avatar, experiment.gait, experiment.tracking)
    made = transcribe(walking)
    plan = plan_walk(experiment.gait, walking=walking, made=made)
    k = 8  # in the middle of single support of the left foot
    column = walking.tracked.names.index(("left", "plate", "up"))
    first, *others = walking.problem.phases
    signals, change = np.array(first.signals), 0.01
    signals[k, column] += change
    changed = OptimalControlProblem(
        [replace(first, signals=signals), *others], walking.problem.links, mean=walking.problem.mean
    )
    again = plan_walk(
        experiment.gait, guess=plan, walking=walking, made=Transcription(changed, meshes(walking), MIDPOINT)
    )
    assert plan.status is again.status is Status.SUCCESS
    gain = (again.force[k, 0, 2] - plan.force[k, 0, 2]) / walking.weight / change
    deviation = deviations(walking, plan, made)[0][k, 0, 2] / walking.weight
    share = (plan.times[k + 1] - plan.times[k]) * len(plan.torque) / plan.duration  # of the mean over time, times N
    assert gain == pytest.approx(share * (deviation / experiment.tracking.force_sigma) ** 2, rel=0.05)
    assert 0.3 < gain < 1.0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data.plate", '"FP7"', r"data\.file.*a file with the columns FP7\.ForY, FP7\.MomZ"),
        ("data.markers.hip", '"ASI"', r"data\.file.*a file with the columns ASI\.PosX"),
        ("data.markers.toe", '"LEK"', r"data\.markers\.toe.*must name another marker"),
        ("data.up", '"x"', r"data\.up.*must be another axis than forward"),
        ("data.threshold", "5000.0", r"data\.threshold.*data with one of each at least"),
        ("tracking.marker_sigma", "0.0", r"tracking\.marker_sigma"),
        ("subject.mass", "-1.0", r"subject\.mass"),
    ],
)
def test_what_cannot_be_estimated_is_refused_by_its_key(tmp_path, key, value, message, quick):
    with pytest.raises(InputError, match=message):
        build(load_scenario(quick, [f"{key}={value}"]))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    from tests.control.regulators.test_walk_replay import loaded

    folder = tmp_path_factory.mktemp("quick")
    columns = recording(Walking(build_avatar(), Gait()), loaded("walk.npz"), force=800.0)
    trc(folder / "walk.trc", columns)
    mot(folder / "walk.mot", columns)
    tables = tomllib.loads(EXAMPLE.read_text())
    tables["data"] = {"file": "walk.trc", "forces": "walk.mot", "plate": "FP1", "markers": NAMES}
    (folder / "measured.toml").write_text(tomli_w.dumps(tables))
    return folder / "measured.toml"


@pytest.mark.slow
@pytest.mark.skipif(not RECORDED.is_dir(), reason="the recording is not part of this repository")
def test_a_persons_forces_are_estimated_and_those_of_the_plate_left_out_predicted(tmp_path):
    given = [f'data.file="{RECORDED / "walking_right_leg.txt"}"']
    result = run(load_scenario(EXAMPLE, given, allow_path=[RECORDED]), tmp_path / "run", plots=False)
    assert result.status is Status.SUCCESS
    assert result.exit_code == 0, result.summary["metrics"]

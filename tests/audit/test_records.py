"""Records: an audit is in each, what it finds ends the run as inconsistent, and what events did is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from trundle.audit import tolerances
from trundle.scenarios import Result

FLYING = {"on_slip": "slide", "on_separation": "fly"}


def ball(**more: float) -> tr.RollingPair:
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=2.0), tr.Hand(tr.Plane()), friction=0.3, **FLYING, **more)


def test_an_impact_is_in_the_record_with_impulse_and_velocities(tmp_path: Path) -> None:
    e, h = 0.6, 0.2  # -, m: of the fall
    pair = ball(restitution=e)
    start = pair.place(object_position=(0, 0, 0.1 + h), object_velocity=(0.5, 0, 0))
    run = tr.simulate(pair, start, 0.35)
    v = np.sqrt(2 * 9.81 * h)
    assert run.status.label == "success"
    assert run["event_time"] == pytest.approx([np.sqrt(2 * h / 9.81)], rel=1e-9)
    assert run["event_contact"].tolist() == ["contact"]
    friction = -min(0.3 * 2.0 * (1 + e) * v, 2.0 * 0.5 * 2 / 7)  # sticks: a sphere loses 2/7 of its speed
    assert run["event_impulse"] == pytest.approx(np.array([[friction, 0, 2.0 * (1 + e) * v]]), abs=1e-9)
    assert run["event_velocity_before"] == pytest.approx(np.array([[0.5, 0, -v]]), abs=1e-9)
    assert run["event_velocity_after"] == pytest.approx(np.array([[0, 0, e * v]]), abs=1e-9)
    again = tr.load_trajectory(run.save(tmp_path / "run.nc"))
    assert again["event_impulse"] == pytest.approx(run["event_impulse"])
    assert again.metadata["audit"] == run.metadata["audit"]
    assert "event_time" not in run.to_dataframe()


def test_events_of_a_tree_in_the_plane_name_their_contacts() -> None:
    robot = tr.Robot(gravity=9.81, **FLYING)
    for name in ("left", "right"):
        robot.free(1.0, 0.01, shape=tr.Circle(0.1), name=name)
    robot.terrain(tr.Line(), friction=0.5, restitution=0.5)
    tree = robot.finish()
    run = tr.simulate(tree, tree.place(left=(0, 0.2, 0), right=(1, 0.3, 0), contacts=[]), 0.25)
    assert run["event_contact"].tolist() == ["left", "right"]
    assert run["event_impulse"].shape == (2, 2)
    v = np.sqrt(2 * 9.81 * np.array([0.1, 0.2]))
    assert run["event_impulse"][:, 1] == pytest.approx(1.5 * v, rel=1e-9)


def test_a_run_without_events_has_no_such_variables() -> None:
    pair = ball()
    assert "event_time" not in tr.simulate(pair, pair.place(object_angular_velocity=(1, 0, 0)), 0.1)


def test_the_audit_says_what_it_checked() -> None:
    pair = ball()
    audit = tr.simulate(pair, pair.place(object_angular_velocity=(1, 0, 0)), 0.1).metadata["audit"]
    assert {"motion", "momentum", "energy", "friction cone", "gap"} <= set(audit["checked"])
    assert all(check["worst"] <= 1.0 for check in audit["checked"].values())
    assert audit["findings"] == []


def test_a_body_inside_another_makes_a_run_inconsistent() -> None:
    pair = ball()

    def sunk(x: np.ndarray) -> np.ndarray:
        x = np.array(x)
        x[pair.model().layout["object.position"]] -= (0, 0, 0.25)
        return x

    start = pair.place(object_position=(0, 0, 0.3), object_velocity=(0, 0, 0))
    run = tr.simulate(pair, start, 0.1, kicks={0.05: sunk})
    assert run.status is tr.Status.INCONSISTENT
    assert not run.feasible
    assert Result(Path(), {"status": run.status.label}, None).exit_code == 1
    (finding,) = [one for one in run.metadata["audit"]["findings"] if one["law"] == "gap"]
    assert finding["bodies"] == ["object", "hand"]
    assert finding["time"] == pytest.approx(0.05, abs=1e-3)
    assert finding["amount"] == pytest.approx(-0.16 + 0.0122, abs=0.12)
    assert run.transitions[-1]["to"] == "inconsistent"
    assert finding["text"] in [one["text"] for one in run.metadata["audit"]["findings"]]
    assert run.metadata["message"].startswith(run.metadata["audit"]["findings"][0]["text"])


def test_many_runs_are_audited_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ball()
    starts = [pair.place(object_angular_velocity=(w, 0, 0)) for w in (1.0, 2.0)]
    good = tr.simulate_many(pair, starts, 0.1, output_step=0.01)
    assert [status.label for status in good.statuses] == ["success", "success"]
    monkeypatch.setattr(tolerances, "MOTION", 1e-30)
    monkeypatch.setattr(tolerances, "GAP", 1e-30)
    monkeypatch.setattr(tolerances, "QUADRATURE", 1e-30)
    bad = tr.simulate_many(pair, starts, 0.1, output_step=0.01)
    assert [status.label for status in bad.statuses] == [run.status.label for run in bad]


def test_a_rate_that_rises_and_comes_back_between_two_samples_breaks_no_law() -> None:
    """The flat side of a box of tonnes rolls over a crest within a millisecond: its turning rises by 4 % meanwhile."""
    robot = tr.Robot(gravity=[0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(65200.0, 252000.0, shape=tr.Rounded(tr.Box([2.19, 0.897]), 0.151), name="box")
    robot.terrain(tr.Parabola(-0.000131), friction=0.828)
    tree = robot.finish()
    start = tree.place(box=[-2.43, 3.5051, 2.18], contacts=[], rates={"box": [-1.39, 1.19, -0.0505]})
    run = tr.simulate(tree, start, 2.6, output_step=8.6e-3)
    begin, end = (note["time"] for note in run.transitions[1:3])
    assert end - begin < 1e-3
    assert not np.any((run.time > begin) & (run.time < end))
    assert run.status.label == "success"
    assert run.feasible

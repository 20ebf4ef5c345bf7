"""Trial results as columns: written, read back, and what is missing named."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import nan
from typing import Annotated

import numpy as np
import pytest

from tests.report.synthetic import ball_on_plate
from trundle.checks import FloatArray
from trundle.errors import InputError
from trundle.records import Trajectory, column, load_trajectory, read_trials, with_trials
from trundle.status import Status


@dataclass(frozen=True, eq=False)
class Result:
    """What came of a trial."""

    status: Annotated[str, column("1", "how it ended")]
    lean: Annotated[float, column("rad", "largest lean", frame="world")]
    steps: Annotated[int, column("1", "steps")]
    held: Annotated[bool, column("1", "whether it held")]
    path: Annotated[FloatArray, column("m", "way of the ball", "path_point", "xy")]
    time: Annotated[float, column("s", "time to the goal")] = nan
    phase: Annotated[int | None, column("1", "phase at the end")] = None
    arrived: Annotated[bool | None, column("1", "whether it arrived")] = None
    goal: Annotated[FloatArray | None, column("m", "goal", "xy")] = None
    hit: Annotated[tuple[str, ...], column("1", "what was hit", "obstacle")] = ()
    note: Annotated[str, column("1", "what else")] = ""


LONG, SHORT = np.arange(6.0).reshape(3, 2), np.ones((1, 2))
FULL = Result("success", 0.2, 7, True, LONG, 1.5, 2, False, np.array([1.0, 2.0]), ("post", "shelf"), "fast")
SPARE = Result("fell", 1.2, 0, False, SHORT)


def recorded(*results: Result) -> Trajectory:
    return Trajectory(with_trials(ball_on_plate(duration=0.1).dataset, results), Status.SUCCESS, True, {"kind": "mine"})


def same(one: Result, other: Result) -> bool:
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in fields(Result)]
    alike = all(np.array_equal(a, b, equal_nan=True) if isinstance(a, float | np.ndarray) else a == b for a, b in pairs)
    return alike and all(type(a) is type(b) for a, b in pairs)


@pytest.mark.parametrize("results", [(FULL, SPARE), (SPARE, SPARE), (FULL,), (SPARE, FULL, FULL)])
def test_results_survive_the_file(tmp_path, results) -> None:
    run = recorded(*results)
    for record in (run, load_trajectory(run.save(tmp_path / "run.nc"))):
        again = read_trials(record, Result)
        assert len(again) == len(results)
        assert all(same(one, other) for one, other in zip(again, results, strict=True))


def test_columns_have_a_row_a_trial_padded_by_what_does_not_exist() -> None:
    run = recorded(FULL, SPARE)
    assert run.dataset["trial_lean"].dims == ("trial",)
    assert run.dataset["trial_lean"].attrs == {"units": "rad", "frame": "world", "long_name": "largest lean"}
    assert run["trial_status"].tolist() == ["success", "fell"]
    assert run["trial_path"].shape == (2, 3, 2)
    assert np.isnan(run["trial_path"][1, 1:]).all()
    assert run["trial_arrived"].tolist()[0] == 0.0
    assert np.isnan(run["trial_arrived"][1])
    assert run["trial_hit"].tolist() == [["post", "shelf"], ["", ""]]


def test_a_column_that_no_trial_has_is_left_out_if_it_may_be() -> None:
    assert {name for name in recorded(SPARE).dataset.data_vars if str(name).startswith("trial_")} == {
        f"trial_{name}" for name in ("status", "lean", "steps", "held", "path")
    }


def test_what_is_missing_is_named() -> None:
    advice = "results of its trials. The record was made by another version of trundle: run it again"
    message = f"^trial_status and 4 more = 'missing': must be in a run of kind mine: {advice}$"
    with pytest.raises(InputError, match=message):
        read_trials(Trajectory(ball_on_plate(duration=0.1).dataset, Status.SUCCESS, True, {"kind": "mine"}), Result)
    run = recorded(FULL)
    with pytest.raises(InputError, match=r"^trial_steps = 'missing'"):
        read_trials(Trajectory(run.dataset.drop_vars("trial_steps"), Status.SUCCESS, True, {}), Result)
    turned = run.dataset.assign(trial_path=run.dataset["trial_path"].transpose("xy", "trial", "path_point"))
    with pytest.raises(InputError, match=r"trial_path = .* dimensions \('trial', 'path_point', 'xy'\)"):
        read_trials(Trajectory(turned, Status.SUCCESS, True, {}), Result)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("held", nan, "0 or 1 in each trial$"),
        ("held", 0.5, "0 or 1 in each trial$"),
        ("held", "a", "numbers$"),
        ("steps", nan, "an integer in each trial$"),
        ("steps", np.inf, "an integer in each trial$"),
        ("steps", 2.5, "an integer in each trial$"),
        ("steps", "7", "numbers$"),
        ("phase", 2.5, "an integer in each trial, or NaN where it has none$"),
        ("arrived", 2.0, "0 or 1 in each trial, or NaN where it has none$"),
        ("lean", "0.2", "numbers$"),
        ("status", 1.0, "texts$"),
    ],
)
def test_a_column_with_what_its_field_cannot_be_is_refused(name: str, value: float | str, allowed: str) -> None:
    run = recorded(FULL, SPARE)
    changed = run.dataset.assign({f"trial_{name}": ("trial", [value, value])})
    with pytest.raises(InputError, match=rf"^trial_{name} = .*: must be {allowed}"):
        read_trials(Trajectory(changed, Status.SUCCESS, True, {}), Result)


def test_variables_over_time_are_drawn_and_columns_of_trials_not() -> None:
    run = recorded(FULL, SPARE)
    assert "gap" in run.final
    assert "trial_lean" not in run.final
    with pytest.raises(InputError, match="name = 'trial_lean'"):
        run.plot("trial_lean")

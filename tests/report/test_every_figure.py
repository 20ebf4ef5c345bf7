"""Every figure of every named scenario says what it shows; what lied once has a test of its own."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from tests.named import NamedRuns
from tests.report.drawn import drawn, faults
from tests.report.synthetic import changed, rock_on_terrain
from tests.slowly import slow_but
from trundle.records import Trajectory
from trundle.report import Figure, RunSet, style
from trundle.report.plots import figures as figures_of_kit
from trundle.report.runs import DrawRun
from trundle.report.trees import with_phases
from trundle.scenarios.catalogue import entries
from trundle.scenarios.engine.pictures import draw
from trundle.scenarios.engine.pictures import figures as figures_of
from trundle.status import Status
from trundle.systems.multicontact.scenario import figures as multicontact
from trundle.systems.walking.scenario.legged import figures as legged

NAMES = [entry.name for entry in entries()]
QUICK = "passive-walker", "ellipse-throw-catch"


def of(named: NamedRuns, name: str) -> dict[str, Figure]:
    """Return the figures of a named scenario."""
    parts = named.parts(name)
    return dict(figures_of(RunSet(parts.pop(""), parts)))


@pytest.mark.parametrize("name", slow_but(NAMES, *QUICK))
def test_every_figure_keeps_the_rules(named: NamedRuns, name: str) -> None:
    found = {figure: faults(one) for figure, one in of(named, name).items()}
    assert {figure: wrong for figure, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", slow_but(NAMES, *QUICK))
def test_modes_have_their_names_and_a_frame(named: NamedRuns, name: str) -> None:
    for run in named.parts(name).values():
        if "mode" not in run or not figures_of_kit(run).keys() & {"motion"}:
            continue
        frames = with_phases(run, {0}, len(run))
        mode = run["mode"].reshape(len(run), -1)
        total = run.time[-1] - run.time[0]
        lasting = {tuple(row) for row in mode if np.sum(np.all(mode == row, axis=1)) > 0.05 * len(run)}
        changes = [*(one["time"] for one in run.transitions), float(run.time[-1])]
        assert {tuple(mode[i]) for i in frames} >= {m for m in lasting if longest(run, mode, m) >= 0.05 * total}
        texts = [text.get_text() for text in draw(run, "force", Canvas().add_subplot()).texts]
        for change, end in zip(run.transitions, changes[1:], strict=True):
            if end - change["time"] >= 0.05 * total and len(run.transitions) <= 3:
                assert any(change["to"] in text for text in texts), change
        shown = {re.sub(r"^.*: | →$", "", text) for text in texts}
        assert shown <= {change["to"] for change in run.transitions}


def longest(run: Trajectory, mode: np.ndarray, one: tuple[str, ...]) -> float:
    """Return the longest time in a mode without a break."""
    inside = np.all(mode == np.array(one), axis=1)
    pieces = np.split(np.arange(len(run)), np.flatnonzero(np.diff(inside.astype(int))) + 1)
    return max(float(run.time[piece[-1]] - run.time[piece[0]]) for piece in pieces if inside[piece[0]])


@pytest.mark.parametrize("name", slow_but(NAMES, "passive-walker"))
def test_figures_of_parts_carry_their_names(named: NamedRuns, name: str) -> None:
    whose: dict[tuple[str, str], str] = {}
    parts = [part for part in named.parts(name) if part]
    for figure, one in of(named, name).items():
        one.draw(ax := Canvas(figsize=one.size).add_subplot())
        tag = ax.get_title(loc="right").strip()
        part = max((part for part in parts if figure.startswith(f"{part}-")), key=len, default="")
        assert re.split(r", (?=\D)", tag)[0] == (f"{name}: {part}" if part else name)
        other = whose.setdefault((ax.get_title(loc="left"), tag), figure)
        assert other == figure, f"{figure} looks like {other}"


def test_a_flight_is_not_named_sliding_and_has_a_frame(named: NamedRuns) -> None:
    run = named.parts("ellipse-throw-catch")[""]
    texts = [text.get_text() for text in draw(run, "energy", Canvas().add_subplot()).texts]
    assert texts == ["separated", "rolling"]
    flight = run.time[run["mode"] == "separated"]
    times = [
        float(t.get_text()[:-2]) for t in draw(run, "motion", Canvas().add_subplot()).texts if t.get_text()[-2:] == " s"
    ]
    assert any(flight[0] <= time <= flight[-1] for time in times)


def test_each_foot_has_its_colour_and_name(named: NamedRuns) -> None:
    run = named.parts("passive-walker")[""]
    lines = {str(line.get_label()): line for line in draw(run, "force", Canvas().add_subplot()).lines}
    assert lines["normal $f_n$, left"].get_color() != lines["normal $f_n$, right"].get_color()
    axes = draw(run, "position", Canvas().add_subplot())
    assert axes.get_title(loc="left") == "Centre of mass of body 'left'"
    assert "right: rolling" in [text.get_text() for text in axes.texts]


def test_a_frame_is_drawn_in_a_phase_that_no_instant_meets() -> None:
    run = rock_on_terrain(n=121)
    mode = np.full(len(run), "rolling", dtype="<U12")
    mode[5:15] = "separated"
    flown = changed(run, mode=mode)
    assert with_phases(flown, {0, 60, 120}, 121) == [0, 10, 60, 120]
    assert with_phases(flown, {0, 7, 60, 120}, 121) == [0, 7, 60, 120]


def test_snapshots_moved_apart_have_a_bar_and_no_axis_of_lengths(named: NamedRuns) -> None:
    figures = of(named, "walk-flat")
    [ax] = drawn(figures["snapshots"]).axes
    assert ax.get_xlabel().startswith("bar: 1 m; snapshots drawn")
    assert len(ax.get_xticks()) == 0
    assert any(np.ptp(line.get_xdata()) == pytest.approx(1.0) for line in ax.lines)


def test_the_papers_heel_strike_whose_origin_is_undefined_is_not_drawn(named: NamedRuns) -> None:
    figures = of(named, "walk-flat")
    labels = [str(line.get_label()) for line in drawn(figures["torques"]).axes[0].lines]
    assert any(label.startswith("heel strike") for label in labels)
    assert not any("paper" in label for label in labels)
    assert "paper" not in drawn(figures["phases"]).axes[0].get_xlabel()


class Standing(dict[str, np.ndarray]):
    """What figures read of a robot's record; names as URDFs have them."""

    time, status, feasible = np.arange(3.0), Status.SUCCESS, True

    def __init__(self) -> None:
        joints = ["LF_HAA_joint", "left_hip_pitch_joint", "rear-thigh", "arm_joint_1"]
        super().__init__(joint=np.array(joints), joint_torque=np.ones((3, 4)))
        self.update(contact=np.array(["left_foot", "right_hand"]), contact_force=np.ones((3, 2, 3)))
        self.metadata = {"physics": {"mass": 30.0}, "steps": {"efforts": [None] * 4}}


def test_names_of_joints_and_contacts_are_said_in_words() -> None:
    for draw_one, names in (
        (legged.torques, ["LF HAA", "left hip pitch", "rear-thigh", "arm joint 1"]),
        (multicontact.torque_use, ["LF HAA", "left hip pitch", "rear-thigh", "arm joint 1"]),
        (legged.forces, ["left foot", "right hand"]),
    ):
        draw_one(Standing(), ax := Canvas().add_subplot())  # type: ignore[arg-type]
        assert {text.get_text() for text in ax.get_legend().get_texts()} == set(names)
    legged.phases(Standing(), ax := Canvas().add_subplot())  # type: ignore[arg-type]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["left foot", "right hand"]


def long_label(_: Trajectory, ax: Axes) -> None:
    style.panels(ax, 3)[0].set_ylabel("a label far longer than the axis of its panel (m)")


def boxed(run: Trajectory, ax: Axes) -> None:
    style.dress(ax, "boxed", "time (s)", "force (N)", run)
    ax.spines[["top", "right"]].set_visible(True)


def inside(run: Trajectory, ax: Axes) -> None:
    ax.plot(run.time, run.time, label="a")
    style.dress(ax, "legend", "time (s)", "force (N)")
    ax.legend(loc="upper left")


def one_trial(run: Trajectory, ax: Axes) -> None:
    ax.plot([1], [2.0], "o", label="closed loop")
    style.dress(ax, "All trials", "trial", "rms (mm)", run)


def title_on_tag(run: Trajectory, ax: Axes) -> None:
    style.dress(ax, "A title that is longer than what is left of the axes", "time (s)", "force (N)", run)
    ax.set_title("ellipse-throw-catch, not feasible", loc="right")


def wide_legend(run: Trajectory, ax: Axes) -> None:
    for k in range(4):
        ax.plot(run.time, k + run.time, color=style.PALETTE[k], label=f"a name that takes much of the width, {k}")
    style.dress(ax, "legend", "time (s)", "force (N)")
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2), ncols=4, frameon=False)


@pytest.mark.parametrize(
    ("draw_one", "wrong"),
    [
        (long_label, "longer than its axis"),
        (boxed, "a box around"),
        (inside, "a legend inside"),
        (one_trial, "a single trial"),
        (title_on_tag, "texts overlap"),
        (wide_legend, "wider than the picture"),
    ],
)
def test_the_rules_see_what_was_wrong_once(draw_one: DrawRun, wrong: str) -> None:
    run = rock_on_terrain(n=11)
    found = faults(Figure(lambda ax: draw_one(run, ax)))
    assert any(wrong in one for one in found), found


def test_labels_and_legends_that_are_too_long_are_broken() -> None:
    run, long = rock_on_terrain(n=11), {f"a name of a task that is long, {k} (m)": np.ones(11) for k in range(12)}
    ax = Canvas(figsize=(7.0, 4.2)).add_subplot()
    style.lines(ax, run, long, "Errors", "error (unit beside each name)")
    assert [panel.get_ylabel() for panel in ax.child_axes] == ["error (unit\nbeside each name)"] * 2
    ax = Canvas(figsize=(7.0, 4.2)).add_subplot()
    style.lines(ax, run, dict(list(long.items())[:4]), "Errors", "error (m)")
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= 700.0
    assert legend._ncols == 2  # type: ignore[attr-defined]


def test_small_ticks_look_like_the_others() -> None:
    ax = Canvas().add_subplot()
    ax.semilogy([0.0, 1.0], [0.03, 0.2])
    style.dress(ax, "turn", "time (s)", "turn (rad)")
    labels = [one for one in ax.get_yticklabels(which="both") if one.get_text()]
    assert len(labels) > 2
    assert {(one.get_fontsize(), one.get_color()) for one in labels} == {(9.0, "#55606a")}


def test_a_run_is_not_said_twice_to_be_infeasible() -> None:
    run = replace(rock_on_terrain(n=11), status=Status.INFEASIBLE, feasible=False)
    assert style.subtitle(run).split(", ")[1:] == ["infeasible"]


@pytest.mark.parametrize("figure", ["energy", "position", "rotation"])
def test_names_of_modes_stand_above_the_curves(named: NamedRuns, figure: str) -> None:
    ax = draw(named.parts("ellipse-throw-catch")[""], figure, Canvas(figsize=(7.0, 4.4)).add_subplot())
    names = [text.get_window_extent() for text in ax.texts]
    assert len(names) == 2
    curves = [
        ax.transData.transform(np.column_stack(line.get_data())) for line in ax.lines if len(line.get_xdata()) > 5
    ]
    assert max(float(np.nanmax(curve[:, 1])) for curve in curves) < min(box.y0 for box in names)

from __future__ import annotations

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from tests.report.synthetic import ball_on_plate, changed, disk_down_slope, ellipsoid_in_dish, rock_on_terrain
from trundle.errors import InputError
from trundle.report import plots, style
from trundle.scenarios.engine.pictures import draw

RUNS = {
    "ball": lambda: ball_on_plate(duration=2.0),
    "dish": lambda: ellipsoid_in_dish(n=60),
    "disk": lambda: disk_down_slope(duration=1.0),
    "rock": lambda: rock_on_terrain(n=80),
}


@pytest.fixture(scope="module", params=RUNS)
def run(request):
    return RUNS[request.param]()


def axes():
    return Figure(figsize=(7, 4), layout="constrained").add_subplot()


def test_every_figure_has_title_units_and_something_drawn(run):
    before = dict(mpl.rcParams)
    for name in plots.figures(run):
        ax = axes()
        assert draw(run, name, ax) is ax
        assert ax.get_title(loc="left")
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert len(ax.lines) > 0
        assert ax.get_legend() is not None
        ax.figure.canvas.draw()
    assert dict(mpl.rcParams) == before


def test_every_variable_can_be_drawn(run):
    for name in map(str, run.dataset.data_vars):
        ax = draw(run, name, axes())
        assert len(ax.lines) > 0


def test_unknown_names_are_answered_with_the_known_ones(run):
    with pytest.raises(InputError, match="friction_use"):
        draw(run, "fricton", axes())
    with pytest.raises(InputError, match="residuals"):
        draw(run, "time", axes())


def test_a_run_draws_itself(run):
    ax = axes()
    assert run.plot("force", ax) is ax
    assert "Contact force" in ax.get_title(loc="left")


def test_an_axes_is_made_when_none_is_given():
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    ax = disk_down_slope(duration=0.2).plot()
    assert "motion" in ax.get_title(loc="left")
    plt.close(ax.figure)


def test_the_path_seen_at_rest_is_the_circle_of_the_ball():
    run = ball_on_plate(duration=4.0)
    ax = draw(run, "contact_path", axes())
    resting = next(line for line in ax.lines if "at rest" in str(line.get_label()))
    points = np.column_stack(resting.get_data())
    assert np.linalg.norm(points - [0.1, 0.0], axis=1) == pytest.approx(np.full(len(points), 0.1), abs=1e-12)


def test_changes_of_mode_are_marked():
    run = disk_down_slope(duration=1.0)
    change = {"time": 0.4, "from": "rolling", "to": "sliding", "reason": "friction cone"}
    run = dataclasses.replace(run, metadata=dict(run.metadata) | {"transitions": [change]})
    ax = draw(run, "force", axes())
    assert "sliding" in [text.get_text() for text in ax.texts]


def test_a_run_that_was_not_feasible_says_so_in_every_title():
    run = dataclasses.replace(disk_down_slope(duration=1.0), feasible=False)
    assert "not feasible" in draw(run, "energy", axes()).get_title(loc="right")


def test_round_off_is_not_blown_up_into_a_picture():
    run = disk_down_slope(duration=1.0)
    low, high = draw(run, "force", axes()).get_ylim()
    assert high - low > 1.0
    residuals = draw(run, "residuals", axes())
    assert residuals.get_yscale() == "log"
    assert residuals.get_ylim()[0] > 0


def test_flight_is_no_residual_and_breaks_the_path():
    run = rock_on_terrain(n=120)
    mode = np.full(len(run), "rolling", dtype="<U12")
    mode[40:60] = "separated"
    contact = run["contact_position"].copy()
    contact[60:] += 1.0
    flown = changed(run, mode=mode, contact_position=contact)
    gap = draw(flown, "residuals", axes()).lines[0].get_ydata()
    assert np.array_equal(np.isnan(gap), mode == "separated")
    path = next(line for line in draw(flown, "motion", axes()).lines if line.get_label() == "contact path")
    assert np.flatnonzero(np.isnan(path.get_xdata())).tolist() == [60]


def test_names_of_modes_do_not_lie_on_each_other():
    run = disk_down_slope(duration=1.0)
    changes = [{"time": 0.4 + 0.001 * i, "from": "a", "to": "sliding", "reason": ""} for i in range(9)]
    run = dataclasses.replace(run, metadata=dict(run.metadata) | {"transitions": changes})
    ax = draw(run, "force", axes())
    assert [text.get_text() for text in ax.texts] == ["sliding"]


def test_labels_of_contour_lines_lie_inside_the_frame_and_off_the_path():
    run = ellipsoid_in_dish(n=60)
    ax = Figure(figsize=(6, 6.2)).add_subplot()
    draw(run, "contact_path", ax)
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    labels = [text for text in ax.texts if text.get_text().endswith(" m")]
    path = ax.transData.transform(run["contact_on_hand"][:, :2])
    assert labels
    for label in labels:
        box = label.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
        assert np.min(np.linalg.norm(path - [0.5 * (box.x0 + box.x1), 0.5 * (box.y0 + box.y1)], axis=1)) > 5


@pytest.mark.parametrize("make", [RUNS["disk"], RUNS["rock"]])
def test_instants_are_written_where_nothing_is_drawn(make):
    ax = Figure(figsize=(9, 5), dpi=150).add_subplot()
    draw(make(), "motion", ax)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().endswith(" s")]
    assert boxes
    lines = [ax.transData.transform(line.get_xydata()) for line in ax.lines if len(line.get_xydata())]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.count_contains(line) for line in lines)


def test_a_noisy_residual_is_drawn_by_its_largest_values():
    run = ball_on_plate(duration=20.0)
    assert len(run) > 600
    ax = draw(run, "residuals", axes())
    for every, largest in zip(ax.lines[0::2], ax.lines[1::2], strict=False):
        if not str(largest.get_label()).startswith("|"):
            continue
        assert "largest of" in largest.get_label()
        assert len(largest.get_ydata()) <= 300
        assert np.nanmax(largest.get_ydata()) == np.nanmax(every.get_ydata())


def leaves_the_butterfly(duration):
    import trundle as tr

    body = tr.RigidBody(tr.Circle(0.0166), 0.05, "solid")
    motion = tr.SinusoidMotion([3.0, 0.0, 1.0], [1.0] * 3)
    shape = tr.FourierRadius(0.11, [0.0, -0.3636])
    hand = tr.Hand(shape, position=(0, 0.5), angle=1.57, twist=(0.5, 0, 0), motion=motion)
    pair = tr.RollingPair(body, hand, on_slip="slide", on_separation="fly")
    start = pair.place(contact_on_hand=(0.07, 0), object_angular_velocity=1.0)
    return tr.simulate(pair, start, duration)


def test_a_body_that_has_left_for_good_does_not_shrink_the_hand():
    run = leaves_the_butterfly(1.5)
    assert run["mode"][-1] == "separated"
    ax = draw(run, "motion", axes())
    assert ax.get_ylim()[0] > 0.2  # the ball falls to -2 m
    assert np.ptp(ax.get_xlim()) < 0.7
    touching = run.time[run["mode"] != "separated"][-1]
    times = [float(text.get_text().removesuffix(" s")) for text in ax.texts if text.get_text().endswith(" s")]
    assert touching < max(times) < touching + 0.2
    [path] = [line for line in ax.lines if line.get_label() == "contact path"]
    assert np.nanmin(path.get_ydata()) >= run["contact_position"][run["mode"] != "separated"][:, 2].min() - 1e-12


def test_a_hand_that_moves_is_drawn_at_every_instant_and_fades():
    ax = draw(leaves_the_butterfly(0.5), "motion", axes())
    outlines = [line for line in ax.lines if len(line.get_xdata()) > 200 and line.get_label().startswith("_")]
    wide = [line for line in outlines if np.ptp(line.get_xdata()) > 0.1]
    assert len(wide) == 7
    shades = [line.get_alpha() for line in wide]
    assert shades == sorted(shades)
    assert len({line.get_color() for line in wide}) == 7
    figure = ax.figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text().endswith(" s")]
    assert len(boxes) > 1
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_more_lines_than_can_be_told_apart_go_to_panels():
    run = disk_down_slope(duration=0.5)
    for count, expected in ((7, [7]), (8, [4, 4]), (15, [5, 5, 5])):
        ax = axes()
        style.lines(ax, run, {f"joint {i}": run.time * i for i in range(count)}, "Torques", "torque (N m)")
        panels = [one for one in (ax, *ax.child_axes) if one.lines]
        shown = [[line for line in one.lines if str(line.get_label()).startswith("joint")] for one in panels]
        assert [len(one) for one in shown] == expected
        assert all(len({line.get_color() for line in one}) == len(one) for one in shown)
        assert panels[-1].get_xlabel() == "time (s)"
        assert all(one.get_ylabel() == "torque (N m)" for one in panels)


def test_what_is_short_is_magnified_and_what_is_long_is_not():
    ax = axes()
    time = np.linspace(0.0, 5.0, 501)
    ax.plot(time, np.exp(-((time - 1.1) ** 2) / 0.01), label="force")
    ax.set_xlim(0.0, 5.0)
    style.magnify_range(ax, 0.0, 2.0)
    assert ax.child_axes == []
    style.magnify_range(ax, 0.9, 1.3)
    [inset] = ax.child_axes
    assert inset.get_xlim() == (0.9, 1.3)
    assert np.array(inset.lines[0].get_data()) == pytest.approx(np.array(ax.lines[0].get_data()))
    assert inset.get_position().x0 > 1.3 / 5 * ax.get_position().x1  # beside what it magnifies
    clipped = inset.lines[0].get_clip_box()
    assert clipped is not None
    assert clipped.bounds == pytest.approx(inset.bbox.bounds)  # the copy ends at the edge of the inset


def test_a_magnified_part_hides_no_curve():
    ax = axes()
    time = np.linspace(0.0, 5.0, 501)
    ax.plot(time, np.exp(-((time - 0.8) ** 2) / 0.01) + np.exp(-((time - 3.0) ** 2)), label="acceleration")
    ax.set(xlim=(0.0, 5.0), ylim=(0.0, 1.1))
    style.magnify_range(ax, 0.6, 1.0)
    [inset] = ax.child_axes
    assert inset.get_ylim() == (0.0, 1.1)
    top = ax.transData.transform([3.0, 1.0])
    assert ax.bbox.y0 < top[1] < inset.bbox.y0


def test_without_friction_there_is_no_figure_of_its_use():
    run = ball_on_plate(duration=0.3)
    physics = {key: value for key, value in run.metadata["physics"].items() if key != "friction"}
    assert "friction_use" in plots.figures(run)
    assert "friction_use" not in plots.figures(dataclasses.replace(run, metadata={**run.metadata, "physics": physics}))

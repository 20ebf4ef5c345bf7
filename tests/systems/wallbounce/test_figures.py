"""Figures of kind `wallbounce`: what plans have inside a wall can be seen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from trundle.systems.wallbounce.scenario.figures import _both_plans, _of_run
from trundle.systems.wallbounce.scenario.trials import _deepest


def test_the_deepest_of_a_plan_is_that_of_its_contacts_of_each_hand() -> None:
    distances = np.array([[0.01, -0.2, 0.1, 0.1], [-0.03, 0.2, -0.01, -0.04]])  # m, stages x (left, left, right, right)
    forces = np.array([[2.0, 0.5, 0.0, 0.0], [9.0, 0.0, 0.9, 1.1]])  # N: what does not press is no contact
    plan = SimpleNamespace(distances=distances, forces=forces)
    policy: Any = SimpleNamespace(plans={"implicit": plan, "hybrid": None}, following=plan)
    view: Any = SimpleNamespace(time=0.0)
    for level in ("implicit", "hybrid"):
        np.testing.assert_array_equal(_deepest(policy, level, view), [0.03, 0.04])
    policy = SimpleNamespace(plans={"implicit": None}, following=None)
    np.testing.assert_array_equal(_deepest(policy, "implicit", view), [0.0, 0.0])


class _Run(dict[str, Any]):
    """A record's columns, as the figures read them."""

    name, status, metadata, time = "", None, {}, np.linspace(0.0, 1.0, 101)


@pytest.mark.parametrize("deep", [0.048, 0.0])
def test_distances_of_plans_show_how_deep_they_go(deep: float, monkeypatch: pytest.MonkeyPatch) -> None:
    n, hands = 101, np.zeros((101, 2))
    run = _Run(hand_force_measured=np.zeros((n, 2, 3)), wall_distance=hands + 0.2, active_contact=hands)
    for level in ("implicit", "hybrid"):
        run[f"solve_time_{level}"], run[f"hand_distance_{level}"] = np.full(n, 1e-3), hands + 0.2
        run[f"hand_penetration_{level}"] = hands + (deep if level == "implicit" else 0.0)
    ax = Figure().subplots()
    monkeypatch.setattr("trundle.report.style.dress", lambda *given, **named: None)
    _both_plans("hand_distance", "Distance", "distance (m)")(run, ax)  # pyright: ignore[reportArgumentType]
    labels = [str(shade.get_label()) for shade in ax.collections]
    assert f"deepest ahead, implicit: {1e3 * deep:.1f} mm" in labels
    low = min(path.vertices[:, 1].min() for shade in ax.collections for path in shade.get_paths())
    assert low == pytest.approx(-deep)
    assert ax.get_ylim()[0] <= low


def test_of_hands_that_are_not_pressed_there_is_no_figure_of_forces() -> None:
    none = np.zeros((11, 2, 3))
    found = [_of_run(_Run(hand_force_planned=none, hand_force_measured=none + force)) for force in (0.0, 5.0)]  # type: ignore[arg-type]
    assert found[1].keys() - found[0].keys() == {"hand_forces", "planned_hand_force"}

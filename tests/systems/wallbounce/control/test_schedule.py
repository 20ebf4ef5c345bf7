"""Schedules: each rule changes what it says and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trundle.errors import InputError
from trundle.systems.wallbounce.control.schedule import PAPER, ScheduleRules, contact_schedule, first_end, on_grid

RULES = ScheduleRules(arrives=0.0)
STEP = 0.04


def flags(forces, distances=0.0, rules=RULES, touching=False, elapsed=0.0, ends=np.inf):
    f = np.asarray(forces, dtype=float)[:, None]
    d = np.broadcast_to(distances, f.T.shape).T
    return contact_schedule(f, d, STEP, rules, touching, elapsed, ends)[:, 0].tolist()


def on(text):
    return [c == "x" for c in text]


def test_force_has_a_hysteresis():
    assert flags([2, 4, 2, 2, 1.3, 1.0, 2, 2]) == on(".xxxx...")


def test_a_hand_that_touches_now_begins_in_contact():
    assert flags([2, 2, 2, 1, 0], touching=True) == on("xxx..")
    assert flags([2, 2, 2, 1, 0]) == on(".....")


def test_a_force_at_a_distance_is_no_contact():
    far = [0.05, 0.03, 0.01, 0.03, 0.035, 0.05, 0.05]
    assert flags([9] * 7, far) == on("..xxx..")
    assert flags([9] * 7, far, replace(RULES, near=np.inf, far=np.inf)) == on("xxxxxxx")


def test_short_contacts_are_dropped():
    assert flags([0, 9, 9, 0, 9, 9, 9, 0]) == on("....xxx.")


def test_a_contact_at_the_end_of_the_plan_is_kept():
    assert flags([0, 0, 0, 9]) == on("...x")
    assert flags([0, 0, 0, 9], rules=replace(RULES, horizon=False)) == on("....")


def test_elapsed_time_counts():
    assert flags([9, 9, 0, 0], touching=True, elapsed=0.05) == on("xx..")
    assert flags([9, 9, 0, 0], touching=True, elapsed=0.03) == on("....")
    assert flags([9, 9, 0, 0], touching=True, elapsed=0.05, rules=replace(RULES, credit=False)) == on("....")
    assert flags([9, 9, 0, 0], elapsed=0.05) == on("....")  # it did not touch


def test_a_contact_that_lasts_is_over_at_its_end():
    assert flags([9] * 6, touching=True, ends=0.16) == on("xxxx..")
    assert flags([9] * 6, touching=True, ends=0.15) == on("xxxx..")  # the middle of the fourth stage is sooner
    assert flags([9] * 6, touching=True, ends=0.13) == on("xxx...")
    assert flags([9] * 6, touching=True, elapsed=1.0, ends=-0.2) == on("......")
    assert flags([9, 9, 9, 0, 0, 0], touching=True, ends=0.2) == on("xxx...")  # sooner stays sooner
    assert flags([0, 9, 9, 9, 9, 9], ends=0.1) == on(".xxxxx")  # it has not begun
    assert flags([9, 9, 0, 9, 9, 9], touching=True, elapsed=1.0, ends=0.04) == on("x..xxx")  # nor has the next one
    assert flags([9] * 6, touching=True, ends=0.08) == on("......")  # too short, like any other
    assert flags([9] * 6, touching=True, elapsed=0.05, ends=0.08) == on("xx....")


def test_a_hand_about_to_touch_touches_now():
    """It is 4 cm off or nearer and in the wall in the next stage: that stage would come again with each new plan."""
    rules = ScheduleRules()
    force = [0, 0, 9, 9, 9, 0]
    assert flags(force, [0.06, 0.03, -0.01, 0.0, 0.0, 0.1], rules) == on(".xxxx.")
    assert flags(force, [0.06, 0.03, -0.01, 0.0, 0.0, 0.1]) == on("..xxx.")  # arrives = 0
    assert flags(force, [0.06, 0.05, -0.01, 0.0, 0.0, 0.1], rules) == on("..xxx.")  # too far
    assert flags(force, [0.03, 0.03, -0.01, 0.0, 0.0, 0.1], rules) == on(".xxxx.")  # one stage, no more
    assert flags(force, [0.06, 0.03, 0.01, 0.0, 0.0, 0.1], rules) == on("..xxx.")  # pressed before it touches
    assert flags([0, 9, 9, 0], [0.03, -0.01, 0.0, 0.1], rules) == on("xxx.")  # long enough with the stage it gains
    assert flags([0, 9, 9, 0], [0.03, -0.01, 0.0, 0.1]) == on("....")


def test_the_stage_at_which_the_first_contact_ends():
    found = first_end(np.array([on("xx.x"), on(".xxx"), on("xxxx")]).T)
    assert found.tolist() == [2, 0, 4]


def test_the_paper_deletes_a_short_push():
    push = [0, 0] + [9] * 8 + [0] * 8
    assert flags(push) == on(".." + "x" * 8 + "." * 8)
    assert not any(flags(push, rules=PAPER))
    assert flags([0] + [9] * 13 + [0], rules=PAPER) == on("." + "x" * 13 + ".")


def test_several_pairs_do_not_mix():
    f = np.array([[9.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0], [0.0, 9.0], [0.0, 0.0]])
    found = contact_schedule(f, np.zeros_like(f), STEP, RULES, [False, True], [0.0, 1.0])
    assert found[:, 0].tolist() == on("xxx...")
    assert found[:, 1].tolist() == on("..xxx.")


def test_another_grid_is_filled_by_time():
    given = np.array(on("x.xx"))[:, None]
    times = np.array([0.0, 0.01, 0.04, 0.07, 0.08, 0.15, 0.16, 1.0])
    assert on_grid(given, STEP, times)[:, 0].tolist() == on("xx..xxxx")
    assert on_grid(given, STEP, 3 * np.array([0.0, 0.04]))[:, 0].tolist() == on("xx")


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: ScheduleRules(on=1.0, off=2.0), "off"),
        (lambda: ScheduleRules(near=0.05), "far"),
        (lambda: ScheduleRules(shortest=-0.1), "shortest"),
        (lambda: ScheduleRules(credit=1), "credit"),
        (lambda: ScheduleRules(keep_end=1), "keep_end"),
        (lambda: ScheduleRules(arrives=-0.01), "arrives"),
        (lambda: contact_schedule([[1.0]], [[0.0]], STEP, RULES, True, 0.0, np.nan), "ends"),
        (lambda: contact_schedule([[np.nan]], [[0.0]], STEP, RULES), "forces"),
        (lambda: contact_schedule([[1.0]], [[0.0, 1.0]], STEP, RULES), "distances"),
        (lambda: contact_schedule([[1.0]], [[0.0]], STEP, RULES, True, -1.0), "elapsed"),
    ],
)
def test_wrong_values_are_named(make, key):
    with pytest.raises(InputError, match=key):
        make()

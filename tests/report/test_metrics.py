from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.measuring import compute, measured
from tests.report.synthetic import ball_on_plate, changed, disk_down_slope, ellipsoid_in_dish, rock_on_terrain
from trundle.errors import InputError
from trundle.records import make_dataset, tree_view
from trundle.report import Count, Metric, MetricGroup, Quantity, RunSet, measure
from trundle.report.metrics import energy, general, is_passive, usage
from trundle.report.recompute import touch


@pytest.fixture(scope="module")
def plate():
    return ball_on_plate(duration=8.0, start=(0.1, 0.05))


@pytest.fixture(scope="module")
def tilted():
    return ball_on_plate(duration=12.0, tilt=0.01)


def test_the_exact_circle_passes_every_limit_of_the_spinning_plate(plate):
    values = compute("plate-spinning", plate)
    assert values["radius_error_percent"] < 1e-11
    assert values["centre_drift"] < 1e-14
    assert values["normal_force_error"] < 1e-12
    assert values["gap"] < 1e-14
    assert values["slip"] < 1e-13
    assert values["recomputed_share"] == 1.0


def test_a_path_of_the_wrong_radius_is_seen(plate):
    centre = np.array([0.2, 0.05, 0.0])
    scaled = centre + (1 + 1e-6) * (plate["contact_position"] - centre)
    values = compute("plate-spinning", changed(plate, contact_position=scaled))
    assert values["radius_error_percent"] == pytest.approx(1e-4, rel=1e-6)


def test_a_drifting_circle_is_seen(plate):
    moved = plate["contact_position"] + np.array([1e-6, 0, 0])
    values = compute("plate-spinning", changed(plate, contact_position=moved))
    assert values["centre_drift"] == pytest.approx(1e-6, rel=1e-6)


def test_the_centre_is_found_though_less_than_a_turn_was_made():
    run = ball_on_plate(duration=1.0, v=(0.3, -0.2))
    assert compute("plate-spinning", run)["centre_drift"] < 1e-12


@pytest.mark.parametrize("what", ["force", "motion"])
def test_a_wrong_normal_force_is_seen_in_the_force_and_in_the_motion(plate, what):
    if what == "force":
        bad = changed(plate, contact_force=plate["contact_force"] + [0, 0, 1e-6])
    else:  # 1e-6 N on 0.1 kg
        lift = np.outer(plate.time, [0, 0, 1e-5])
        bad = changed(plate, object_velocity=plate["object_velocity"] + lift)
    assert compute("plate-spinning", bad)["normal_force_error"] == pytest.approx(1e-6, rel=1e-3)


def test_the_spurious_gyroscopic_force_of_the_printed_equations_would_be_seen(plate):
    # Printed: N(0) = 0.961 N in place of m g = 0.981 N.
    bad = changed(plate, contact_force=plate["contact_force"] - [0, 0, 0.02])
    assert compute("plate-spinning", bad)["normal_force_error"] > 0.019


def test_the_drift_on_the_tilted_plate_is_five_halves_g_sin_over_the_spin(tilted):
    assert compute("plate-tilted", tilted)["drift_velocity_error"] < 1e-11
    slide = 2.5 * 9.81 * np.sin(0.01) / 7.0
    moved = tilted["contact_position"] + 1e-6 * slide * np.outer(tilted.time, [1, 0, 0])
    assert compute("plate-tilted", changed(tilted, contact_position=moved))["drift_velocity_error"] == pytest.approx(
        1e-6, rel=1e-3
    )


def test_a_level_drift_needs_a_turn_and_a_spinning_plate(tilted, plate):
    short = ball_on_plate(duration=1.0, tilt=0.01)
    with pytest.raises(InputError, match="one turn"):
        compute("plate-tilted", short)
    still = changed(plate, hand_angular_velocity=0 * plate["hand_angular_velocity"])
    with pytest.raises(InputError, match="steady spin"):
        compute("plate-spinning", still)
    with pytest.raises(InputError, match="sphere"):
        compute("plate-spinning", dataclasses.replace(plate, scene=()))


def test_slip_and_gap_are_found_again_whatever_the_record_says():
    run = ellipsoid_in_dish()
    values = general(run)
    assert values["gap"] < 1e-15
    assert values["slip"] < 1e-14
    normal = run["contact_normal"]
    lifted = changed(run, object_position=run["object_position"] + 1e-6 * normal)
    assert general(lifted)["gap"] == pytest.approx(1e-6, rel=1e-4)
    slipping = changed(run, object_velocity=run["object_velocity"] + [1e-6, 0, 0])
    assert general(slipping)["slip"] == pytest.approx(1e-6, rel=1e-4)
    lever = touch(run).lever
    spun = changed(run, object_angular_velocity=run["object_angular_velocity"] + lever)
    assert general(spun)["slip"] < 1e-14
    spun = changed(run, object_angular_velocity=run["object_angular_velocity"] + 1e-6 * normal)
    expected = np.max(np.linalg.norm(np.cross(1e-6 * normal, lever), axis=1))
    assert general(spun)["slip"] == pytest.approx(expected, rel=1e-6)


def test_the_rock_slips_by_what_its_velocity_is_off():
    run = rock_on_terrain()
    assert general(run)["slip"] < 1e-14
    assert general(run)["gap"] < 1e-15
    faster = changed(run, body_angular_velocity=run["body_angular_velocity"] + 1e-6)
    assert 1e-7 < general(faster)["slip"] < 1e-6
    lifted = changed(run, body_position=run["body_position"] + [0, 1e-9])
    assert 0.5e-9 < general(lifted)["gap"] <= 1e-9


def test_energy_is_kinetic_and_potential_in_space_and_plane(plate):
    kinetic, potential = energy(plate)
    assert kinetic + potential == pytest.approx(plate["energy"], rel=1e-12)
    disk = disk_down_slope()
    kinetic, potential = energy(disk)
    assert kinetic + potential == pytest.approx(disk["energy"], rel=1e-12)
    assert general(disk)["energy_drift"] < 1e-14


def test_energy_leaking_by_a_millionth_is_seen():
    disk = disk_down_slope()
    bad = changed(disk, body_velocity=disk["body_velocity"] * (1 + 1e-6))
    assert general(bad)["energy_drift"] == pytest.approx(4 / 3 * 1e-6, rel=1e-2)
    rock = rock_on_terrain()
    scale = 1.0 * 9.81 * 0.2
    kinetic, potential = energy(rock)
    expected = np.max(np.abs(kinetic + potential - kinetic[0] - potential[0])) / scale
    assert compute("rock-undulating", rock)["energy_drift"] == pytest.approx(expected)


def test_energy_has_to_stay_only_where_nothing_drives_the_motion(plate):
    disk = disk_down_slope()
    assert not is_passive(plate)
    assert is_passive(disk)
    assert not is_passive(changed(disk, torque=disk["torque"] + 1.0))
    assert not is_passive(changed(disk, mode=np.full(len(disk), "sliding")))
    assert "energy_drift" not in general(plate)
    damped = dict(disk.metadata) | {"physics": dict(disk.metadata["physics"]) | {"resisting": ["rear"]}}
    assert not is_passive(dataclasses.replace(disk, metadata=damped))


def test_friction_use_is_the_tangential_over_the_largest_friction():
    run = ellipsoid_in_dish()  # 0.3 N along, 2 N into the surface, mu = 0.5
    assert general(run)["friction_use"] == pytest.approx(0.3)
    assert general(run)["normal_force_min"] == pytest.approx(2.0)
    assert general(disk_down_slope())["friction_use"] == pytest.approx(np.tan(np.arctan(0.3)) / 3 / 0.6)


def test_a_pulling_force_never_counts_as_inside_the_cone():
    run = ellipsoid_in_dish()
    values = general(changed(run, contact_force=-run["contact_force"]))
    assert values["friction_use"] == 1e9
    assert values["normal_force_min"] == pytest.approx(-2.0)


def test_flight_uses_no_friction_and_has_no_gap_to_answer_for():
    run = ellipsoid_in_dish()
    mode = run["mode"].astype("<U12").copy()
    mode[50:60] = "separated"
    force = run["contact_force"].copy()
    force[50:60] = 0.0
    position = run["object_position"].copy()
    position[50:60] += 0.01 * run["contact_normal"][50:60]
    flown = changed(run, mode=mode, contact_force=force, object_position=position)
    values = general(flown)
    assert values["gap"] < 1e-15
    assert values["friction_use"] == pytest.approx(0.3)
    assert values["normal_force_min"] == pytest.approx(2.0)
    assert usage(flown)["friction_use"][50:60] == pytest.approx(0.0)


def test_sliding_is_no_slip_of_a_rolling_contact():
    run = ellipsoid_in_dish()
    velocity = run["object_velocity"].copy()
    velocity[100:] += 0.1
    mode = run["mode"].astype("<U12").copy()
    mode[100:] = "sliding"
    assert general(changed(run, object_velocity=velocity, mode=mode))["slip"] < 1e-14
    assert general(changed(run, object_velocity=velocity))["slip"] > 0.1


def test_torsional_use_needs_torsional_friction():
    run = ellipsoid_in_dish()
    assert "torsional_use" not in general(run)
    physics = dict(run.metadata["physics"]) | {"torsional_friction": 0.01}
    run = dataclasses.replace(run, metadata=dict(run.metadata) | {"physics": physics})
    values = general(changed(run, contact_moment=np.full(len(run), -0.005)))
    assert values["torsional_use"] == pytest.approx(0.005 / (0.01 * 2.0))


def test_parts_carry_their_name():
    run = ellipsoid_in_dish()
    values = compute("", run, {"pure-rolling": run})
    assert values["slip_pure_rolling"] == values["slip"]


def test_metrics_that_lack_their_data_say_so(plate):
    bare = dataclasses.replace(plate, metadata={"kind": "juggling"})
    with pytest.raises(InputError, match=r"metadata\.physics"):
        compute("plate-spinning", bare)
    assert "friction_use" not in general(bare)
    assert all(np.isfinite(v) and isinstance(v, float) for v in general(bare).values())


def two_contacts(run, second):
    """The run with a second contact that is `second` from sample 100 on."""
    n = len(run)
    given = {str(name): run[str(name)] for name in run.dataset.data_vars}
    for name in ("contact_position", "contact_force", "gap", "slip", "mode"):
        given[name] = np.concatenate([given[name], given[name]], axis=1)
    given["contact_force"] = given["contact_force"].copy()
    given["contact_force"][:, 1] *= np.where(np.arange(n) < 100, 0.0, 0.5)[:, None]
    given["mode"] = given["mode"].astype("<U16")
    given["mode"][:, 1] = np.where(np.arange(n) < 100, "separated", second)
    dataset = make_dataset(tree_view(2), run.time, given, contacts=("first", "second"))
    return dataclasses.replace(run, dataset=dataset)


def test_of_two_contacts_the_worse_counts_while_it_touches():
    run = rock_on_terrain()
    one, two = general(run), general(two_contacts(run, "rolling"))
    assert two["friction_use"] == pytest.approx(one["friction_use"])
    assert 0.4 * one["normal_force_min"] < two["normal_force_min"] < 0.6 * one["normal_force_min"]
    assert general(two_contacts(run, "separated"))["normal_force_min"] == pytest.approx(one["normal_force_min"])


def test_a_contact_in_space_is_judged_by_the_first_of_its_modes():
    run = ellipsoid_in_dish()
    apart = changed(run, mode=np.full(len(run), "separated + separated"), contact_force=0 * run["contact_force"])
    assert general(apart)["gap"] == 0.0
    both = changed(run, mode=np.full(len(run), "rolling + separated"))
    assert general(both) == general(run)


def test_inertia_and_gravity_are_read_in_every_form():
    disk, egg = disk_down_slope(), ellipsoid_in_dish()

    def with_physics(run, **values):
        physics = dict(run.metadata["physics"]) | values
        return dataclasses.replace(run, metadata=dict(run.metadata) | {"physics": physics})

    expected = np.sum(energy(disk), axis=0)
    assert np.sum(energy(with_physics(disk, gravity=[0.0, -9.81])), axis=0) == pytest.approx(expected)
    kinetic = energy(egg)[0]
    matrix = np.diag([3e-4, 4e-4, 5e-4]).tolist()
    assert energy(with_physics(egg, inertia=matrix))[0] == pytest.approx(kinetic, rel=1e-14)
    round_body = energy(with_physics(egg, inertia=[4e-4] * 3))[0]
    assert energy(with_physics(egg, inertia=4e-4))[0] == pytest.approx(round_body, rel=1e-14)


def test_every_general_metric_has_a_unit():
    run = ellipsoid_in_dish()
    found = measured("", run, {"pure-rolling": run})
    assert all(metric.unit for metric in found.values())
    assert all(metric.meaning for metric in found.values())
    assert (found["slip"].unit, found["slip_pure_rolling"].unit) == ("m/s", "m/s")
    assert found["normal_force_min_pure_rolling"].unit == "N"


def test_the_unit_is_that_of_the_longest_name_that_fits() -> None:
    known = {"goal_time": Quantity("s"), "goal_time_ratio": Quantity("1"), "slip": Quantity("m/s")}
    values = dict.fromkeys(("goal_time_ratio", "goal_time_drive_only", "slip_pure_rolling", "nothing"), 1.0)
    runs = RunSet(disk_down_slope(duration=0.1))
    found = measure(runs, (), lambda run: values, known)
    assert set(known) <= runs.known, "computed or not"
    assert [metric.unit for metric in found.values()] == ["1", "s", "m/s", ""]


def test_counts_say_out_of_how_many_and_groups_are_computed_where_they_are_asked_for() -> None:
    run = disk_down_slope(duration=0.1)
    group = MetricGroup({"held": Quantity("1", "trials that held")}, lambda run, parts: {"held": Count(3, 4)})
    assert measure(RunSet(run), (group,), lambda run: {}, {}) == {}
    asked = measure(RunSet(run, {}, frozenset({"held"})), (group,), lambda run: {}, {})
    assert asked == {"held": Metric(3.0, "of 4", "trials that held", 4)}
    elsewhere = dataclasses.replace(group, applies=lambda run, parts: "other" in parts)
    assert measure(RunSet(run, {}, frozenset({"held"})), (elsewhere,), lambda run: {}, {}) == {}

"""Rest at the stances of a search: a ramp too steep for soles alone is crossed with a hand on a rail, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from trundle.contact.patch import FlatPatch, PlacedPatch
from trundle.errors import InputError
from trundle.models.robots.humanoid import Humanoid, load_humanoid
from trundle.numerics.rotations import rotation_rpy
from trundle.systems.multicontact.humanoid.terrain import Block, Terrain
from trundle.systems.multicontact.stances.equilibrium import bearable, bearable_place
from trundle.systems.multicontact.stances.footsteps import StepReach, footsteps
from trundle.systems.multicontact.stances.pose import center_of_mass_of
from trundle.systems.multicontact.stances.resting import Resting

pytest.importorskip("pinocchio")
MU, STEEP = 0.54, 0.4
SOLE, POINT = FlatPatch.rectangle(0.16, 0.06, friction=MU), FlatPatch.point(MU)
INNER = MU / np.sqrt(2.0)
"""Of the pyramid inside the cone, along its sides."""
LINE = StepReach(wide=0.0, narrow=0.0, aside=0.02)


@pytest.fixture(scope="module")
def g1() -> Humanoid:
    return load_humanoid("g1")


def tilted(angle: float, name: str = "right_foot") -> PlacedPatch:
    return PlacedPatch(name, SOLE, np.array([0.3, -0.1, 0.2]), rotation_rpy(np.array([0.0, -angle, 0.0])))


def test_a_sole_alone_rests_up_to_the_angle_of_friction_and_with_a_hold_beyond() -> None:
    low, high = np.array([0.0, -0.4]), np.array([0.6, 0.2])
    limit = np.arctan(INNER)
    assert bearable_place([tilted(limit - 1e-3)], low, high, 33.0) is not None
    assert bearable_place([tilted(limit + 1e-3)], low, high, 33.0) is None
    hold = PlacedPatch("left_hand", POINT, np.array([0.35, 0.38, 0.8]))
    place = bearable_place([tilted(limit + 0.05), hold], low, high, 33.0)
    assert place is not None
    assert bearable([tilted(limit + 0.05), hold], np.append(place, 0.9), 33.0).feasible, "by the program of stances"
    assert bearable_place([tilted(0.1)], high, low, 33.0) is None, "no place at all"


def test_the_place_is_the_nearest() -> None:
    """A level sole bears over its own area: from beside it the nearest place is its edge."""
    level = PlacedPatch("left_foot", SOLE, np.zeros(3))
    inside, beside = np.array([0.02, 0.01]), np.array([0.2, 0.0])
    low, high = np.full(2, -0.5), np.full(2, 0.5)
    assert bearable_place([level], low, high, 33.0, inside) == pytest.approx(inside, abs=1e-9)
    found = bearable_place([level], low, high, 33.0, beside)
    assert found is not None
    assert found[0] == pytest.approx(0.08, abs=1e-9)


def valley(rail: bool) -> tuple[Terrain, float]:
    """Return level ground, a ramp of 28 cm, steeper than friction bears, and level ground above it; maybe a rail."""
    rise, turn = 0.28 * np.tan(STEEP), rotation_rpy(np.array([0.0, -STEEP, 0.0]))
    half = np.array([0.14 / np.cos(STEEP), 0.3, 0.1])
    ramp = np.array([0.29, 0.0, rise / 2]) - 0.1 * turn[:, 2]
    blocks = [
        Block([-0.35, 0.0, -0.1], [0.5, 0.3, 0.1], name="low"),
        Block(ramp, half, [0.0, -STEEP, 0.0], "ramp"),
        Block([0.93, 0.0, rise - 0.1], [0.5, 0.3, 0.1], name="high"),
    ]
    return Terrain([*blocks, Block([0.5, 0.4, 0.62], [1.0, 0.05, 0.03], name="rail")] if rail else blocks, False), rise


def search(g1: Humanoid, rail: bool) -> tuple[list, Resting]:
    terrain, _ = valley(rail)
    q = g1.standing()
    soles = {
        name: PlacedPatch(name, SOLE, np.array([0.0, y, 0.0]))
        for name, y in (("left_foot", 0.12), ("right_foot", -0.12))
    }

    def hold(middle: np.ndarray) -> PlacedPatch | None:
        try:
            return PlacedPatch("left_hand", POINT, *terrain.ground(middle[0] + 0.02, 0.4, "rail"))
        except InputError:
            return None

    resting = Resting(g1, soles, center_of_mass_of(g1, q), hold)
    start = {name: (sole.position, sole.R_world_patch) for name, sole in soles.items()}
    return footsteps(start, 0.7, lambda x, y: terrain.foothold(x, y, (0.105, 0.04), 0.0), 0.14, LINE, resting), resting


def test_only_a_hold_makes_the_crossing_possible(g1: Humanoid) -> None:
    steps, resting = search(g1, rail=True)
    places = {name: (np.array([0.0, y, 0.0]), np.eye(3)) for name, y in (("left_foot", 0.12), ("right_foot", -0.12))}
    alone = []
    for name, place in steps:
        stands = {other: where for other, where in places.items() if other != name}
        alone.append(resting(stands))
        assert alone[-1] or resting.find_hold(stands), "each stance rests, if need be with the hand"
        places[name] = place
        assert resting(places), "on both soles without it: it may be on its way"
    assert alone.count(False) == 1, "on the ramp"
    assert min(place[0][0] for place in places.values()) >= 0.7 - 1e-9
    with pytest.raises(InputError, match=r"of \d+ stances that can be reached none is beyond"):
        search(g1, rail=False)


def test_a_hold_beyond_the_arm_is_none(g1: Humanoid) -> None:
    soles = {
        name: PlacedPatch(name, SOLE, np.array([0.0, y, 0.0]))
        for name, y in (("left_foot", 0.12), ("right_foot", -0.12))
    }
    steep = {"right_foot": (np.array([0.3, -0.12, 0.0]), rotation_rpy(np.array([0.0, -STEEP, 0.0])))}
    for far, helps in (((0.32, 0.38, 0.7), True), ((0.32, 2.5, 0.7), False), ((0.32, 0.38, 3.0), False)):
        hold = PlacedPatch("left_hand", POINT, np.array(far))
        resting = Resting(g1, soles, center_of_mass_of(g1, g1.standing()), lambda middle, hold=hold: hold)
        assert resting(steep, True) == helps
        assert not resting(steep)

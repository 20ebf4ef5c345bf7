"""A start belongs to a model: that of another robot is refused by name, that of one with other numbers is not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trundle as tr
from trundle.errors import InputError
from trundle.models import Start


def cart(
    radius: float = 0.05, order: tuple[str, ...] = ("rear", "front"), terrain: Any = None, spread: float = 0.1
) -> tr.RollingTree:
    robot = tr.Robot()
    body = robot.free(2.0, 0.02, name="body")
    for name in order:
        x = -spread if name == "rear" else spread
        robot.revolute(body, (x, -0.05), 0.2, shape=tr.Circle(radius), name=name)
    robot.terrain(terrain or tr.Line(), friction=0.8)
    return robot.finish()


def three_legs() -> tr.RollingTree:
    robot = tr.Robot()
    body = robot.free(2.0, 0.02, name="body")
    for name, x in (("rear", -0.1), ("front", 0.1), ("middle", 0.0)):
        robot.revolute(body, (x, -0.05), 0.2, shape=tr.Circle(0.05), name=name)
    robot.terrain(tr.Line(), friction=0.8)
    return robot.finish()


CART = cart()
START = CART.place(body=(0, 0.1, 0), rates={"rear": -2.0})
OTHERS = {
    "radius": (lambda: cart(0.06), "contact rear has other shapes"),
    "order": (lambda: cart(order=("front", "rear")), "order"),
    "terrain": (lambda: cart(terrain=tr.Line(0.1)), "contact rear"),
    "place of a wheel": (lambda: cart(spread=0.11), "body rear has other"),
    "another body": (three_legs, "body middle"),
}
TAKERS: dict[str, Callable[[tr.RollingTree, Start], object]] = {
    "simulate": lambda tree, start: tr.simulate(tree, start, 0.01),
    "simulate_many": lambda tree, start: tr.simulate_many(tree, [start], 0.01),
    "linearize": tr.linearize,
    "equilibrium": tr.equilibrium,
    "lqr": lambda tree, start: tr.lqr(tree, start, {"body.position": 1.0}, {"rear.torque": 1.0}, 0.01),
    "sensitivities": lambda tree, start: tr.sensitivities(tree, start, 0.01, initial=True),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("taker", TAKERS)
def test_a_start_of_another_robot_is_refused_by_name(taker: str, other: str) -> None:
    make, why = OTHERS[other]
    with pytest.raises(InputError, match=f"start of another model.*{why}") as caught:
        TAKERS[taker](make(), START)
    assert caught.value.key in ("initial", "start", "starts")


def test_where_a_run_was_is_a_start_of_its_model() -> None:
    run = tr.simulate(CART, START, 0.01)
    assert tr.simulate(CART, tr.start_at(run, 0.005), 0.01).status is tr.Status.SUCCESS
    with pytest.raises(InputError, match="start of another model"):
        tr.simulate(cart(0.06), tr.start_at(run, 0.005), 0.01)
    runs = tr.simulate_many(CART, [START], 0.01)
    with pytest.raises(InputError, match="start of another model"):
        tr.simulate(cart(0.06), runs.ends[0], 0.01)
    with pytest.raises(InputError, match="start of another model"):
        tr.simulate(cart(0.06), tr.equilibrium(CART, START, moving=True).start, 0.01)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda start: pickle.loads(pickle.dumps(start))])
def test_copies_of_a_start_know_their_model(copied: Callable[[Start], Start]) -> None:
    start = copied(START)
    assert tr.simulate(CART, start, 0.01).status is tr.Status.SUCCESS
    assert tr.simulate(pickle.loads(pickle.dumps(CART)), start, 0.01).status is tr.Status.SUCCESS
    with pytest.raises(InputError, match="start of another model"):
        tr.simulate(cart(0.06), start, 0.01)


def test_the_same_robot_with_other_numbers_takes_the_start() -> None:
    """Made anew, from numbers that differ by round-off, with other masses and friction, or another size on purpose."""
    same = [cart(), cart(0.1 + 0.2 - 0.25, spread=np.float64(0.1)), CART.scaled(mass=2.0, friction=0.5)]
    same += [tr.with_parameters(CART, {"body.mass": 3.0}), tr.with_parameters(CART, {"rear.radius": 0.0501})]
    at_rest = CART.place(body=(0, 0.1, 0))
    for model in same:
        assert tr.simulate(model, at_rest, 0.01).status is tr.Status.SUCCESS


def test_a_state_of_ones_own_is_judged_by_its_sizes() -> None:
    own = Start(START.x, START.atlas)
    assert tr.simulate(CART, own, 0.01).status is tr.Status.SUCCESS
    for wrong in (
        Start(START.x[:-1], START.atlas),
        Start(START.x, START.atlas[:-1]),
        Start(START.x, START.atlas, ("rolling",)),
    ):
        with pytest.raises(InputError, match="numbers and"):
            tr.simulate(CART, wrong, 0.01)


def test_plans_refuse_a_start_of_another_pair() -> None:
    def pair(radius: float) -> tr.RollingPair:
        return tr.RollingPair(tr.RigidBody(tr.Circle(radius), mass=0.1), tr.Hand(tr.Line(), extent=0.4))

    start = pair(0.05).place()
    goal = {"contact_on_hand": (0.1, 0.0)}
    assert tr.juggling.Transfer(pair(0.05), start, goal, duration=0.5, hand_limits={"tilt": 0.3}).start is start
    with pytest.raises(InputError, match="start of another model") as caught:
        tr.juggling.Transfer(pair(0.06), start, goal, duration=0.5, hand_limits={"tilt": 0.3})
    assert caught.value.key == "start"

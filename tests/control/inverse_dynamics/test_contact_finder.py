from __future__ import annotations

import numpy as np
import pytest

import trundle as tr
from trundle.control.inverse_dynamics.contact_finder import ContactFinder
from trundle.models import RollingTree


def cart(terrain: tr.Shape, wheel: tr.Shape) -> RollingTree:
    robot = tr.Robot(gravity=9.81)
    base = robot.free(20.0, 1.2, name="base")
    for name, x in (("rear", -0.4), ("front", 0.4)):
        robot.revolute(base, at=(x, -0.2), mass=1.0, inertia=0.01, shape=wheel, name=name)
    robot.terrain(terrain, friction=0.8)
    return robot.finish()


class Watched:
    """A policy that finds contacts from the pose at every call, and notes how far it is from where they are."""

    period = 0.01

    def __init__(self, tree: RollingTree, atlas: object) -> None:
        self.finder = ContactFinder(tree.system, atlas)  # type: ignore[arg-type]
        self.layout = tree.system.model().layout
        self.off: list[float] = []

    def reset(self) -> None:
        self.finder.reset()

    def sense_contacts(self, time: float, touching: tuple[bool, ...]) -> None:
        self.touching = touching

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        hidden = np.array(state)
        for key, place in self.layout.items():
            if key.endswith(".coordinates"):
                hidden[place] = 0.0
        found = self.finder(hidden, self.touching)
        for name in ("rear", "front"):
            place = self.layout[f"{name}.coordinates"]
            self.off.append(float(np.max(np.abs(np.sin(found[place] - state[place])))))
        return np.array([-1.0, -1.0])


@pytest.mark.parametrize("wheel", [tr.Circle(0.12), tr.Ellipse((0.13, 0.11))])
def test_the_pose_alone_says_where_wheels_touch(wheel: tr.Shape) -> None:
    tree = cart(tr.Sinusoid(0.03, 1.5), wheel)
    start = tree.place(base=(0.0, 0.36, 0.0), tolerance=0.2)
    policy = Watched(tree, start.atlas)
    run = tr.simulate(tree, start, 0.6, policy=policy, relative_tolerance=1e-10)
    assert run.status is tr.Status.SUCCESS
    assert len(policy.off) == 120
    assert max(policy.off) < 1e-9


def test_a_noisy_pose_gives_the_nearest_points() -> None:
    terrain, wheel = tr.Sinusoid(0.03, 1.5), tr.Circle(0.12)
    tree = cart(terrain, wheel)
    start = tree.place(base=(0.0, 0.36, 0.0), tolerance=0.2)
    model, rng = tree.system.model(), np.random.default_rng(1)
    finder = ContactFinder(tree.system, start.atlas)
    x = np.array(start.x)
    x[model.layout["base.position"]] += 0.01 * rng.normal(size=2)
    x[model.layout["base.orientation"]] += 0.02
    touching = [contact_pair.contact in ("rear", "front") for contact_pair in tree.system.contact_pairs]
    found = finder(x, touching)
    angle = x[model.layout["base.orientation"]][0]
    for name, hip in (("rear", -0.4), ("front", 0.4)):
        c, s = np.cos(angle), np.sin(angle)
        center = x[model.layout["base.position"]] + [c * hip + s * 0.2, s * hip - c * 0.2]
        ground = np.linspace(center[0] - 0.2, center[0] + 0.2, 200001)
        height = 0.03 * np.sin(2 * np.pi * ground / 1.5)
        nearest = ground[np.argmin((ground - center[0]) ** 2 + (height - center[1]) ** 2)]
        assert found[model.layout[f"{name}.coordinates"]][1] == pytest.approx(nearest, abs=5e-6)
    others = [key for key in model.layout if not key.endswith(".coordinates")]
    for key in others:
        np.testing.assert_array_equal(found[model.layout[key]], x[model.layout[key]])


def test_contacts_that_are_apart_and_broken_states_stay_as_they_are() -> None:
    tree = cart(tr.Sinusoid(0.03, 1.5), tr.Circle(0.12))
    start = tree.place(base=(0.0, 0.36, 0.0), tolerance=0.2)
    finder, layout = ContactFinder(tree.system, start.atlas), tree.system.model().layout
    hidden = np.array(start.x)
    hidden[layout["rear.coordinates"]] = hidden[layout["front.coordinates"]] = 0.1
    found = finder(hidden, [contact_pair.contact == "front" for contact_pair in tree.system.contact_pairs])
    np.testing.assert_array_equal(found[layout["rear.coordinates"]], 0.1)
    assert found[layout["front.coordinates"]][1] == pytest.approx(start.x[layout["front.coordinates"]][1], abs=1e-10)
    hidden[0] = np.nan
    np.testing.assert_array_equal(finder(hidden, [True] * len(tree.system.contact_pairs)), hidden)


def test_two_contacts_of_a_body_are_two_places() -> None:
    robot = tr.Robot(gravity=9.81)
    base = robot.free(5.0, 0.1, name="base")
    robot.revolute(base, at=(0.0, 0.0), mass=1.0, inertia=0.01, shape=tr.Circle(0.3), name="wheel")
    robot.terrain(tr.Parabola(3.0), friction=0.8)
    tree = robot.finish()
    # z = 3 x^2 and a circle of radius r touch twice where its centre is at z = r^2 a + 1 / (4 a).
    height = 0.3**2 * 3.0 + 1 / 12.0
    x = np.zeros(tree.system.model().x.shape[0])
    layout = tree.system.model().layout
    x[layout["base.position"]] = 0.0, height
    found = ContactFinder(tree.system, tree.system.first_atlas)(x, [True, True])
    places = sorted(found[layout[f"{name}.coordinates"]][1] for name in ("wheel", "wheel-second"))
    expected = np.sqrt(0.3**2 - (1 / 6.0) ** 2)
    np.testing.assert_allclose(places, [-expected, expected], atol=1e-9)


def test_space_is_refused() -> None:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(radius=0.1), mass=1.0), tr.Hand(tr.Plane()))
    with pytest.raises(tr.InputError, match="plane"):
        ContactFinder(pair.system, pair.system.first_atlas)


def test_the_second_contact_of_a_wheel_is_not_the_first_one_turn_later() -> None:
    """A wheel of 0.12 m in the valley z = 8 x^2 touches at x = +-0.102 m; its outline's angle repeats after a turn."""
    robot = tr.Robot(gravity=9.81)
    base = robot.free(2.0, 0.1, name="base")
    robot.revolute(base, at=(0.0, -0.2), mass=1.0, inertia=0.01, shape=tr.Circle(0.12), name="wheel")
    robot.terrain(tr.Parabola(8.0), friction=0.8)
    tree = robot.finish()
    system = tree.system
    atlas = tuple((0, 0) for _ in system.contact_pairs)
    model = system.model(atlas)
    height = 0.0625 + 8 * (0.12**2 - 0.0625**2)
    x = np.zeros(model.x.shape[0])
    x[model.layout["base.position"]] = 0.0, height + 0.2
    first, second = (f"{contact_pair.contact}.coordinates" for contact_pair in system.contact_pairs)
    finder = ContactFinder(system, atlas)
    for turns in (0.0, 1.5, -1.5):
        for begin in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
            finder.reset()
            for angle in np.linspace(0.0, 2 * np.pi * turns, 40):  # the outline's angle at the contact follows
                x[model.layout["wheel.joint"]] = angle
                finder(x, begin)
            found = finder(x, np.ones(2))
            places = sorted(found[model.layout[name]][1] for name in (first, second))
            assert places == pytest.approx([-0.10244, 0.10244], abs=1e-4)

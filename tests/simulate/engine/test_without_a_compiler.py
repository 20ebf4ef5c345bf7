"""The cores that come with the package run the engine without a compiler: the same motions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import trundle as tr
from tests.cores import choose
from trundle.models.tree.system import ContactSystem
from trundle.simulate.engine.data_mode import DataMode, data_mode
from trundle.simulate.mode import Method, Mode

Cores = Mapping[str, ctypes.CDLL]
X = np.linspace(-2.0, 2.0, 9)
GRAVITY, ENDS = (0, 0, -9.81), {"on_slip": "slide", "on_separation": "fly"}
SPACE = {"gravity": GRAVITY} | ENDS


def rack() -> tuple[tr.RollingTree, tr.Start]:
    """A ball runs into two."""
    robot, r = tr.Robot(**SPACE), 0.03
    for name in "abc":
        robot.free(0.17, shape=tr.Sphere(r), name=name)
    robot.terrain(tr.Plane(), friction=0.2)
    for one, other in ("ab", "bc", "ac"):
        robot.contact(one, other, friction=0.05, restitution=0.95)
    tree = robot.finish()
    places = {"a": (-0.3, 0.0, r), "b": (0.0, 0.01, r), "c": (0.1, -0.01, r)}
    return tree, tree.place(rates={"a": (0, 2.0 / r, 0, 2.0, 0, 0)}, contacts=list("abc"), **places)


def stool(ground: tr.Shape) -> tuple[tr.RollingTree, tr.Start]:
    """A seat on three springy legs that have stops falls onto a ground."""
    robot = tr.Robot(**SPACE)
    seat = robot.free(5.0, (0.05, 0.1, 0.12), name="seat")
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("r", -0.2, 0.0)):
        leg = robot.prismatic(seat, (x, y, -0.2), 0.3, (1e-3,) * 3, axis=(0, 0, 1), shape=tr.Sphere(0.03), name=name)
        robot.resist(leg, stiffness=4000.0, damping=200.0, low=-0.05, high=0.05)
    robot.terrain(ground, friction=0.7)
    tree = robot.finish()
    return tree, tree.place(contacts=[], seat=(0.0, 0.0, 0.3))


def cart() -> tuple[tr.RollingTree, tr.Start]:
    """Two wheels on a hinged beam in the plane come down on waves."""
    robot = tr.Robot(gravity=9.81, **ENDS)
    base = robot.free(3.0, 0.2, name="base")
    beam = robot.revolute(base, (0.2, -0.1), 0.5, 0.02, actuated=False, name="beam")
    robot.resist(beam, low=-0.4, high=0.4)
    robot.revolute(beam, (0.15, 0.0), 0.4, shape=tr.Circle(0.1), name="front")
    robot.revolute(beam, (-0.15, 0.0), 0.4, shape=tr.Ellipse([0.12, 0.09]), name="rear")
    robot.terrain(tr.Sinusoid(0.02, 0.9), friction=tr.Friction(mu=0.6, rolling=1e-3, rolling_viscous=1e-2))
    tree = robot.finish()
    return tree, tree.place(contacts=[], base=(0.0, 0.4))


SCENES: dict[str, tuple[Callable[[], tuple[tr.RollingTree, tr.Start]], float]] = {
    "rack": (rack, 0.3),
    "stool": (lambda: stool(tr.Plane()), 0.14),
    "cart": (cart, 0.3),
}
"""With how long they run, s."""


def first_mode(system: ContactSystem) -> DataMode | None:
    """All contacts apart, as data."""
    return data_mode(system, Mode(("separated",) * len(system.contact_pairs), system.first_atlas), False, Method())


@pytest.mark.parametrize("name", SCENES)
def test_a_run_without_a_compiler_is_the_run_with_one(name: str, cores: Cores, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for way in ("compiler", "cores"):
        choose(way, cores, monkeypatch)
        make, duration = SCENES[name]
        tree, start = make()
        runs.append(tr.simulate(tree, start, duration, output_step=0.02))
        assert first_mode(tree.system) is not None
    compiled, interpreted = runs
    assert compiled.status is interpreted.status
    assert [one["to"] for one in compiled.transitions] == [one["to"] for one in interpreted.transitions]
    assert len(compiled.transitions) > 2
    for quantity in ("body_position", "body_velocity", "contact_force"):
        size = np.abs(compiled[quantity]).max()
        np.testing.assert_allclose(compiled[quantity], interpreted[quantity], rtol=0, atol=1e-12 * size)


def test_what_calls_functions_runs_by_expressions(cores: Cores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measured ground: kernels of it need a compiler, its modes do not. The stool falls."""
    choose("cores", cores, monkeypatch)
    tree, start = stool(tr.HeightMap(X, X, 0.05 * np.sin(2 * X)[:, None] * np.cos(X)))
    assert first_mode(tree.system) is None
    run = tr.simulate(tree, start, 0.02)
    fallen = run["body_position"][-1] - run["body_position"][0]
    np.testing.assert_allclose(fallen, np.tile([0.0, 0.0, -0.5 * 9.81 * 0.02**2], (4, 1)), atol=1e-12)

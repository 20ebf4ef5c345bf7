"""Contact modes as data: the numbers of the same mode as one expression, for kinds of contacts and laws."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import trundle as tr
from trundle.contact.laws import LAWS, Law, Rows, register
from trundle.models.tree.system import ContactSystem
from trundle.numerics.compiled.compile import find_compiler
from trundle.simulate.compiled_mode import CompiledMode
from trundle.simulate.engine.data_mode import DataMode, engine_of
from trundle.simulate.engine.kernels import LawKernels
from trundle.simulate.engine.tables import core
from trundle.simulate.mode import Method, Mode, Stabilization

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="kernels need a C compiler")
WITHIN = 1e-8
"""Of the largest number: what both make of rows that nearly depend on each other, far from where they hold."""
X = np.linspace(-2.0, 2.0, 9)
HILLS = tr.HeightMap(X, X, 0.05 * np.sin(2 * X)[:, None] * np.cos(X))


def balls() -> tr.RollingTree:
    """Two balls of other sizes and a die without corners on a floor."""
    robot = tr.Robot(gravity=(0.5, 0, -9.81), on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=tr.Sphere(0.2), name="a")
    robot.free(0.3, shape=tr.Sphere(0.1), name="b")
    robot.free(0.4, shape=tr.Ellipsoid([0.2, 0.15, 0.1]), shape_at=(0.02, 0.0, 0.01), name="c")
    robot.contact("a", "b", friction=0.3)
    robot.contact("b", "c", friction=0.2)
    robot.terrain(tr.Plane(), friction=tr.Friction(mu=0.5, rolling=1e-3, drilling=2e-3, drilling_viscous=1e-3))
    return robot.finish()


def legs() -> tr.RollingTree:
    """A trunk on legs that slide between stops, on hills, sticky."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    trunk = robot.free(5.0, (0.05, 0.1, 0.12), name="trunk")
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("rl", -0.2, 0.1)):
        leg = robot.prismatic(trunk, (x, y, -0.2), 0.3, (1e-3,) * 3, axis=(0, 0, 1), shape=tr.Sphere(0.03), name=name)
        robot.resist(leg, stiffness=2000.0, damping=60.0, low=-0.05, high=0.05)
    robot.terrain(HILLS, friction=tr.Friction(mu=0.7, adhesion=2.0))
    return robot.finish()


def bogie() -> tr.RollingTree:
    """Two wheels on a hinged beam in the plane, on waves."""
    robot = tr.Robot(gravity=9.81, on_slip="slide", on_separation="fly")
    base = robot.free(3.0, 0.2, name="base")
    beam = robot.revolute(base, (0.2, -0.1), 0.5, 0.02, actuated=False, name="beam")
    robot.resist(beam, low=-0.4, high=0.4)
    robot.revolute(beam, (0.15, 0.0), 0.4, shape=tr.Circle(0.1), name="front")
    robot.revolute(beam, (-0.15, 0.0), 0.4, shape=tr.Ellipse([0.12, 0.09]), name="rear")
    robot.terrain(tr.Sinusoid(0.02, 0.9), friction=tr.Friction(mu=0.6, rolling=1e-3, rolling_viscous=1e-2))
    return robot.finish()


def on_ground(ground: tr.Shape, *shapes: tr.Shape) -> tr.RollingTree:
    """Free bodies of these shapes on one ground."""
    robot = tr.Robot(gravity=(0.5, 0, -9.81), on_slip="slide", on_separation="fly")
    for name, shape in zip("abc", shapes, strict=False):
        robot.free(0.4, shape=shape, name=name)
    robot.terrain(ground, friction=0.4)
    return robot.finish()


def flats() -> tr.RollingTree:
    """A box, a can and a disc on a floor: corners, rims and points of faces."""
    return on_ground(tr.Plane(), tr.Box([0.1, 0.15, 0.06]), tr.Cylinder(0.12, 0.3), tr.Disc(0.1))


def edges() -> tr.RollingTree:
    """A box on a dome: corners, edges and faces."""
    return on_ground(tr.Ellipsoid([0.3, 0.3, 0.25]), tr.Box([0.2, 0.3, 0.11]))


def linkage() -> tr.RollingTree:
    """A four-bar linkage of links with rollers, in space, on hills."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    base = robot.free(2.0, (0.02, 0.03, 0.04), name="base")
    crank = robot.revolute(base, (0.0, 0.0, 0.0), 0.3, (1e-3, 2e-3, 1e-3), axis=(0, 1, 0), name="crank")
    coupler = robot.revolute(crank, (0.1, 0.0, 0.1), 0.2, (1e-3,) * 3, axis=(0, 1, 0), name="coupler")
    for name, parent in (("a", base), ("b", crank), ("c", coupler), ("d", coupler)):
        x = 0.02 * ord(name) - 2.0
        robot.revolute(
            parent, (x, 0.02, -0.05), 0.1, (1e-4,) * 3, axis=(0, 1, 0), shape=tr.Sphere(0.03 + 0.01 * x), name=name
        )
    robot.close(coupler, (0.2, 0.01, 0.0), base, (0.3, 0.0, 0.02))
    robot.terrain(HILLS, friction=0.7)
    return robot.finish()


def geared() -> tr.RollingTree:
    """A body in space on two wheels that gears join, one of them with a stop, and a slide that follows a wheel."""
    robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
    base = robot.free(2.0, (0.02, 0.03, 0.04), shape=tr.Sphere(0.1), name="base")
    wheels = [
        robot.revolute(base, (x, 0.02, -0.1), 0.3, (1e-3, 2e-3, 1e-3), axis=(0, 1, 0), shape=tr.Sphere(0.05), name=name)
        for name, x in (("rear", -0.3), ("front", 0.3))
    ]
    slide = robot.prismatic(base, (0.0, 0.0, 0.2), 0.2, (1e-3,) * 3, axis=(1, 0, 1), name="slide")
    robot.couple(wheels[1], wheels[0], ratio=-1.7, offset=0.2)
    robot.couple(slide, wheels[0], ratio=0.1)
    robot.resist(wheels[0], low=-2.0, high=2.0)
    robot.terrain(HILLS, friction=0.7)
    return robot.finish()


def springy() -> tr.RollingTree:
    """Four bodies on a floor that gives, and on each other."""
    robot = tr.Robot(gravity=(0, 0, -9.81), law="hunt-crossley")
    for name, shape in (("a", tr.Sphere(0.2)), ("b", tr.Sphere(0.1)), ("c", tr.Ellipsoid([0.2, 0.15, 0.1]))):
        robot.free(0.4, shape=shape, name=name)
    robot.contact("a", "b", friction=0.3)
    robot.terrain(tr.Plane(), friction=tr.Friction(mu=0.5, rolling=1e-3, drilling=2e-3, stiffness=1e4))
    return robot.finish()


MODELS: dict[str, Callable[[], tr.RollingTree]] = {
    one.__name__: one for one in (balls, legs, bogie, flats, edges, linkage, geared)
}


def random_state(system: ContactSystem, random: np.random.Generator) -> np.ndarray:
    """Return a state near zero with unit quaternions and unit normals, as nobody would start."""
    model = system.model()
    x = 0.3 * random.normal(size=model.x.shape[0])
    for name, where in model.layout.items():
        if name.endswith((".orientation", ".coordinates")) and where.stop - where.start > 2:
            x[where] /= np.linalg.norm(x[where])
    return x


def random_laws(system: ContactSystem, random: np.random.Generator) -> tuple[str, ...]:
    """Return laws of which two contacts of shapes and a stop touch, and one may hold a turning.

    So few rows that a motion obeys all of them, also far from where they hold.
    """
    of_shapes = [
        law for law in LAWS if LAWS[law].touching and not LAWS[law].distant and law not in ("stopped", "fixed")
    ]
    laws = ["separated"] * len(system.contact_pairs)
    stops = [i for i, pair in enumerate(system.contact_pairs) if pair.stop is not None]
    of_pairs = [i for i in range(len(laws)) if i not in stops]
    bodies = [pair.body_A for pair in system.contact_pairs]
    one = int(random.choice(of_pairs))
    elsewhere = [i for i in of_pairs if bodies[i] != bodies[one]]
    other = int(random.choice(elsewhere or [i for i in of_pairs if i != one]))
    laws[one], laws[other] = str(random.choice(of_shapes)), str(random.choice(["rolling", "sliding"]))
    if stops:
        laws[random.choice(stops)] = "stopped"
    return tuple(laws)


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let laws have no cones, and expressions no shares: then no contact shares its force."""
    kernels = sys.modules["trundle.simulate.engine.kernels"].law_kernels

    def without_cones(*given: object) -> LawKernels | None:
        found = kernels(*given)
        return None if found is None else replace(found, cones=None, cone_sizes=())

    monkeypatch.setattr(sys.modules["trundle.simulate.engine.data_mode"], "law_kernels", without_cones)


STABILIZATIONS: tuple[Stabilization, ...] = ("projection", "baumgarte", "none")


def both(
    system: ContactSystem, mode: Mode, held: bool = False, stabilization: Stabilization = "projection"
) -> tuple[DataMode, CompiledMode]:
    """Return a mode as data and as one expression."""
    loaded, method = core(), Method(stabilization=stabilization)
    assert loaded is not None
    engine = engine_of(system, mode.atlas, held, loaded, method.feedback)
    assert engine is not None
    return DataMode(system, mode, held, method, engine), CompiledMode(system, mode, held, method)


def agree(found: np.ndarray, expected: np.ndarray, within: float) -> None:
    """Assert that numbers are the same, by the largest of them; also where there are none."""
    assert np.array_equal(np.isfinite(found), np.isfinite(expected))
    good = np.isfinite(expected)
    size = np.abs(expected[good]).max(initial=1.0)
    assert np.abs(found - expected)[good].max(initial=0.0) <= within * size


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(4))
def test_a_mode_as_data_is_the_mode_as_an_expression(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rate, margins, projection and quantities of random modes at random states, but for how forces are shared."""
    alone(monkeypatch)
    system, random = MODELS[name]().system, np.random.default_rng([seed, 5])
    mode = Mode(random_laws(system, random), system.first_atlas)
    data, fused = both(system, mode, stabilization=STABILIZATIONS[seed % 3])
    x, n = random_state(system, random), len(mode.laws)
    assert data.complete
    for _ in range(3):
        x = x + 1e-3 * random.normal(size=x.shape)
        onsets = random.normal(size=(n, data.model.d + data.model.k))
        p = data.parameters(np.zeros(data.input_count), onsets, random.choice([-1.0, 1.0], n))
        rate, expected = data.integrator.system.rate(0.0, x, p), fused.integrator.system.rate(0.0, x, p)
        agree(rate, np.asarray(expected).ravel(), WITHIN)
        margins, others = data.margin_values(0.0, x, p), fused.margin_values(0.0, x, p)
        gaps = {f"{system.contact_pairs[i].contact}.gap" for i in data.near}
        assert set(margins) == set(others) | gaps
        agree(np.array([margins[key] for key in others]), np.array(list(others.values())), WITHIN)
        projected, onto = data.integrator.system.projection, fused.integrator.system.projection
        if seed % 3:
            assert onto is None
            assert data.integrator.system.functions()[2] is None
        else:
            assert onto is not None
            agree(projected(0.0, x, p), np.asarray(onto(0.0, x, p)).ravel(), WITHIN)
        told = [i for i, law in enumerate(mode.laws) if law not in ("separated", "fixed") and random.random() < 0.7]
        for part, wanted in zip(*(vars(one.instant(0.0, x, p, told)).values() for one in (data, fused)), strict=True):
            agree(part, wanted, WITHIN)
        given = np.zeros(1), x[None], p[None]
        out, seen = data.outputs(*given), fused.outputs(*given)
        assert set(out) == set(seen)
        frozen = tuple(f"{system.contact_pairs[i].contact}." for i in data.near)  # of these it tells the nearest points
        for key, value in seen.items():
            if not key.startswith(frozen):
                agree(out[key], value, WITHIN)


@pytest.mark.parametrize("seed", range(3))
def test_a_law_that_stores_energy_is_data(seed: int) -> None:
    """Forces, rates and energies of contacts that give, deep and apart."""
    system, random = springy().system, np.random.default_rng([seed, 6])
    data, fused = both(system, Mode(("hunt-crossley",) * len(system.contact_pairs), system.first_atlas))
    assert data.complete
    x, p = random_state(system, random), data.parameters(np.zeros(0))
    agree(data.integrator.system.rate(0.0, x, p), np.asarray(fused.integrator.system.rate(0.0, x, p)).ravel(), WITHIN)
    for forces in (True, False):
        out, seen = (one.outputs(np.zeros(1), x[None], p[None], forces) for one in (data, fused))
        assert set(out) == set(seen)
        for key, value in seen.items():
            agree(out[key], value, WITHIN)


def test_a_law_of_ones_own_is_a_kernel() -> None:
    """A law that `register` makes known runs as data, too, unless it asks for what kernels are not told."""

    class Greased(Law):
        name, slipping = "greased 43", True

        def rows(self, k, friction):
            b, v = ca.dot(k.n, k.bias) + ca.dot(k.ndot, k.vrel), ca.dot(k.n, k.vrel)
            return Rows(k.n.T @ k.LA, k.n.T @ k.LB, b, v, ca.dot(k.n, k.gap))

        def wrench(self, k, lam, friction):
            return k.n * lam, ca.SX(1, 1)

        def margins(self, k, lam, friction):
            return {"normal_force": lam}

    class Curious(Greased):
        name = "curious 43"

        def margins(self, k, lam, friction):
            return {"normal_force": lam + ca.sumsqr(k.misalignment)}

    register(Greased())
    register(Curious())
    try:
        system = balls().system
        n = len(system.contact_pairs)
        data, fused = both(system, Mode(("greased 43",) * n, system.first_atlas))
        x, p = random_state(system, np.random.default_rng(1)), data.parameters(np.zeros(0))
        agree(
            data.integrator.system.rate(0.0, x, p), np.asarray(fused.integrator.system.rate(0.0, x, p)).ravel(), WITHIN
        )
        curious, _ = both(system, Mode(("curious 43",) * n, system.first_atlas))
        assert not curious.complete
    finally:
        del LAWS["greased 43"], LAWS["curious 43"]


def test_another_size_compiles_nothing() -> None:
    """Kernels are of kinds: sizes, masses and frictions are numbers that they are called with."""
    loaded = core()
    assert loaded is not None

    def kernels(radius: float, mass: float, friction: float) -> set[int]:
        robot = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly")
        for name in "ab":
            robot.free(mass, shape=tr.Sphere(radius), name=name)
        robot.contact("a", "b", friction=friction)
        robot.terrain(tr.Plane(), friction=friction)
        system = robot.finish().system
        engine = engine_of(system, system.first_atlas, False, loaded)
        assert engine is not None
        DataMode(system, Mode(("rolling", "sliding", "rolling"), system.first_atlas), False, Method(), engine)
        return {kernel.eval for struct in engine.structs for kernel in struct}

    assert kernels(0.11, 0.3, 0.4) == kernels(0.23, 1.7, 0.9)


def test_the_gap_of_two_balls_in_flight_is_a_margin_to_round_off() -> None:
    """It is that of the line between their centres, and where that leaves them is where the contact is."""
    robot = tr.Robot(gravity=(0, 0, 0), on_slip="slide", on_separation="fly")
    robot.free(1.0, shape=tr.Sphere(0.2), shape_at=(0.01, 0.02, 0.03), name="a")
    robot.free(1.0, shape=tr.Sphere(0.1), name="b")
    robot.contact("a", "b")
    tree = robot.finish()
    data, _ = both(tree.system, Mode(("separated",), tree.system.first_atlas))
    model, random = tree.system.model(), np.random.default_rng(3)
    where = ca.Function(
        "where",
        [model.x],
        [model.motions[name].at(ca.SX(at)).p for name, at in (("a", [0.01, 0.02, 0.03]), ("b", [0, 0, 0]))],
    )
    for _ in range(20):
        x = random_state(tree.system, random)
        a, b = (np.asarray(v).ravel() for v in where(x))
        gap = data.margin_values(0.0, x, data.parameters(np.zeros(0)))["a-b.gap"]
        assert gap == pytest.approx(np.linalg.norm(a - b) - 0.3, abs=1e-15)


def test_threads_share_a_phase() -> None:
    """Each run has work memory of its own: the numbers are those of one run after the other."""
    tree = legs()
    laws = tuple("rolling" if pair.stop is None else "separated" for pair in tree.system.contact_pairs)
    data, _ = both(tree.system, Mode(laws, tree.system.first_atlas), held=True)
    random = np.random.default_rng(4)
    starts = [random_state(tree.system, random) for _ in range(16)]
    p = data.parameters(np.zeros(data.input_count))

    def run(x: np.ndarray) -> np.ndarray:
        return data.integrator.integrate(0.0, x, 0.02, p, watched=np.zeros(len(data.margins), dtype=bool)).x_end

    alone = [run(x) for x in starts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, starts))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other)


def test_a_rack_of_balls_moves_as_by_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collisions, slips and rolling: the same times and the same motion."""

    def run() -> tr.Trajectory:
        robot, r = tr.Robot(gravity=(0, 0, -9.81), on_slip="slide", on_separation="fly"), 0.03
        for name in "abc":
            robot.free(0.17, shape=tr.Sphere(r), name=name)
        robot.terrain(tr.Plane(), friction=0.2)
        for one, other in ("ab", "bc", "ac"):
            robot.contact(one, other, friction=0.05, restitution=0.95)
        tree = robot.finish()
        places = {"a": (-0.3, 0.0, r), "b": (0.0, 0.01, r), "c": (0.1, -0.01, r)}
        start = tree.place(rates={"a": (0, 2.0 / r, 0, 2.0, 0, 0)}, contacts=list("abc"), **places)
        return tr.simulate(tree, start, 0.5, output_step=0.05)

    as_data = run()
    monkeypatch.setattr(sys.modules["trundle.simulate.engine.data_mode"], "SMALL", 100)
    as_expressions = run()
    assert len(as_data.transitions) == len(as_expressions.transitions) > 5
    for one, other in zip(as_data.transitions, as_expressions.transitions, strict=True):
        assert one["to"] == other["to"]
        assert one["time"] == pytest.approx(other["time"], abs=1e-9)
    for name in ("body_position", "body_velocity"):
        assert np.abs(np.asarray(as_data[name])[::5] - np.asarray(as_expressions[name])[::5]).max() < 1e-9

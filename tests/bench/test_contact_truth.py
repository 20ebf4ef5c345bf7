"""What runs of other simulators are judged by agrees with what is known otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from bench.classics.blocks import COUNT, HIGH, SPACING, domino_times
from bench.contacts import balls, truth
from bench.contacts.scene import Drive, Scene
from bench.contacts.scenes import SCENES
from bench.contacts.statement import Statement, UnstatedError, state
from trundle.interop.forms import Form
from trundle.interop.scene import PeerBody, PeerContact, PeerGeom, PeerScene

UP, STILL, UPRIGHT = np.array([0.0, 0.0, 1.0]), np.zeros(3), np.eye(3)
DOWN = np.array([0.0, 0.0, -9.81])


def body(name: str, mass: float = 1.0, inertia: np.ndarray = UPRIGHT, com: np.ndarray = STILL, **more: Any) -> PeerBody:
    """Return a free body at the origin."""
    given: dict[str, Any] = {"position": STILL, "R": UPRIGHT, "axis": UP, "twist": np.zeros(6)}
    return PeerBody(name, "", "free", mass, com, inertia, **given | more)


def scene(*bodies: PeerBody, gravity: np.ndarray = DOWN, geoms: Any = (), contacts: Any = ()) -> PeerScene:
    """Return a scene of these."""
    return PeerScene(gravity, bodies, tuple(geoms), tuple(contacts), (), ())


def sample(position: Any = STILL, turn: Rotation | None = None, spin: Any = STILL, velocity: Any = STILL) -> np.ndarray:
    """Return one sample (13,) of a body."""
    quaternion = (turn or Rotation.identity()).as_quat(scalar_first=True)
    return np.concatenate([position, quaternion, spin, velocity])


def test_energy_is_that_of_the_points_a_body_is_made_of() -> None:
    random = np.random.default_rng(1)
    for _ in range(20):
        masses, points = random.uniform(0.1, 1.0, 7), random.normal(size=(7, 3))
        com = masses @ points / masses.sum()
        arms = points - com
        inertia = np.einsum("k,kij->ij", masses, np.einsum("kl,kl,ij->kij", arms, arms, np.eye(3)))
        inertia -= np.einsum("k,ki,kj->ij", masses, arms, arms)
        made = body("one", masses.sum(), inertia, com)
        turn, spin, velocity = Rotation.random(random_state=random), random.normal(size=3), random.normal(size=3)
        place = random.normal(size=3)
        row = sample(place, turn, spin, velocity)[None]
        turned = turn.apply(points)
        speeds = velocity + np.cross(spin, turned)
        known = 0.5 * np.sum(masses * np.sum(speeds**2, axis=1))
        assert truth.kinetic(made, row)[0] == pytest.approx(known)
        height = masses @ (place + turned)[:, 2]
        assert truth.potential(scene(made), made, row)[0] == pytest.approx(9.81 * height)


@pytest.mark.parametrize("gain", [0.0, 0.2])
def test_energy_made_is_what_a_bounce_brings_in(gain: float) -> None:
    """A ball falls for half a second and comes off the ground with more energy, or as much, after a soft contact."""
    times = np.linspace(0.0, 1.0, 1001)
    before = times < 0.5
    top = 9.81 * 0.5
    up = top * np.sqrt(1.0 + gain)
    height = np.where(before, 5.0 - 0.5 * 9.81 * times**2, 5.0 - 0.5 * 9.81 * 0.25 + up * (times - 0.5))
    height -= np.where(before, 0.0, 0.5 * 9.81 * (times - 0.5) ** 2)
    speed = np.where(before, -9.81 * times, up - 9.81 * (times - 0.5))
    speed[500:510] = 0.0  # in a spring
    rows = np.array([sample((0, 0, z), velocity=(0, 0, v)) for z, v in zip(height, speed, strict=True)])[:, None]
    found = truth.energy_made(scene(body("ball")), times, rows)
    most = 0.5 * max(top**2, speed.max() ** 2)
    assert found == pytest.approx(0.5 * gain * top**2 / most, abs=1e-9)


def test_momentum_that_is_lost_is_told() -> None:
    rows = np.zeros((3, 2, 13))
    rows[:, 0, 10], rows[:, 1, 10] = (2.0, 1.0, 0.5), (0.0, 0.5, 0.5)
    found = truth.momentum_lost(scene(body("one"), body("two", 2.0), gravity=STILL), rows)
    assert found == pytest.approx(0.25)


def test_overlap_of_spheres_and_of_ellipsoids_with_planes_is_that_of_their_points() -> None:
    random = np.random.default_rng(2)
    angles = np.stack(np.meshgrid(np.linspace(0, np.pi, 400), np.linspace(0, 2 * np.pi, 400)), axis=-1).reshape(-1, 2)
    ball = np.column_stack([np.sin(angles[:, 0]) * np.cos(angles[:, 1]), np.sin(angles[:, 0]) * np.sin(angles[:, 1]),
                            np.cos(angles[:, 0])])  # fmt: skip
    for _ in range(10):
        axes, at, turn = random.uniform(0.05, 0.2, 3), random.normal(scale=0.1, size=3), Rotation.random(rng=random)
        tilt = Rotation.random(rng=random)
        geoms = (
            PeerGeom("egg", "one", Form("ellipsoid", tuple(axes)), at, UPRIGHT),
            PeerGeom("ground", "", Form("plane"), STILL, tilt.as_matrix()),
        )
        made = scene(body("one"), geoms=geoms, contacts=[PeerContact("egg", "ground", 0.1)])
        place = random.normal(scale=0.05, size=3)
        surface = place + turn.apply(at + axes * ball)
        known = max(0.0, -float((surface @ tilt.as_matrix()[:, 2]).min()))
        found = truth.overlap(made, sample(place, turn)[None, None])
        assert found == pytest.approx(known, abs=1e-4)
    geoms = [PeerGeom(name, name, Form("sphere", (r,)), STILL, UPRIGHT) for name, r in (("one", 0.3), ("two", 0.2))]
    two = scene(body("one"), body("two"), geoms=geoms, contacts=[PeerContact("one", "two", 0.0)])
    rows = np.array([[sample(), sample((x, 0, 0))] for x in (0.6, 0.45, 0.55)])
    assert truth.overlap(two, rows) == pytest.approx(0.05)


def test_a_ball_that_rolls_on_the_plate_is_where_its_equation_brings_it() -> None:
    """2/5 m r^2 w' = r x F, m v' = F, and no slip: v' = 2/7 O e_z x v, integrated."""
    case = balls.CASE
    rate = 2.0 / 7.0 * case.plate_rate
    start = [0.0, 0.0, *case.start_velocity[:2]]
    done = solve_ivp(lambda t, y: [y[2], y[3], -rate * y[3], rate * y[2]], (0, 20.0), start, rtol=1e-11, atol=1e-12)
    rows = np.zeros((2, 2, 13))
    rows[-1, -1, :2] = done.y[:2, -1]
    assert float(truth.plate(np.array([0.0, 20.0]), rows).split(" ")[0]) < 1e-4  # mm


@pytest.mark.parametrize("late", [-2e-3, 3e-3])
def test_the_last_domino_that_is_hit_is_told_with_how_late(late: float) -> None:
    number, touch = COUNT - 3, np.arcsin(SPACING / HIGH)
    told = "3 ms late" if late > 0 else "2 ms early"
    hit = domino_times()[number - 2] + late
    times = np.linspace(0.0, 0.6, 301)
    rows = np.tile(sample(), (len(times), COUNT, 1))
    angles = touch * times / hit
    turned = Rotation.from_rotvec(np.outer(angles, (0.0, 1.0, 0.0))).as_quat(scalar_first=True)
    rows[:, number - 2, 3:7] = turned
    assert truth.dominoes(times, rows) == f"number {number} is hit {told}"


def test_forces_are_held_for_a_period() -> None:
    drive = Drive(1e-3, lambda t: np.array([np.sin(t), t]))
    row = Scene("none", balls.row)
    found = Statement(scene(body("one")), 1.0, drive, row).forces(2.5e-4, 4000)
    assert found.shape == (4000, 2)
    assert found == pytest.approx(np.repeat([[np.sin(1e-3 * i), 1e-3 * i] for i in range(1000)], 4, axis=0))


def test_samples_stand_at_whole_steps_and_are_no_fewer_than_told() -> None:
    statement = Statement(scene(body("one")), 0.5, None, Scene("none", balls.row))
    assert len(statement.times(1e-4)) == 501
    assert len(statement.times(2e-3)) == 251


def test_replays_are_no_statement() -> None:
    from bench.contacts.scene import Replay

    with pytest.raises(UnstatedError, match="replay"):
        state(Scene("walk", lambda: Replay(lambda: "")))


def test_the_box_has_its_balls_inside_its_planes() -> None:
    statement = state(SCENES["box"])
    geoms = {geom.name: geom for geom in statement.scene.geoms}
    bodies = {made.name: made for made in statement.scene.bodies}
    assert len(statement.scene.contacts) == 100 * 99 // 2 + 100 * 5
    for one in statement.scene.contacts:
        A, B = geoms[one.first], geoms[one.second]
        assert np.linalg.det(B.R) == pytest.approx(1.0)
        if B.form.kind == "plane":
            assert B.R[:, 2] @ (bodies[A.body].position - B.position) > A.form.size[0]
            assert np.linalg.norm(B.position) == pytest.approx(0.0 if B.name == "floor" else balls.WALL)


def test_the_box_is_the_same_in_the_words_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed")
    model = mujoco.MjModel.from_xml_string(balls.box_mjcf())
    for made in state(SCENES["box"]).scene.bodies:
        number = model.body(made.name).id
        assert model.body_mass[number] == pytest.approx(made.mass)
        assert model.body_inertia[number] == pytest.approx(np.diag(made.inertia))
        assert model.body_pos[number] == pytest.approx(made.position)
    assert np.all(model.geom_friction[:, 0] == balls.BOX_FRICTION)

"""Scenes as Exudyn and Siconos have them: runs agree with what is known in closed form, and with one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import trundle as tr
from bench.contacts import balls, in_exudyn, in_siconos
from bench.contacts.peers import RUNS, installed, peer_times
from bench.contacts.scene import Scene
from bench.contacts.scenes import SCENES
from bench.contacts.statement import PeerTime, Statement, UnstatedError, state, timed
from trundle.interop.forms import Form
from trundle.interop.peers import PeerRun, divide_interval
from trundle.interop.scene import PeerBody, PeerContact, PeerGeom, PeerScene, scene_of

EXUDYN = pytest.mark.skipif(find_spec("exudyn") is None, reason="Exudyn is not installed")
SICONOS = pytest.mark.skipif(
    in_siconos.interpreter() is None, reason=f"no Python with Siconos: {in_siconos.NAMED} names one"
)
BOTH = [
    pytest.param(in_exudyn.run, marks=EXUDYN, id="exudyn"),
    pytest.param(in_siconos.run, marks=SICONOS, id="siconos"),
]
MASS, RADIUS = 0.2, 0.05  # kg, m
STEP = 1e-4  # s

Run = Callable[[Statement, np.ndarray, float, int], PeerRun]


def ball(name: str, place: Any, velocity: Any, mass: float = MASS) -> tuple[PeerBody, PeerGeom]:
    """Return a solid ball that moves."""
    inertia = 0.4 * mass * RADIUS**2 * np.eye(3)
    twist = np.concatenate([np.zeros(3), velocity])
    made = PeerBody(
        name, "", "free", mass, np.zeros(3), inertia, np.array(place), np.eye(3), np.array([0.0, 0.0, 1.0]), twist
    )
    return made, PeerGeom(name, name, Form("sphere", (RADIUS,)), np.zeros(3), np.eye(3))


def stepped(run: Run, statement: Statement, step: float = STEP) -> PeerRun:
    """Return a run with about this step."""
    times = statement.times(step)
    return run(statement, times, *divide_interval(times, step))


def given(scene: PeerScene, duration: float) -> Statement:
    """Return a scene without anything else."""
    return Statement(scene, duration, None, Scene("of a test", balls.row))


@pytest.mark.parametrize("run", BOTH)
@pytest.mark.parametrize("bounce", [0.5, 0.95])
def test_two_balls_part_with_the_speeds_of_newtons_law(run: Run, bounce: float) -> None:
    heavy = 3 * MASS
    (one, A), (two, B) = ball("one", (0, 0, 0), (1, 0, 0)), ball("two", (0.15, 0, 0), (0, 0, 0), heavy)
    contact = PeerContact("one", "two", 0.1, restitution=bounce)
    found = stepped(run, given(PeerScene(np.zeros(3), (one, two), (A, B), (contact,), (), ()), 0.2))
    first, second = 1 - heavy * (1 + bounce) / (MASS + heavy), MASS * (1 + bounce) / (MASS + heavy)
    assert found.bodies[-1, :, 10] == pytest.approx([first, second], abs=5e-3)
    assert found.bodies[-1, :, [0, 11, 12]][1:] == pytest.approx(np.zeros((2, 2)), abs=1e-6)


@pytest.mark.parametrize("run", BOTH)
def test_a_ball_that_slides_ends_rolling_at_five_sevenths(run: Run) -> None:
    made, geom = ball("ball", (0, 0, RADIUS), (1, 0, 0))
    ground = PeerGeom("ground", "", Form("plane"), np.zeros(3), np.eye(3))
    contact = PeerContact("ball", "ground", 0.2)
    found = stepped(run, given(PeerScene(np.array([0, 0, -9.81]), (made,), (geom, ground), (contact,), (), ()), 0.3))
    sliding = 0.05  # s; rolls after 2 v / (7 mu g) = 0.146 s
    times = np.linspace(0.0, 0.3, len(found.bodies))
    assert np.interp(sliding, times, found.bodies[:, 0, 10]) == pytest.approx(1 - 0.2 * 9.81 * sliding, rel=2e-3)
    assert found.bodies[-1, 0, 10] == pytest.approx(5 / 7, rel=2e-3)
    assert found.bodies[-1, 0, 8] * RADIUS == pytest.approx(5 / 7, rel=2e-3)
    assert np.abs(found.bodies[:, 0, 2] - RADIUS).max() < 1e-4


@pytest.mark.parametrize("run", BOTH)
def test_a_hinged_body_swings_as_a_pendulum(run: Run) -> None:
    """The ball hangs beside the middle of its frame; small swings last 2 pi sqrt((I + m l^2) / (m g l))."""
    arm = 0.3
    made, geom = ball("ball", (0, 0, 0), (0, 0, 0))
    lean = Rotation.from_rotvec([0.0, 0.02, 0.0]).as_matrix()
    hung = replace(made, joint="hinge", com=np.array([0, 0, -arm]), axis=np.array([0.0, 1.0, 0.0]), R=lean)
    geom = replace(geom, position=hung.com)
    inertia = 0.4 * MASS * RADIUS**2 + MASS * arm**2
    half = np.pi * np.sqrt(inertia / (MASS * 9.81 * arm))
    found = stepped(run, given(PeerScene(np.array([0, 0, -9.81]), (hung,), (geom,), (), (), ()), half))
    x, y, z, w = Rotation.from_quat(found.bodies[-1, 0, 3:7], scalar_first=True).as_quat()
    assert 2 * np.arctan2(y, w) == pytest.approx(-0.02, rel=2e-3)
    assert found.bodies[:, 0, :3] == pytest.approx(np.zeros((len(found.bodies), 3)), abs=1e-5)
    assert [x, z] == pytest.approx([0, 0], abs=1e-8)


@pytest.mark.parametrize("run", BOTH)
@pytest.mark.parametrize("name", ["row", "dominoes", "fingers", "plate"])
def test_scenes_come_near_what_is_known(run: Run, name: str) -> None:
    statement = state(SCENES[name])
    if name in ("plate", "fingers"):
        statement = replace(statement, duration=1.0)
    one = timed("simulator", statement, STEP, run, {})
    assert one.seconds is not None
    number = {"plate": 0, "fingers": 6, "row": 2, "dominoes": 4}[name]
    value = float(one.note.split(" ")[number])
    if name == "row":  # springs pass 0.94 of it on, Newton's law at all contacts at once 2/3
        assert 0.6 < value < 1.0
        assert float(one.note.split("momentum lost ")[1].split(" ")[0]) < 1e-9
    else:
        assert value < {"plate": 1.0, "fingers": 0.3, "dominoes": 0.3}[name]
    if name == "dominoes":
        assert one.note.startswith("number 12")


@pytest.mark.parametrize("run", BOTH)
def test_balls_stay_in_the_box(run: Run) -> None:
    statement = replace(state(SCENES["box"]), duration=0.15)
    found = stepped(run, statement, 2e-4 if run is in_exudyn.run else 1e-3)
    radii = np.array([geom.form.size[0] for geom in statement.scene.geoms if geom.form.kind == "sphere"])
    places = found.bodies[-1, :, :3]
    assert np.all(places[:, 2] > radii - 5e-3)
    assert np.all(np.abs(places[:, :2]).max(axis=1) < balls.WALL - radii + 5e-3)
    apart = np.linalg.norm(places[:, None] - places, axis=2) - radii - radii[:, None]
    assert apart[np.triu_indices(100, 1)].min() > -5e-3
    assert places[:, 2].min() < 1.5 * radii.max()  # they have landed


@SICONOS
def test_the_break_is_that_of_siconos_with_steps_that_tell_the_impacts_apart() -> None:
    """Impacts of a break follow each other within 2 us, so its steps are of 1 us; they begin just before the first."""
    case = balls.rack(6)
    begin, end = (tr.simulate(case.model, case.start, duration) for duration in (0.09, 0.092))
    scene = scene_of(case.model, case.start)

    def moved(k: int, made: PeerBody) -> PeerBody:
        velocity, spin = (begin[f"body_{name}velocity"][-1, k] for name in ("", "angular_"))
        return replace(made, position=begin["body_position"][-1, k], twist=np.concatenate([spin, velocity]))

    started = replace(scene, bodies=tuple(moved(k, made) for k, made in enumerate(scene.bodies)))
    found = stepped(in_siconos.run, given(started, 0.002), 1e-6)
    assert [made.name for made in scene.bodies] == list(end["body"])
    assert found.bodies[-1, :, 10:] == pytest.approx(end["body_velocity"][-1], abs=0.005 * balls.CUE_SPEED)
    assert found.bodies[-1, :, :3] == pytest.approx(end["body_position"][-1], abs=1e-4)


def test_samples_of_siconos_are_those_of_the_frame() -> None:
    """A body turns about its frame's origin, which rests: its centre of mass runs round."""
    random = np.random.default_rng(3)
    com, spin, place = random.normal(size=3), random.normal(size=3), random.normal(size=3)
    made = replace(ball("one", (0, 0, 0), (0, 0, 0))[0], com=com)
    for angle in np.linspace(0.0, 1.0, 5):
        turn = Rotation.from_rotvec(angle * spin)
        arm = turn.apply(com)
        quaternion = turn.as_quat(scalar_first=True)
        row = np.concatenate([place + arm, quaternion, np.cross(spin, arm), turn.inv().apply(spin)])
        found = in_siconos.of_frame(made, row[None])[0]
        assert found == pytest.approx(np.concatenate([place, quaternion, spin, np.zeros(3)]))


@pytest.mark.parametrize("name", ["sprung", "rollers", "oloid"])
def test_what_cannot_be_stated_is_said_in_a_few_words(name: str) -> None:
    statement = state(SCENES[name])
    with pytest.raises(UnstatedError) as said:
        in_siconos.written(statement.scene)
    assert 0 < len(str(said.value)) < 60


def test_who_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.contacts.peers.installed", lambda: dict.fromkeys(installed(), False))
    found = peer_times(SCENES["row"], {})
    assert found == [PeerTime(name, None, "not installed") for name in ("MuJoCo", "Exudyn", "Siconos")]


def test_every_run_is_of_a_simulator_that_is_looked_for() -> None:
    assert {label.split(" ")[0] for label, _, _ in RUNS} == set(installed())


def test_the_distance_from_a_run_here_is_that_of_the_bodies_that_are_in_both() -> None:
    def still(statement: Statement, times: np.ndarray, step: float, every: int) -> PeerRun:
        found = PeerRun.of(statement.scene, len(times), 1.0)
        found.bodies[:, :, 3] = 1.0
        found.bodies[:, :, :3] = [made.position for made in statement.scene.bodies]
        return found

    statement = replace(state(SCENES["row"]), row=Scene("row", balls.row, closed=False))
    places = {"ball1": [0.1, 0.0, 0.003], "nobody": [9.0, 9.0, 9.0]}
    here = next(made for made in statement.scene.bodies if made.name == "ball1").position
    known = 1e3 * np.linalg.norm(here - places["ball1"])
    one = timed("nobody", statement, 1e-3, still, places)
    assert f"{known:.3g} mm from trundle's end" in one.note
    assert one.label == "nobody, 1 ms"

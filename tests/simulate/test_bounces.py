"""Bodies that bounce: times of a ball in closed form, an end in finite time, spin that friction turns into speed."""

import numpy as np
import pytest
from scipy.optimize import brentq

import trundle as tr
from trundle.errors import InputError
from trundle.models import Start

G, H, R = 9.81, 1.0, 0.1


def dropped(pair: tr.RollingPair, height: float = H, spin: float = 0.0, speed: float = 0.0) -> Start:
    """Return the start in the air, `height` (m) above the ground."""
    start = pair.place()
    x, layout = np.array(start.x), pair.system.model().layout
    name = pair.names[0]
    x[layout[f"{name}.position"]][-1] += height
    x[layout[f"{name}.velocity"].start] = speed
    x[layout[f"{name}.angular_velocity"].stop - (1 if pair.d == 2 else 2)] = spin
    return Start(x, start.atlas, ("separated",) * len(pair.system.contact_pairs))


def ball(d: int, **given) -> tr.RollingPair:
    body = tr.RigidBody(tr.Circle(R) if d == 2 else tr.Sphere(R), mass=0.4)
    base = tr.Ground(tr.Line() if d == 2 else tr.Plane())
    return tr.RollingPair(body, base, on_slip="slide", on_separation="fly", **given)


@pytest.mark.parametrize("hypothesis", ["newton", "poisson"])
@pytest.mark.parametrize("d", [2, 3])
def test_a_dropped_ball_bounces_at_the_times_of_the_closed_form_and_ends_in_finite_time(d, hypothesis):
    e = 0.7
    pair = ball(d, restitution=e, hypothesis=hypothesis)
    run = tr.simulate(pair, dropped(pair), duration=4.0)
    assert run.status is tr.Status.SUCCESS
    v = np.sqrt(2 * G * H)
    landings = np.array([one["time"] for one in run.metadata["transitions"] if one["reason"] == "the gap closed"])
    expected = v / G + 2 * v / G * np.cumsum([0.0, *e ** np.arange(1, len(landings))])
    np.testing.assert_allclose(landings, expected, rtol=1e-9)
    total = v / G * (1 + e) / (1 - e)
    left = 2 * 1e-3 / G * 1 / (1 - e)  # of the bounces slower than bounce_speed
    assert total - left < landings[-1] <= total
    assert run.metadata["transitions"][-1]["to"] == "rolling"
    assert np.all(np.diff(run["energy"]) <= 1e-9)


def test_a_ball_with_backspin_comes_back():
    e, mu, w, u = 0.8, 0.5, 60.0, 1.0
    pair = ball(2, restitution=e, friction=mu)
    run = tr.simulate(pair, dropped(pair, spin=w, speed=u), duration=0.6)
    after = run["body_velocity"][-1].ravel()
    # It sticks: u+ - R w+ ... with inertia m R^2/2 a third of the slip's speed goes to the translation.
    slip = u + R * w
    stick = slip / 3
    slide = mu * (1 + e) * np.sqrt(2 * G * H)
    assert after[0] == pytest.approx(u - min(stick, slide), rel=1e-9)
    assert after[0] < 0.0


def test_restitution_of_one_keeps_the_energy():
    pair = ball(3, restitution=1.0)
    run = tr.simulate(pair, dropped(pair), duration=3.0)
    energy = run["energy"]
    assert np.ptp(energy) < 1e-9 * energy[0]
    assert len(run.metadata["transitions"]) == 3


def test_parts_of_a_robot_have_their_own_restitution():
    heights = []
    for e in (None, 0.5):
        robot = tr.Robot(gravity=G, on_slip="slide", on_separation="fly")
        robot.free(0.4, 0.002, shape=tr.Circle(R), restitution=e, name="ball")
        robot.terrain(tr.Line(), restitution=0.9)
        tree = robot.finish()
        start = Start(tree.given_state(ball=(0.0, H + R, 0.0)), ((0, 0),), ("separated",))
        run = tr.simulate(tree, start, duration=0.8)
        heights.append(float(run["body_velocity"][-1, 0, 1]))
    v = np.sqrt(2 * G * H)
    assert heights == pytest.approx([e * v - G * (0.8 - v / G) for e in (0.9, 0.5)], rel=1e-9)


@pytest.mark.parametrize("given", [{"restitution": 1.1}, {"restitution": float("nan")}, {"hypothesis": "stronge"}])
def test_values_out_of_range_are_refused(given):
    with pytest.raises(InputError, match=next(iter(given))):
        ball(2, **given)
    robot = tr.Robot(gravity=G)
    with pytest.raises(InputError, match=next(iter(given))):
        robot.terrain(tr.Line(), **given)


def test_bounces_too_low_to_follow_end_in_rest() -> None:
    pair = ball(3, restitution=0.8, bounce_speed=0.0)
    run = tr.simulate(pair, dropped(pair), duration=5.0)
    assert run.status is tr.Status.SUCCESS
    last = run.transitions[-1]
    assert (last["reason"], last["to"]) == ("the gap closed", "rolling")
    assert last["time"] == pytest.approx(np.sqrt(2 * H / G) * 1.8 / 0.2, rel=1e-4)
    assert np.abs(run["object_velocity"][-1]).max() < 1e-9


@pytest.mark.slow
def test_time_steps_end_where_a_disc_goes_from_its_edge_to_its_face() -> None:
    """That is no landing: another part of the body has touched, and nothing goes round for ever."""
    robot = tr.Robot(gravity=[0.0, 0.0, -9.81], on_slip="slide", on_separation="fly")
    robot.free(0.35, [0.000621859, 0.000622202, 0.0011848], shape=tr.Disc(0.0851), name="b0")
    inertia, com = [0.00690695, 0.00691017, 0.013159], [0.000854, 0.00124, 0.00197]
    robot.free(3.03, inertia, center_of_mass=com, shape=tr.Disc(0.0892, 0.0122), name="b1")
    robot.terrain(tr.Sphere(1.69), friction=0.551, restitution=0.478)
    tree = robot.finish()
    start = tree.place(
        b0=[0.0897, -0.07, 1.81917, 1.0, 0.0, 0.0, 0.0],
        b1=[-0.0322, -0.113, 1.818, 1.0, 0.0, 0.0, 0.0],
        contacts=[],
        rates={"b0": [2.38, 0.115, -2.33, -0.014, -0.0368, -0.0552], "b1": [1.19, 1.32, -2.76, -0.166, -0.261, -0.372]},
    )
    run = tr.simulate(tree, start, 0.6)
    assert run.status is tr.Status.SUCCESS
    assert len(run.transitions) < 300


@pytest.mark.slow
def test_a_corner_that_is_pressed_on_stays_though_it_would_bounce() -> None:
    """Its normal velocity is zero after each blow, and forces press it on: a thousand blows took no time."""
    robot = tr.Robot(gravity=[0.738973, 0.0, -9.78213], on_slip="slide", on_separation="fly")
    inertias = ([0.00273192, 0.00486498, 0.00352635], 0.0029239, [0.00210159, 0.00160315, 0.00211192], 0.00178569)
    shapes = (tr.Box([0.0915, 0.0454, 0.0776]), tr.Sphere(0.0952), tr.Box([0.0467, 0.0594, 0.0464]), tr.Sphere(0.0749))
    for k, (mass, inertia, shape) in enumerate(zip((0.959, 0.871, 0.928, 0.686), inertias, shapes, strict=True)):
        robot.free(mass, inertia, shape=shape, name=f"b{k}")
    robot.terrain(tr.Plane(), friction=tr.Friction(1.8, rolling=0.00825), restitution=0.173)
    for pair in (("b0", "b1"), ("b0", "b2"), ("b1", "b2"), ("b3", "b0"), ("b1", "b3"), ("b3", "b2")):
        robot.contact(*pair, friction=0.954, restitution=0.0)
    tree = robot.finish()
    turns = (
        [0.5444329027793439, 0.14848170075800288, 0.8248983375444604, -0.032995933501778416],
        [0.32514236562529336, -0.46603739072958716, -0.8182749534903218, -0.08670463083341157],
        [0.37152335988779694, 0.10717019996763373, 0.8502169197432276, 0.35723399989211246],
        [-0.19526437116397022, -0.03254406186066171, -0.669477843990755, -0.7159693609345575],
    )
    places = ([0.0, -0.0215, 0.307], [0.22, -0.00223, 0.0952], [0.44, -0.00231, 0.14], [0.66, 0.0208, 0.157])
    start = tree.place(
        **{f"b{k}": [*places[k], *turns[k]] for k in range(4)},
        contacts=["b1"],
        rates={
            "b1": [-13.4, -14.5, 16.2, -1.81, 0.716, 0.0],
            "b2": [0.0, 0.0, 0.0, -1.07, 0.0957, 0.0549],
            "b3": [1.4, -3.07, -1.86, -0.474, -0.334, -0.636],
        },
        slips={"b1": [-0.4296, -0.55968, 0.0]},
    )
    run = tr.simulate(tree, start, 0.45)
    assert run.status is tr.Status.SUCCESS
    assert len(run.transitions) < 300


@pytest.mark.parametrize("tilted_by", [-1e-4, -6e-5])
def test_a_plank_bounces_off_a_second_crest_also_in_time_steps(tilted_by: float) -> None:
    """Its end stays on one crest while it comes down on the next; a rod that slides far away makes time steps do it."""
    height, length = 0.05, 0.6
    k = 2.0 * np.pi / length
    crest = brentq(lambda x: height * (-np.sin(k * x)) / (length - x) - height * k * np.cos(k * x), 0.151, 0.25)
    tilt = float(np.arctan(height * k * np.cos(k * crest))) + tilted_by
    along, up = np.array([np.cos(tilt), np.sin(tilt)]), np.array([-np.sin(tilt), np.cos(tilt)])
    corner = np.array([length, 0.0])
    at = corner - 0.25 * along + 0.025 * up
    rates = 4.0 * np.array([1.0, corner[1] - at[1], at[0] - corner[0]])
    turns = []
    for beside in (False, True):
        robot = tr.Robot(gravity=[0.0, -9.81], on_slip="slide", on_separation="fly")
        robot.free(1.0, "solid", shape=tr.Box([0.25, 0.025]), name="plank")
        places, speeds, touching = {"plank": [*at, tilt]}, {"plank": list(rates)}, {"contacts": ["plank"]}
        if beside:
            robot.free(1.0, 0.03, shape=tr.Circle(0.01), shape_at=[0.3, 0.0], name="rod")
            places["rod"] = [-1.2, height + 0.01 + 0.3 * np.sin(np.pi / 3.0), -np.pi / 3.0]
            speeds["rod"] = [0.0, 2.0, 0.0]
            touching = {"contacts": ["plank", "rod"], "slips": {"rod": 2.0}}
        robot.terrain(tr.Sinusoid(height, length), friction=3.0, restitution=0.5)
        tree = robot.finish()
        run = tr.simulate(tree, tree.place(rates=speeds, **places, **touching), 0.004, output_step=1e-3)
        assert run.status is tr.Status.SUCCESS
        assert beside == any(t["to"] == "time stepping" for t in run.transitions)
        turns.append(float(run["body_angular_velocity"][-1][0]))
    assert turns[0] < -0.1
    assert turns[1] == pytest.approx(turns[0], rel=1e-6)


def test_a_body_that_others_throw_to_and_fro_is_not_held_by_an_impulse_that_pulls() -> None:
    """Three balls on one body, on the ground, under a heavy ball: blows of 3 cm/s follow each other within 1e-7 s.

    Held as if they were low hops, a contact would pull with 1 % of the body's momentum.
    """
    robot = tr.Robot(gravity=[0.0, -G], on_slip="slide", on_separation="fly")
    body = robot.free(3.47, 0.0479, shape=tr.Circle(0.0732), shape_at=[0.133, 0.0], name="body")
    robot.attach(body, tr.Circle(0.0598), at=[-0.0665, 0.115], name="second")
    robot.attach(body, tr.Circle(0.0513), at=[-0.0665, -0.115], name="third")
    robot.free(19.9, 0.175, center_of_mass=[0.00308, 0.0125], shape=tr.Circle(0.129), name="heavy")
    robot.terrain(tr.Line(), friction=0.804, restitution=0.254)
    for name in ("body", "second", "third"):
        robot.contact(name, "heavy", friction=0.431, restitution=0.869)
    tree = robot.finish()
    start = tree.place(
        body=[0.0, 0.4, -2.75],
        heavy=[0.418, 0.361, 0.0],
        contacts=[],
        rates={"body": [1.03, 0.063, 0.697], "heavy": [-3.47, -1.45, 1.88]},
    )
    run = tr.simulate(tree, start, 0.8)
    assert run.status.label == "success", run.metadata["audit"]["findings"]
    events = run.dataset
    on_ground = np.isin(events["event_contact"].values, ["body", "second", "third", "heavy"])
    pulls = -events["event_impulse"].values[on_ground][:, 1]
    assert np.max(pulls) < 1e-3

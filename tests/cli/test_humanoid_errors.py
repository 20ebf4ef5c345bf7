"""What is wrong with a humanoid's scenario is one line and exit code 2, before anything is simulated."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.cli.test_cli import trundle
from tests.scenarios.files import own_robot
from trundle.extras import command
from trundle.models.urdf import examples as example_robots
from trundle.systems.multicontact.scenario.experiment import MulticontactExperiment

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")


WALL = "{center=[1.4, 0.0, 0.2], size=[1.0, 2.0, 0.5]}"
SLIPPERY = "{blocks=[{center=[1.4, 0.0, -0.45], size=[1.0, 2.0, 1.0], rpy=[0.12, 0.0, 0.0]}]}"


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be simulated."""

    def outcome(*_: object) -> None:
        raise AssertionError("a trial was run")

    monkeypatch.setattr(MulticontactExperiment, "outcome", outcome)


@pytest.mark.parametrize(
    ("name", "override", "key", "words"),
    [
        ("humanoid-walk", 'robot.name="atlas"', "robot.name = 'atlas'", "'g1', 'talos'"),
        ("humanoid-walk", "terrain.floor=false", "terrain.floor = False", "a place over a block"),
        ("humanoid-walk", "steps.length=0.8", "steps.length = 0.8", "within the robot's reach"),
        ("humanoid-walk", "steps.double=0.0", "steps.double = 0.0", "> 0"),
        ("humanoid-walk", "steps.lean={left_leg=0.1}", "steps.lean.left_leg = 0.1", "left_foot, right_foot"),
        ("humanoid-walk", "steps.timing={support_speed=1e-9}", "steps = ", "at most 3600 s"),
        ("humanoid-walk", "controller.period=0.0015", "controller.period = 0.0015", "a multiple of plant.step = 0.001"),
        ("humanoid-walk", "plant.step=0.005", "controller.period", "a multiple of plant.step = 0.005"),
        ("humanoid-walk", "noise.delay=0.0005", "noise.delay = 0.0005", "a multiple of plant.step"),
        (
            "humanoid-walk",
            "simulation.output_step=0.0015",
            "simulation.output_step = 0.0015",
            "a multiple of plant.step",
        ),
        ("humanoid-walk", "trials.mass_factors=[1e-9]", "trials.mass_factors", "each from 0.01 to 100"),
        ("humanoid-walk", "steps.first=1e6", "steps.first = 1000000.0", "to 600 (s)"),
        ("humanoid-walk", "steps.timing={alpha=3.0}", "steps.timing.alpha = 3.0", "above tau"),
        ("humanoid-ledge", "hand.ahead=0.7", "steps.rest", "left_hand by"),
        ("humanoid-ledge", 'hand.end="left_claw"', "hand.end = 'left_claw'", "'left_hand', 'right_hand'"),
        ("humanoid-ledge", 'robot.pose="split"', "robot.pose = 'split'", "'lean_left'"),
        ("humanoid-ledge", "steps={width=0.05,fit=false}", "steps.width = 0.05", "overlap"),
        ("humanoid-walk", "steps.fit=true", "steps.fit = true", "without a width"),
        ("humanoid-ledge", "hand.down=1.5", "hand.down = 1.5", "a share from 0 to 1"),
        ("humanoid-ledge", 'hand.support="wall"', "hand.support = 'wall'", "'ridge', 'beam'"),
        ("humanoid-carry", "route.ways=[1.2]", "route.ways = [1.2]", "within the robot's reach"),
        ("humanoid-carry", "box.size=[2.0, 0.24, 2.0]", "box.size = [2.0, 0.24, 2.0]", "above the ground"),
        ("humanoid-carry", "route.turn_steps=1", "route.turn_steps = 1", "each sole has to turn"),
        ("humanoid-carry", "terrain.floor=false", "terrain.floor = False", "a place over a block"),
        ("humanoid-carry", "stands.place_height=1.4", "stands.place_ahead = 0.27", "by stands.place_height"),
        ("humanoid-carry", "box.held=[0.9, 0.0, 0.2]", "box.held = [0.9, 0.0, 0.2]", "within reach of the arms"),
        ("humanoid-walk", "robot.lowered=0.5", "robot.lowered = 0.5", "a height at which the robot can stand"),
        ("humanoid-carry", "route={turn=-6.2, turn_steps=2}", "route.turn = -6.2", "from -1."),
        ("humanoid-carry", "route={turn=3.0, turn_steps=0, ways=[0.1]}", "route.turn = 3.0", "turns a sole by"),
        ("humanoid-walk", f"terrain.blocks=[{WALL}]", "steps.length = 0.14", "out of reach"),
        ("humanoid-stand", "robot.lowered=0.5", "robot.lowered = 0.5", "a height at which the robot can stand"),
    ],
)
def test_it_names_key_value_and_what_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, override: str, key: str, words: str
) -> None:
    given = ["--set", "terrain.floor=false"] if name == "humanoid-ledge" else []
    code, _, err = trundle(capsys, "run", name, "--out", tmp_path / "out", *given, "--set", override)
    assert code == 2, err
    assert key in err
    assert words in err
    assert "must be" in err


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ('link = "l_sole"', 'link = "l_toe"', "feet.left.link = 'l_toe'", "l_sole"),
        ("width = 0.09 ", "width = 0.0 ", "feet.left.width = 0.0", "> 0"),
        ('urdf = "romeo_small"', 'urdf = "romeo_tiny"', "'romeo_tiny'", "romeo_small"),
        ('urdf = "romeo_small"', 'urdf = "../hopper.urdf"', "robot.urdf = '../hopper.urdf'", "in this one's folder"),
        ("[feet.left]", "\xff", "mine.toml", "UTF-8"),
    ],
)
def test_a_robot_of_ones_own_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, key: str, words: str
) -> None:
    code, _, err = trundle(capsys, "run", own_robot(tmp_path, old, new), "--out", tmp_path / "out")
    assert code == 2, err
    assert key in err
    assert words in err


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(example_robots, "distribution", gone)
    example_robots._found.cache_clear()
    try:
        code, _, err = trundle(capsys, "run", "humanoid-walk", "--out", tmp_path / "out")
    finally:
        example_robots._found.cache_clear()
    assert code == 2
    assert "robot.name = 'g1'" in err
    assert command("robots") in err


POST = '{name="post", shape={type="capsule", radius=0.04, length=0.8}, center=[0.5, 0.3, 0.6]}'
SHELF = '[{name="shelf", center=[0.5, 0.3, 0.6], size=[0.2, 0.2, 0.04], against=["left_hand"]}]'


@pytest.mark.parametrize(
    ("robot", "override", "key", "words"),
    [
        ("g1", POST.replace("0.6]", '0.6], against=["left_tail"]'),
         "obstacles[0].against[0] = 'left_tail'", "left_hand"),
        ("g1", POST.replace("radius=0.04", "radius=-0.04"), "obstacles[0].shape.radius = -0.04", "> 0"),
        ("g1", POST.replace('"capsule"', '"cone"'), "obstacles[0].shape.type", "'capsule', 'half-space'"),
        ("g1", POST.replace("0.5, 0.3, 0.6", "0.0, 0.1, 0.5"), "obstacles[0].center", "deep in 'left_"),
        ("talos", POST.replace("0.5, 0.3, 0.6", "0.0, 0.0, 1.0"), "obstacles[0].center", "outside the robot"),
        ("g1", POST.replace('"post"', '"torso"'), "obstacles[0].name = 'torso'", "no capsule of the robot"),
        ("g1", f"{POST}, {POST}", "obstacles[1].name = 'post'", "no other obstacle"),
    ],
)  # fmt: skip
def test_obstacles_that_cannot_be_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], robot: str, override: str, key: str, words: str
) -> None:
    given = ["--set", f'robot.name="{robot}"', "--set", f"obstacles=[{override}]"]
    code, _, err = trundle(capsys, "run", "humanoid-walk", "--out", tmp_path / "out", *given)
    said = " ".join(err.split())
    assert code == 2, err
    assert key in said
    assert words in said


@pytest.mark.parametrize(
    ("override", "key", "words"),
    [
        (SHELF.replace("left_hand", "left_tail"), "terrain.blocks[0].against[0] = 'left_tail'", "left_hand"),
        (SHELF.replace('name="shelf", ', ""), "terrain.blocks[0].name = ''", "no capsule"),
        (SHELF.replace("0.5, 0.3, 0.6", "0.05, 0.25, 0.6"), "terrain.blocks[0].center", "deep in 'left_hand'"),
    ],
)
def test_blocks_that_cannot_be_kept_away_from_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], override: str, key: str, words: str
) -> None:
    given = ["--set", f"terrain.blocks={override}"]
    code, _, err = trundle(capsys, "run", "humanoid-walk", "--out", tmp_path / "out", *given)
    said = " ".join(err.split())
    assert code == 2, err
    assert key in said
    assert words in said


def test_limbs_of_a_robot_without_capsules_cannot_keep_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", f"obstacles=[{POST[:-1]}, against=['torso']}}]"]
    code, _, err = trundle(capsys, "run", own_robot(tmp_path), "--out", tmp_path / "out", *given)
    assert code == 2, err
    assert "no table clearance" in " ".join(err.split())


def test_stances_that_cannot_bear_the_weight_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", f"terrain={SLIPPERY}", "--set", "controller.preview.friction=0.08"]
    code, _, err = trundle(capsys, "run", "humanoid-walk", "--out", tmp_path / "out", *given)
    assert code == 2, err
    assert "steps.length = 0.14" in err
    assert "cannot bear the weight" in " ".join(err.split())

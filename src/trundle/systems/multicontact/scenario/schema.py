"""Scenario files of kind `multicontact`: humanoids that stand and walk on their soles, under preview control."""

from __future__ import annotations

from operator import lt
from typing import Annotated, Literal

from pydantic import Field

from trundle.models.robots.servo import SensorNoise
from trundle.parameters import parameters_of
from trundle.scenarios.faults import ControlledTable
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import (
    Angle,
    Array,
    DataFile,
    Fraction,
    NonNegative,
    Period,
    Place,
    Place3,
    Positive,
    PositiveFraction,
    ScenarioTable,
    Seconds,
    Sizes3,
    Table,
    Text,
    Vector3,
    check_multiples,
    fault,
    require_order,
    table_of,
)
from trundle.systems.multicontact.humanoid.mujoco_humanoid import HumanoidPlant
from trundle.systems.multicontact.preview.preview import GRID, PreviewWeights
from trundle.systems.multicontact.scenario.schema_obstacles import Limbs, Obstacles, Turn3
from trundle.systems.multicontact.stances.stances import TimingRule
from trundle.systems.multicontact.whole_body.nominal import Shape
from trundle.systems.multicontact.whole_body.policy import ControlPeriods
from trundle.systems.multicontact.whole_body.progress import Gating
from trundle.systems.multicontact.whole_body.whole_body import WholeBodyGains

Newtons = Annotated[float, Field(ge=-1e6, le=1e6)]
MassFactor = Annotated[float, Field(ge=0.01, le=100)]
Factors = Annotated[
    tuple[MassFactor, ...],
    Array,
    Field(min_length=1, max_length=100),
    Allowed("1 to 100 factors, each from 0.01 to 100"),
]
SensorDelay = Annotated[float, Field(ge=0, le=0.1), Allowed("a time from 0 to 0.1 (s)")]
Lift = Annotated[float, Field(ge=0, le=0.5), Allowed("a height from 0 to 0.5 (m)")]
Reach = Annotated[float, Field(ge=0, le=1), Allowed("a share from 0 to 1 (of the arm's length)")]
Length = Annotated[float, Field(ge=-2, le=2), Allowed("a length from -2 to 2 (m)")]
Steps = Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")]
Impulses = Annotated[
    tuple[Positive, ...],
    Array,
    require_order(lt),
    Field(min_length=1, max_length=20),
    Allowed("1 to 20 ascending numbers > 0 (N s)"),
]
Joints = Annotated[dict[str, Angle], Field(max_length=100), Allowed("a table of at most 100 angles (rad)")]
Leans = Annotated[dict[str, Length], Field(max_length=10), Allowed("a table of at most 10 lengths from -2 to 2 (m)")]
Offsets = Annotated[dict[str, Place3], Field(max_length=100), Allowed("a table of at most 100 places (m)")]
Axis = Literal["fore-aft", "lateral"]
Axes = Annotated[
    tuple[Axis, ...],
    Array,
    Field(min_length=1, max_length=2),
    Allowed("a list of 'fore-aft' and 'lateral', each at most once"),
]


Samples = Annotated[
    tuple[Annotated[float, Field(ge=0.005, le=2)], ...],
    Array,
    Field(min_length=1, max_length=64),
    Allowed("1 to 64 times, each from 0.005 to 2 (s)"),
]
Place2 = Annotated[tuple[Place, Place], Array, Allowed("2 numbers, each from -1e6 to 1e6 (m)")]
Force3 = Annotated[tuple[Newtons, Newtons, Newtons], Array, Allowed("3 numbers, each from -1e6 to 1e6 (N)")]


class BlockTable(Table):
    """A box that does not move."""

    name: Text = Field(default="", description="for those who mean this one")
    center: Place3 = Field(description="m, world")
    size: Sizes3 = Field(description="m, whole sides along the box's axes")
    rpy: Turn3 = Field(default=(0.0, 0.0, 0.0), description="rad, R = Rz(yaw) Ry(pitch) Rx(roll)")
    against: Limbs = Field(
        default=(),
        description="capsules of the robot's file that keep away from it and meet it; soles and hands always do",
    )


class HumanoidTerrainTable(Table):
    """What the robot stands and leans on."""

    floor: bool = Field(default=True, description="whether there is a floor at z = 0")
    blocks: Annotated[tuple[BlockTable, ...], Array, Field(max_length=100), Allowed("at most 100 tables")] = Field(
        default=(), description="boxes"
    )

    def _check(self) -> None:
        names = [block.name for block in self.blocks if block.name]
        if len(set(names)) < len(names):
            raise fault("blocks", "must have names that differ")


class HumanoidTable(Table):
    """Which robot."""

    name: Annotated[Text, DataFile("robot", ".toml")] = Field(
        default="g1", description="g1, talos, or a TOML file of the same form as theirs"
    )
    pose: Text = Field(default="", description="name of one of the postures in the robot's file, such as lean_left")
    posture: Joints = Field(default={}, description="rad, of joints by name or pattern, where not the robot's own")
    lowered: Lift = Field(default=0.02, description="m, by which the centre of mass sinks below the start's posture")


GAINS = tuple(one.name for one in parameters_of(WholeBodyGains) if not one.name.startswith("object"))


class WholeBodyGainsTable(table_of(WholeBodyGains, GAINS)):
    """Weights and gains of the whole-body controller; see `trundle.multicontact.WholeBodyGains`."""


class PreviewTable(table_of(ControlPeriods, {"period": "preview"}, base=table_of(PreviewWeights))):
    """The preview of the centre of mass; see `trundle.multicontact.Preview`."""

    use: bool = Field(default=True, description="false: the nominal motion itself is tracked")
    samples: Samples = Field(default=GRID, description="s, durations of the samples of the window, one after the other")
    axis: Vector3 = Field(
        default=(0.0, 0.0, 1.0), description="privileged axis, world: motion and force along it are prescribed"
    )
    sole_part: PositiveFraction = Field(default=0.75, description="of the soles' sides that plans may load")
    ankle: bool | None = Field(
        default=None,
        description="whether plans load a sole only as far as its ankle's torque bears the weight; left out: true but "
        "for task carry, whose path keeps back by itself",
    )
    friction: Positive = Field(default=0.54, description="coefficient of friction in plans")
    momentum_share: Fraction = Field(
        default=0.3, description="of the estimated angular momentum with which plans begin"
    )

    def _check(self) -> None:
        if not any(self.axis):
            raise fault("axis", "must not be zero")


class GatingTable(table_of(Gating)):
    """When a sole counts as landed; see `trundle.systems.multicontact.whole_body.Gating`."""


class HumanoidControllerTable(table_of(ControlPeriods, {"period": "control"})):
    """The controller."""

    avoid: bool | None = Field(
        default=None,
        description="false: nothing keeps away; left out: limbs keep away from obstacles and blocks that name them; "
        "true: and limbs that the robot's file pairs keep apart",
    )
    gains: WholeBodyGainsTable = Field(default=WholeBodyGainsTable())
    preview: PreviewTable = Field(default=PreviewTable())
    gating: GatingTable = Field(default=GatingTable())


class HumanoidPlantTable(table_of(HumanoidPlant, ["friction", "step", "sole_part", "actuation"])):
    """The simulated robot; masses are those of the trials."""

    moved: Offsets = Field(
        default={}, description="m, by which blocks of the terrain lie elsewhere than the controller is told, by name"
    )
    fallen_height: PositiveFraction = Field(
        default=0.6, description="of the base's height at the start: below, it has fallen"
    )
    fallen_tilt: Positive = Field(default=1.05, description="rad, of the base: beyond, it has fallen")


_NOISE = tuple(one.name for one in parameters_of(SensorNoise))


class SensorNoiseTable(
    table_of(SensorNoise, narrower=dict.fromkeys(_NOISE, NonNegative), defaults=dict.fromkeys(_NOISE, None))
):
    """Standard deviations of the sensors' noise, and their delay; what is left out is as the robot's file has it."""

    delay: SensorDelay = Field(default=0.002, description="s")


class HumanoidTrialsTable(Table):
    """Repetitions: trial k has the k-th mass factor (they repeat) and the noise of seed + k."""

    count: Annotated[int, Field(ge=1, le=1000), Allowed("an integer from 1 to 1000")] = Field(default=1)
    mass_factors: Factors = Field(default=(1.05, 0.95), description="of all masses of the simulated robot")


class HumanoidPushesTable(Table):
    """Pushes on the base, from both sides, with each mass factor: each impulse until one fells the robot."""

    fore_aft: Impulses = Field(default=(8.0,), description="N s, ascending, along x")
    lateral: Impulses = Field(default=(15.0,), description="N s, ascending, along y")
    axes: Axes = Field(default=("fore-aft", "lateral"), description="which are tried")
    start: Seconds = Field(default=1.0, description="s")
    duration: Seconds = Field(default=0.1, description="s")

    def _check(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            raise fault("axes", "must name each axis at most once")


class StepTimingTable(table_of(TimingRule)):
    """Times of steps by the paper's rule; see `trundle.multicontact.TimingRule`."""

    def _check(self) -> None:
        if self.alpha <= self.tau:
            raise fault("alpha", f"must be above tau, {self.tau:g} s")


class StepsTable(Table):
    """Steps straight ahead, the right foot first; the first and the last have half the length."""

    count: Steps = Field(default=20)
    length: Length = Field(default=0.14, description="m, way of the robot a step")
    first: Seconds = Field(default=1.0, description="s, when the first sole leaves")
    single: Seconds = Field(default=0.6, description="s, on one foot")
    double: Seconds = Field(default=0.2, description="s, on both feet between two steps")
    lift: Lift = Field(default=0.06, description="m, height of the soles' way")
    sway: Annotated[float, Field(ge=0, le=1.5), Allowed("a number from 0 to 1.5")] = Field(
        default=0.6, description="share of the way to the standing foot that the coarse path of the centre goes"
    )
    reference: Shape = Field(
        default="swaying",
        description="that path: from side to side; 'piecewise': at a constant velocity during each step, over the "
        "middle of the soles; 'constant': at one velocity from the first step to the last",
    )
    lean: Leans = Field(
        default={}, description="m, where that path is across, from the middle of the soles, while this end travels"
    )
    width: Length | None = Field(
        default=None, description="m, between the middles of the soles; left out: as in the posture"
    )
    stagger: Length = Field(default=0.0, description="m, by which the left sole is ahead at the start; needs a width")
    aside: Lift = Field(default=0.0, description="m, how much further out soles pass each other")
    timing: StepTimingTable | None = Field(
        default=None, description="the paper's rule, in place of single, double and the hand's duration and pause"
    )
    search: bool = Field(
        default=False,
        description="whether footholds are searched for over the ground (A*), to count lengths ahead, with a hand "
        "where soles alone cannot rest; else they are these lengths apart, moved by at most 10 cm",
    )
    rest: bool = Field(default=False, description="whether the robot must be able to rest at every stance")
    fit: bool = Field(
        default=False,
        description="whether soles that overlap at this width are laid out by their size: beside each other where the "
        "ground is broad enough, else one ahead of the other, with length, stagger, aside, lean and times to match",
    )

    def _check(self) -> None:
        if self.fit and self.width is None:
            raise fault("fit", "must be false without a width")
        if self.search and (self.stagger or self.length <= 0.0):
            raise fault("search", "must be false with a stagger, or without a length ahead")


class HandHoldTable(Table):
    """A hand on a support: it goes from hold to hold while both soles stand."""

    end: Text = Field(default="left_hand", description="which")
    support: Text = Field(description="name of the block on which it leans")
    across: Length | None = Field(
        default=None, description="m, y of the holds; left out: the support is moved to where the arm reaches it"
    )
    out: Reach = Field(default=0.5, description="how far out from the shoulder that is, in lengths of the arm")
    down: Reach = Field(default=0.7, description="how far below the shoulder, in lengths of the arm")
    ahead: Length | None = Field(
        default=None,
        description="m, of the robot's middle, of each hold when it is taken; left out: as far before the shoulder as "
        "it is behind it when it is left",
    )
    every: Annotated[int, Field(ge=1, le=100), Allowed("an integer from 1 to 100")] | None = Field(
        default=None, description="steps between two holds; left out: as many as half the arm's length allows"
    )
    duration: Seconds = Field(default=0.6, description="s, of its way")
    pause: Seconds = Field(default=0.2, description="s, after it")
    lift: Lift = Field(default=0.05, description="m, height of its way")


class MoveTable(Table):
    """A way of a sole or a hand to a place of one's own, after those before it in the file."""

    end: Text = Field(description="left_foot, right_foot, left_hand, right_hand: an end of the robot")
    place: Place2 = Field(description="m, world: x and y of the sole's middle, or of the point where the hand leans")
    yaw: Angle = Field(default=0.0, description="rad, of a sole about the ground's normal")
    support: Text = Field(default="", description="name of the block: of a hand needed; of a sole left out the highest")
    start: Seconds | None = Field(
        default=None, description="s, when it leaves; left out: steps.double after the one before, or steps.first"
    )
    duration: Seconds | None = Field(default=None, description="s, of its way; left out: steps.single")
    lift: Lift | None = Field(default=None, description="m, height of its way; left out: steps.lift")
    release: Seconds | None = Field(default=None, description="s, when a hand leaves this hold for good")


class ForceTable(Table):
    """A force from outside on the robot's base."""

    force: Force3 = Field(description="N, world")
    point: Place3 = Field(default=(0.0, 0.0, 0.0), description="m, where it acts, in the axes of the base")
    start: NonNegative = Field(default=0.0, description="s")
    duration: Seconds | None = Field(default=None, description="s; left out: to the end")
    known: bool = Field(default=True, description="whether preview and whole-body control are told of it beforehand")


class HumanoidSimulationTable(Table):
    """Recording."""

    output_step: Period = Field(default=0.01, description="s")
    settle: Seconds = Field(default=1.5, description="s, simulated after the last step or push")


class MulticontactTables(ScenarioTable, ControlledTable):
    """What all tasks of the kind have."""

    kind: Literal["multicontact"]
    robot: HumanoidTable = Field(default=HumanoidTable())
    terrain: HumanoidTerrainTable = Field(default=HumanoidTerrainTable())
    obstacles: Obstacles = Field(default=(), description="bodies that the robot should not touch")
    forces: Annotated[tuple[ForceTable, ...], Array, Field(max_length=100), Allowed("at most 100 tables")] = Field(
        default=(), description="forces from outside, over time"
    )
    controller: HumanoidControllerTable = Field(default=HumanoidControllerTable())
    plant: HumanoidPlantTable = Field(default=HumanoidPlantTable())
    noise: SensorNoiseTable = Field(default=SensorNoiseTable())
    simulation: HumanoidSimulationTable = Field(default=HumanoidSimulationTable())

    def _check(self) -> None:
        times = {"controller.period": self.controller.period, "simulation.output_step": self.simulation.output_step}
        check_multiples(self.plant.step, times | {"noise.delay": self.noise.delay})


class MulticontactStand(MulticontactTables):
    """A humanoid that stands and is pushed."""

    task: Literal["stand"]
    pushes: HumanoidPushesTable = Field(default=HumanoidPushesTable())
    mass_factors: Factors = Field(default=(1.05, 0.95), description="of all masses of the simulated robot")


class MulticontactWalk(MulticontactTables):
    """A humanoid that walks, with a hand on a support where the file has a `[hand]`."""

    task: Literal["walk"]
    steps: StepsTable = Field(default=StepsTable())
    hand: HandHoldTable | None = Field(default=None, description="a hand on a support")
    moves: Annotated[tuple[MoveTable, ...], Array, Field(max_length=1000), Allowed("at most 1000 tables")] = Field(
        default=(), description="footholds and holds of one's own, in place of steps.count and steps.length"
    )
    trials: HumanoidTrialsTable = Field(default=HumanoidTrialsTable())

    def _check(self) -> None:
        super()._check()
        if not self.moves:
            return
        if self.hand is not None or self.steps.search or self.steps.fit:
            raise fault("moves", "must be left out beside [hand], steps.search and steps.fit")
        if self.steps.timing is not None and any(m.start or m.duration for m in self.moves):
            raise fault("moves", "must have no times of their own beside steps.timing")

"""A scene as a script of the public API: what the survey runs is this text."""

from __future__ import annotations

from bench.survey.shapes import number_code as code
from bench.survey.spec import BOUNCE_SPEED, BodySpec, Part, Spec


def script(spec: Spec) -> str:
    """Return the whole script; it leaves `run` behind."""
    lines = ["import numpy as np", "import trundle as tr", ""]
    lines += _pair(spec) if spec.hand is not None else _tree(spec)
    return "\n".join(lines) + "\n"


def placed(spec: Spec) -> str:
    """Return the script without the run: it leaves `tree` and `start` behind."""
    return "\n".join(["import numpy as np", "import trundle as tr", "", *_placed(spec)]) + "\n"


def _tree(spec: Spec) -> list[str]:
    return [*_placed(spec), *_simulate(spec)]


def _placed(spec: Spec) -> list[str]:
    lines = [f'robot = tr.Robot(gravity={code(spec.gravity)}, on_slip="slide", on_separation="fly")']
    for body in spec.bodies:
        lines += _body(spec, body)
    if spec.ground is not None:
        mu = code(spec.friction)
        surface = f"tr.Friction({mu}, rolling={code(spec.lever)})" if spec.lever else mu
        speed = f", bounce_speed={code(spec.bounce_speed)}" if spec.bounce_speed != BOUNCE_SPEED else ""
        bounce = f", restitution={code(spec.restitution)}" if spec.restitution else ""
        lines.append(f"robot.terrain({spec.ground.code}, friction={surface}{bounce}{speed})")
    for pair in spec.pairs:
        lines.append(f'robot.contact("{pair.A}", "{pair.B}"{_coefficients(pair.friction, pair.restitution)})')
    return [*lines, "tree = robot.finish()", *_start(spec)]


def _body(spec: Spec, body: BodySpec) -> list[str]:
    first = body.parts[0] if body.parts else None
    inertia = code(body.inertia[0]) if spec.d == 2 else code(body.inertia)
    more = f", center_of_mass={code(body.center)}" if any(body.center) else ""
    if first is not None:
        more += f", shape={first.shape.code}" + _place(spec, first, "shape_at", "shape_rpy")
        own = _coefficients(first.friction, first.restitution if body.joint == "free" else None)
        more += own
    name = f'name="{body.name}"'
    if body.joint == "free":
        lines = [f"{body.name} = robot.free({code(body.mass)}, {inertia}{more}, {name})"]
    else:
        parent = body.parent or "None"
        axis = "" if spec.d == 2 and body.joint == "revolute" else f", axis={code(body.axis)}"
        moved = "" if body.input else ", actuated=False"
        call = f"robot.{body.joint}({parent}, {code(body.at)}, {code(body.mass)}, {inertia}"
        lines = [f"{body.name} = {call}{axis}{moved}{more}, {name})"]
    for part in body.parts[1:]:
        place = _place(spec, part, "at", "rpy")
        own = _coefficients(part.friction, part.restitution)
        lines.append(f'robot.attach({body.name}, {part.shape.code}{place}{own}, name="{part.name}")')
    if body.low is not None or body.high is not None:
        lines.append(f"robot.resist({body.name}, low={code(body.low)}, high={code(body.high)})")
    return lines


def _place(spec: Spec, part: Part, at: str, rpy: str) -> str:
    text = f", {at}={code(part.at)}" if any(part.at) else ""
    turned = code(part.rpy) if spec.d == 3 else code(part.rpy[0] if part.rpy else 0.0)
    return text + (f", {rpy}={turned}" if any(part.rpy) else "")


def _coefficients(friction: float | None, restitution: float | None) -> str:
    text = "" if friction is None else f", friction={code(friction)}"
    return text + ("" if restitution is None else f", restitution={code(restitution)}")


def _start(spec: Spec) -> list[str]:
    poses = [f"{b.name}={code(b.position if b.joint == 'free' else b.position[0])}" for b in spec.bodies if b.position]
    rates = [f'"{b.name}": {code(b.rate if b.joint == "free" else b.rate[0])}' for b in spec.bodies if any(b.rate)]
    arguments = [*poses, "contacts=[" + ", ".join(f'"{name}"' for name in spec.closed) + "]"]
    if rates:
        arguments.append("rates={" + ", ".join(rates) + "}")
    if spec.slips:
        slips = ", ".join(f'"{name}": {code(s if spec.d == 3 else s[0])}' for name, s in spec.slips)
        arguments.append("slips={" + slips + "}")
    return ["start = tree.place(", *(f"    {a}," for a in arguments), ")"]


def _simulate(spec: Spec, model: str = "tree") -> list[str]:
    lines, more = [], ""
    if spec.acts:
        inputs = "{" + ", ".join(f'"{b.name}": {code(b.input)}' for b in spec.bodies if b.input) + "}"
        count = sum(1 for b in spec.bodies if b.input)
        lines.append(f"u, names, inputs = np.zeros({count}), tree.model().input_layout, {inputs}")
        lines.append("for name, value in inputs.items():")
        lines.append('    u[names[f"{name}.torque"]] = value')
        more = f", policy=tr.FunctionPolicy({code(spec.duration)}, lambda t, x: u)"
    if spec.output_step is not None:
        more += f", output_step={code(spec.output_step)}"
    lines.append(f"run = tr.simulate({model}, start, {code(spec.duration)}{more})")
    return lines


def _pair(spec: Spec) -> list[str]:
    hand, body = spec.hand, spec.bodies[0]
    if hand is None or spec.ground is None:
        raise ValueError("a pair has a hand with a shape")
    part = body.parts[0]
    inertia = code(body.inertia[0]) if spec.d == 2 else code(body.inertia)
    center = f", center_of_mass={code(body.center)}" if any(body.center) else ""
    lines = [f"body = tr.RigidBody({part.shape.code}, {code(body.mass)}, {inertia}{center})"]
    place = f", position={code(hand.position)}" if any(hand.position) else ""
    if any(hand.rpy):
        place += f", rpy={code(hand.rpy)}" if spec.d == 3 else f", angle={code(hand.rpy[0])}"
    moving = f", twist={code(hand.twist)}" if any(hand.twist) else ""
    if any(hand.amplitude):
        moving += f", motion=tr.SinusoidMotion({code(hand.amplitude)}, {code(hand.frequency)})"
    lines.append(f"hand = tr.Hand({spec.ground.code}{place}{moving})")
    numbers = f"gravity={code(spec.gravity)}, friction={code(spec.friction)}"
    if spec.restitution:
        numbers += f", restitution={code(spec.restitution)}"
    if spec.bounce_speed != BOUNCE_SPEED:
        numbers += f", bounce_speed={code(spec.bounce_speed)}"
    if spec.lever:
        numbers += f", rolling_friction={code(spec.lever)}"
    lines.append(f'pair = tr.RollingPair(body, hand, {numbers}, on_slip="slide", on_separation="fly")')
    k = 1 if spec.d == 2 else 3
    turned, spin, speed = body.position[spec.d :], body.rate[:k], body.rate[k:]
    angle = f"object_angle={code(turned[0])}" if spec.d == 2 else f"object_quaternion={code(turned)}"
    rate = code(spin[0]) if spec.d == 2 else code(spin)
    lines += [
        "start = pair.place(",
        f"    object_position={code(body.position[: spec.d])},",
        f"    {angle},",
        f"    object_velocity={code(speed)},",
        f"    object_angular_velocity={rate},",
        ")",
    ]
    return lines + _simulate(spec, "pair")

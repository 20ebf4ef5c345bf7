"""A scene as a script of the public API: what the survey runs is this text."""

from __future__ import annotations

from bench.survey.shapes import number_code as code
from bench.survey.spec import BOUNCE_SPEED, GREASED, BodySpec, Part, Spec

_GREASED = f"""import casadi as ca
from trundle.contact.law import Law, Rows
from trundle.contact.laws import LAWS, register


class Greased(Law):
    name = "{GREASED}"
    slipping = True

    def rows(self, k, friction):
        b, v = ca.dot(k.n, k.bias) + ca.dot(k.ndot, k.vrel), ca.dot(k.n, k.vrel)
        return Rows(k.n.T @ k.LA, k.n.T @ k.LB, b, v, ca.dot(k.n, k.gap))

    def wrench(self, k, lam, friction):
        return k.n * lam, ca.SX(1, 1)

    def margins(self, k, lam, friction):
        return {{"normal_force": lam}}


if "{GREASED}" not in LAWS:
    register(Greased())"""
"""A law from outside: one row along the normal."""


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
    if any(part.shape.kind == "Sole" for part in spec.parts.values()):
        return [*described_robot(spec), *_start(spec)]
    law = f', law="{spec.touch.law}"' if spec.touch.law != "rolling" else ""
    lines = _GREASED.splitlines() if spec.touch.law == GREASED else []
    lines.append(f'robot = tr.Robot(gravity={code(spec.gravity)}{law}, on_slip="slide", on_separation="fly")')
    for body in spec.bodies:
        lines += _body(spec, body)
    if spec.ground is not None:
        surface = _friction(spec)
        speed = f", bounce_speed={code(spec.bounce_speed)}" if spec.bounce_speed != BOUNCE_SPEED else ""
        bounce = f", restitution={code(spec.restitution)}" if spec.restitution else ""
        lines.append(f"robot.terrain({spec.ground.code}, friction={surface}{bounce}{speed})")
    for pair in spec.pairs:
        lines.append(f'robot.contact("{pair.A}", "{pair.B}"{_coefficients(pair.friction, pair.restitution)})')
    for pin in spec.pins:
        lines.append(f"robot.close({pin.A}, {code(pin.at_A)}, {pin.B}, {code(pin.at_B)})")
    for gear in spec.gears:
        lines.append(f"robot.couple({gear.follower}, {gear.leader}, ratio={code(gear.ratio)})")
    return [*lines, "tree = robot.finish()", *_start(spec)]


def _friction(spec: Spec) -> str:
    """Return the coefficients of the ground, which pairs without their own have, too."""
    touch = spec.touch
    more = {"rolling": spec.lever, "drilling": touch.drilling, "adhesion": touch.adhesion}
    if touch.soft:
        more |= {"stiffness": touch.stiffness, "dissipation": touch.dissipation}
    told = "".join(f", {name}={code(value)}" for name, value in more.items() if value or name == "dissipation")
    return f"tr.Friction({code(spec.friction)}{told})" if told else code(spec.friction)


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
        moved = "" if body.input or body.drive else ", actuated=False"
        call = f"robot.{body.joint}({parent}, {code(body.at)}, {code(body.mass)}, {inertia}"
        lines = [f"{body.name} = {call}{axis}{moved}{more}, {name})"]
    for part in body.parts[1:]:
        place = _place(spec, part, "at", "rpy")
        own = _coefficients(part.friction, part.restitution)
        lines.append(f'robot.attach({body.name}, {part.shape.code}{place}{own}, name="{part.name}")')
    resists = {"low": body.low, "high": body.high} if body.low is not None or body.high is not None else {}
    springs = {"stiffness": body.stiffness, "rest": body.rest, "damping": body.damping, "dry_friction": body.dry}
    resists |= {name: value for name, value in springs.items() if value}
    if resists:
        told = "".join(f", {name}={code(value)}" for name, value in resists.items())
        lines.append(f"robot.resist({body.name}{told})")
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
        inputs = "{" + ", ".join(f'"{b.name}": {code(b.input)}' for b in spec.bodies if b.input or b.drive) + "}"
        count = sum(1 for b in spec.bodies if b.input or b.drive)
        lines.append(f"u, names, inputs = np.zeros({count}), tree.model().input_layout, {inputs}")
        lines.append("for name, value in inputs.items():")
        lines.append('    u[names[f"{name}.torque"]] = value')
        drives = [b for b in spec.bodies if b.drive]
        if drives:
            lines += ["at = tree.model().layout", "", "", "def drive(t, x):", "    v = u.copy()"]
            for b in drives:
                gain, wanted, most = map(code, b.drive)
                push = f'{gain} * ({wanted} - x[at["{b.name}.rate"]][0])'
                lines.append(f'    v[names["{b.name}.torque"]] += np.clip({push}, -{most}, {most})')
            lines += ["    return v", "", ""]
            more = f", policy=tr.FunctionPolicy({code(spec.period)}, drive)"
        else:
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


def described_robot(spec: Spec) -> list[str]:
    """Return the lines that make a robot with soles from a description of its links and joints."""
    lines = ["from pathlib import Path", "from tempfile import mkdtemp", ""]
    text, feet = ['<robot name="soles">'], []
    for body in spec.bodies:
        text.append(_link_text(body))
        if body.joint != "free":
            text.append(_joint_text(body))
        for part in body.parts:
            place = f", position={code(part.at)}" + (f", rpy={code(part.rpy)}" if any(part.rpy) else "")
            feet.append(f'    "{part.name}": tr.Foot({part.shape.code}, frame="{body.name}"{place}),')
    lines += ['text = """', *text, '</robot>"""', 'path = Path(mkdtemp()) / "soles.urdf"', "path.write_text(text)"]
    lines += ["tree = tr.robot_from_urdf(", "    path,", "    {", *("    " + foot for foot in feet), "    },"]
    lines += [f"    {spec.ground.code if spec.ground else None},"]
    lines += [f"    gravity={code(spec.gravity)}, friction={code(spec.friction)},"]
    return [*lines, '    on_slip="slide", on_separation="fly",', ")"]


def _link_text(body: BodySpec) -> str:
    xyz = " ".join(map(repr, map(float, body.center)))
    moments = " ".join(f'{name}="{value!r}"' for name, value in zip(("ixx", "iyy", "izz"), body.inertia, strict=True))
    return (
        f'<link name="{body.name}"><inertial><origin xyz="{xyz}"/><mass value="{body.mass!r}"/>'
        f'<inertia {moments} ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint_text(body: BodySpec) -> str:
    at, axis = (" ".join(map(repr, map(float, values))) for values in (body.at, body.axis))
    return (
        f'<joint name="{body.name}" type="continuous"><parent link="{body.parent}"/><child link="{body.name}"/>'
        f'<origin xyz="{at}"/><axis xyz="{axis}"/></joint>'
    )

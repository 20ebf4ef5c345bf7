"""Recordings of walks whose forces are known: markers of the right leg and its force plate, with noise."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np

from trundle.systems.walking.gait.walking import Walking

NAMES = {"hip": "GTR", "knee": "LEK", "ankle": "LM", "heel": "HEE", "toe": "MT5", "shoulder": "SHO"}
PLACES = {
    "hip": ("right_thigh", 0.0, 0.0),
    "knee": ("right_shank", 0.0, 0.0),
    "ankle": ("right_foot", 0.0, 0.0),
    "heel": ("right_foot", -0.05, -0.03),
    "toe": ("right_foot", 0.12, -0.06),
    "shoulder": ("right_arm", 0.0, 0.0),
}


def recording(walking: Walking, plan, *, cycles=3, rate=100.0, belt=0.0, noise=0.0, force=None, seed=0):
    """Columns by name of `cycles` cycles; on a belt that runs backwards at `belt` (m/s).

    The force is that of the plan, or `force` (N) upwards while the foot stands.
    """
    step, way = plan.times[-1], plan.q[-1, 0] - plan.q[0, 0]
    symbols = [walking.model.motions[link].at(ca.SX(ca.DM([x, 0.0, z]))).p for link, x, z in PLACES.values()]
    touch = walking.stances["right", "rolling"].points[0]
    places = ca.Function("places", [walking.q], [ca.horzcat(*symbols, touch)])
    times = np.arange(0.0, 2 * cycles * step, 1 / rate)
    rows = []
    for t in times:
        count = int(t // step)
        q, _, _, k = plan.at(t - count * step)
        odd = count % 2 == 1
        q = plan.mirror @ q if odd else np.array(q)
        q[0] += count * way - belt * t
        found = np.array(places(q))
        side = 0 if odd else 1
        given = [0.0, 0.0, force * plan.standing[k, side]] if force else plan.force[k, side]
        rows.append([t, *found[[0, 2], :-1].T.ravel(), given[0], given[2], found[0, -1] * given[2]])
    names = ["TimeStamp", *(f"{NAMES[what]}.Pos{axis}" for what in PLACES for axis in "XY")]
    names += ["FP1.ForX", "FP1.ForY", "FP1.MomZ"]
    data = np.array(rows)
    random = np.random.default_rng(seed)
    data[:, 1:13] += noise * random.normal(size=(len(data), 12))
    return dict(zip(names, data.T, strict=True))


def columns() -> dict[str, np.ndarray]:
    """Markers of a leg that swings, and the plate below it."""
    t = np.arange(50) * 0.01
    names = [f"{m}.Pos{axis}" for m in ("HIP", "LEK", "LM") for axis in "XY"]
    places = {name: 0.4 * k + 0.1 * np.sin(t + k) for k, name in enumerate(names)}
    return {"TimeStamp": t, **places, "FP1.ForX": 5 * t, "FP1.ForY": 600 + t, "FP1.MomZ": (600 + t) * (0.3 + t)}


def text(path: Path, columns) -> Path:
    lines = ["\t".join(columns), *("\t".join(f"{v:.7g}" for v in row) for row in np.array(list(columns.values())).T)]
    path.write_text("\n".join(lines) + "\n")
    return path


def trc(path: Path, columns) -> Path:
    """Write markers in mm, y up, x forward, z to the right."""
    markers = [name[:-5] for name in columns if name.endswith(".PosX")]
    count = len(columns["TimeStamp"])
    lines = ["PathFileType\t4\t(X/Y/Z)\twalk.trc", "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits"]
    lines += [f"100\t100\t{count}\t{len(markers)}\tmm", "Frame#\tTime\t" + "\t\t\t".join(markers)]
    lines += ["\t\t" + "\t".join(f"{axis}{k + 1}" for k in range(len(markers)) for axis in "XYZ"), ""]
    for i in range(count):
        places = [1e3 * columns[f"{m}.Pos{axis}"][i] if axis != "Z" else 80.0 for m in markers for axis in "XYZ"]
        lines.append("\t".join([str(i + 1), f"{columns['TimeStamp'][i]:.7g}", *(f"{p:.7g}" for p in places)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def mot(path: Path, columns) -> Path:
    names = [f"FP1_{kind}{axis}" for kind in "vp" for axis in "xyz"]
    count = len(columns["TimeStamp"])
    lines = [
        "forces",
        "version=1",
        f"nRows={count}",
        "nColumns=7",
        "inDegrees=yes",
        "endheader",
        "\t".join(["time", *names]),
    ]
    for t, fx, fy, m in np.array([columns[k] for k in ("TimeStamp", "FP1.ForX", "FP1.ForY", "FP1.MomZ")]).T:
        lines.append("\t".join(f"{v:.9g}" for v in (t, fx, fy, 0.0, m / fy if fy else 0.0, 0.0, 0.1)))
    path.write_text("\n".join(lines) + "\n")
    return path


def c3d(path: Path, columns) -> Path:
    """Write markers in mm, z up, x forward, y to the left, and a plate of type 2.

    It is 600 x 400 mm, its electrical centre 40 mm below the middle, and told Fx, Fz and My there.
    """
    import ezc3d

    file, frames = ezc3d.c3d(), 50
    markers = ["HIP", "LEK", "LM"]
    places = np.ones((4, 3, frames))
    for k, m in enumerate(markers):
        places[:3, k] = 1e3 * np.stack([columns[f"{m}.PosX"], np.full(frames, 0.08), columns[f"{m}.PosY"]])
    file["data"]["points"] = places
    analogs = np.zeros((1, 6, 10 * frames))
    analogs[0, 0], analogs[0, 2], analogs[0, 4] = -50.0, -600.0, 72e3
    file["data"]["analogs"] = analogs
    corners = np.array([[600.0, 0, 0, 600.0], [400.0, 400.0, 0, 0], [0, 0, 0, 0]])[:, :, None]
    lists = {"SCALE": [1.0] * 6, "GEN_SCALE": [1.0], "OFFSET": [0.0] * 6, "LABELS": [f"A{k}" for k in range(6)]}
    groups = {"POINT": {"RATE": [100.0], "LABELS": markers, "UNITS": ["mm"]}}
    groups["ANALOG"] = {"RATE": [1000.0], "UNITS": ["N"] * 3 + ["Nmm"] * 3, **lists}
    groups["FORCE_PLATFORM"] = {"CORNERS": corners, "ORIGIN": np.array([[0.0], [0.0], [-40.0]])}
    for group, values in groups.items():
        for key, value in values.items():
            file.add_parameter(group, key, value)
    for key, value in (("USED", [1]), ("TYPE", [2]), ("ZERO", [1, 0]), ("CHANNEL", np.arange(1, 7)[:, None])):
        file.add_parameter("FORCE_PLATFORM", key, np.array(value, dtype=float))
        file["parameters"]["FORCE_PLATFORM"][key].update(type=2, value=np.array(value))  # integers
    file.write(str(path))
    return path

"""Reads a C3D file with ezc3d and writes arrays (.npz) to stdout: a process of its own.

On damaged files the library ends its process, does not end, or takes all memory: run as a script, it harms nobody.
"""

from __future__ import annotations

import io
import struct
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

MEMORY = 4 * 1024**3  # bytes of address space of the process that reads an untrusted file
_MIPS = 86  # code of the format for big-endian machines


def read(path: str) -> dict[str, Any]:
    """Return markers and plates of a file, and the number of frames that its header says, under names of arrays."""
    ezc3d: Any = import_module("ezc3d")
    file = ezc3d.c3d(path, extract_forceplat_data=True)
    point, data = file["parameters"]["POINT"], Path(path).read_bytes()
    # The library says how many frames it found; the header how many there are, in the byte order of its processor.
    first, last = struct.unpack(">2H" if data[512 * (data[0] - 1) + 3] == _MIPS else "<2H", data[6:10])
    found = {
        "labels": np.array([str(label).strip() for label in point["LABELS"]["value"]], dtype=np.str_),
        "unit": "".join(point["UNITS"]["value"][:1]).strip(),
        "points": np.asarray(file["data"]["points"], dtype=float)[:3],
        "rate": float(point["RATE"]["value"][0]),
        "samples": file["data"]["analogs"].shape[2],
        "frames": last - first + 1,
    }
    for k, plate in enumerate(file["data"]["platform"], 1):
        found |= {f"{key} {k}": plate[key] for key in ("force", "center_of_pressure", "unit_position")}
    return found


if __name__ == "__main__":
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        arrays = read(sys.argv[1])
    except Exception as error:
        sys.exit(str(error))
    np.savez(content := io.BytesIO(), **arrays)
    sys.stdout.buffer.write(content.getvalue())

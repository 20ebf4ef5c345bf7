"""What the benchmark ran on."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("trundle", "casadi", "numpy", "scipy", "mujoco", "pybullet", "drake")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _compiler() -> str:
    found = shutil.which(os.environ.get("CC", "cc"))
    if found is None:
        return "none"
    told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return (told.stdout.splitlines() or ["unknown"])[0]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def description() -> dict[str, object]:
    """Return processor, cores, load, system, compiler and the versions of the packages."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "compiler": _compiler(),
        "versions": {package: _version(package) for package in PACKAGES},
    }

"""`trundle doctor`."""

from __future__ import annotations

import typer

from trundle.cli.terminal import say

USES = {
    "viewer": "viewer.html, the moving picture",
    "video": "the moving picture as MP4",
    "robots": "robots from URDF files",
    "sim": "MuJoCo as the plant under a controller",
    "peers": "the same scene in MuJoCo, PyBullet and Drake",
    "motion": "measured walks from C3D files",
    "learn": "models and scenarios as environments of Gymnasium",
    "data": "runs as Parquet and MCAP",
    "scale": "sweeps over many runs",
    "crocoddyl": "rolling feet in Crocoddyl",
}


def doctor() -> None:
    """Print versions, C cores, compiler and cache, what is missing and how to get it."""
    import platform

    from trundle.version import __version__

    say(f"trundle   {__version__}")
    say(f"python    {platform.python_version()} on {platform.system()} {platform.machine()}")
    missing = [f"{name}: pip install {name}" for name in _packages() if not _line(name)]
    for line in (*_compiler().splitlines(), *_extras()):
        say(line)
    for line in missing:
        say(f"MISSING   {line}")
    if missing:
        raise typer.Exit(1)


def _packages(extra: str = "") -> list[str]:
    """Return the packages that trundle requires, or that one of its extras adds."""
    import re

    from trundle.extras import requirements

    return [re.split(r"[^\w-]", requirement)[0] for requirement in requirements(extra)]


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _line(package: str) -> bool:
    found = _version(package)
    say(f"  {package:20} {found or 'missing'}")
    return found is not None


def _compiler() -> str:
    from trundle.numerics.compiled.compile import compiler_info

    info = compiler_info()
    built = sorted(name for name, there in info.cores.items() if there)
    cores = f"cores     built with the package: {', '.join(built) or 'none'}"
    cache = f"cache     {info.cache_directory} ({info.cache_entries} files, {info.cache_size / 1e6:.1f} MB)"
    if info.path is None:
        all_built = len(built) == len(info.cores)
        slower = "functions are interpreted" if all_built else "runs take ten to a hundred times longer"
        advice = f"{slower}; install gcc (Debian, Ubuntu: apt install gcc libc6-dev) or set CC"
        return f"{cores}\ncompiler  none: {advice}\n{cache}"
    return f"{cores}\ncompiler  {info.path} ({info.version}), flags {' '.join(info.flags)}\n{cache}"


def _extras() -> list[str]:
    from trundle.extras import command

    lines = []
    for extra, use in USES.items():
        missing = [name for name in _packages(extra) if _version(name) is None]
        state = "installed" if not missing else f"missing {', '.join(missing)}: {command(extra)}"
        lines.append(f"extra     [{extra}] for {use}: {state}")
    return lines

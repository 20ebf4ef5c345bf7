"""Robots of the package example-robot-data, by name."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from trundle.checks import choice
from trundle.errors import MissingExtraError
from trundle.models.urdf.checks import CheckedUrdf, load_urdf

_ROBOTS = "cmeel.prefix/share/example-robot-data/robots"


def example_robots() -> dict[str, Path]:
    """Return the files by the robots' names: the file's, such as ``talos_reduced``.

    Where two files share a name, the folder's stands before it, such as ``anymal_c_simple/anymal``.

    Raises
    ------
    MissingExtraError
        If example-robot-data is not installed.
    """
    return dict(_found())


@cache
def _found() -> dict[str, Path]:
    try:
        folder = Path(str(distribution("example-robot-data").locate_file(_ROBOTS)))
    except PackageNotFoundError:
        raise MissingExtraError("example-robot-data", "robots") from None
    files = sorted(folder.glob("*/*/*.urdf"))
    stems = [file.stem for file in files]
    owners = [file.parts[-3].removesuffix("_description").removesuffix("_data") for file in files]
    names = [s if stems.count(s) == 1 else f"{owner}/{s}" for s, owner in zip(stems, owners, strict=True)]
    return dict(zip(names, files, strict=True))


def load_example_robot(name: str, *, repair: bool = True) -> CheckedUrdf:
    """Return the checked description of a robot of example-robot-data; its meshes are not looked for.

    ``repair`` replaces impossible inertias (see `load_urdf`): a quarter of these files have some.

    Raises
    ------
    InputError
        If there is no robot of this name, or its file is broken.
    MissingExtraError
        If example-robot-data is not installed.

    Examples
    --------
    >>> tr.load_example_robot("solo12").name  # doctest: +SKIP
    'solo12'
    """
    files = example_robots()
    return load_urdf(files[choice("name", name, sorted(files))], [files[name].parents[4]], meshes=False, repair=repair)


def example_name(urdf: CheckedUrdf) -> str:
    """Return by which name `load_example_robot` finds a description again; empty if it is not one of the package's."""
    try:
        return next((name for name, file in _found().items() if file == urdf.file), "")
    except MissingExtraError:
        return ""

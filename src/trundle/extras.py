"""Optional dependencies: what an extra asks for, and the command that installs it here."""

from __future__ import annotations

import json
import re
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

_SOURCES = Path(__file__).parents[2]  # where this file is not installed


def requirements(extra: str = "") -> list[str]:
    """Return what trundle requires, or what one of its extras adds, those that it names included.

    Examples
    --------
    >>> [requirement.partition(">")[0] for requirement in requirements("sim")]
    ['mujoco']
    """
    try:
        entries = distribution("trundle").requires or []
    except PackageNotFoundError:
        return []
    found = []
    for entry in entries:
        requirement, _, marker = (part.strip() for part in entry.partition(";"))
        if marker.replace("'", '"') == (f'extra == "{extra}"' if extra else ""):
            own = re.fullmatch(r"trundle\[(.+)\]", requirement)
            found += [one for name in own[1].split(",") for one in requirements(name)] if own else [requirement]
    return found


def command(extra: str) -> str:
    """Return the command that installs an extra, whether or not an index has trundle.

    It names the folder that trundle was installed from, if that is still there, else the packages of the extra.
    """
    origin, pip = _origin(), "pip install"
    folder = Path(unquote(urlsplit(str(origin.get("url", ""))).path))
    if "dir_info" in origin and (folder / "pyproject.toml").is_file():
        editable = " -e" if isinstance(info := origin["dir_info"], dict) and info.get("editable") else ""
        place = "." if folder == Path.cwd() else str(folder)
        return f"{pip}{editable} {shlex.quote(f'{place}[{extra}]')}"
    return " ".join([pip, *(shlex.quote(one) for one in requirements(extra))])


def _origin() -> dict[str, object]:
    """Return where trundle was installed from, as PEP 610 says it; of sources on a path, their folder."""
    try:
        return json.loads(distribution("trundle").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return {"url": _SOURCES.as_uri(), "dir_info": {"editable": True}}

"""What a robot says of itself in one line: its bodies, joints and contacts, counted, and the first of their names."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

_FIRST = 3  # names that a representation shows before "..."


def brief(kind: object, name: str = "", **parts: Collection[object]) -> str:
    """Return one line for `repr`, of the parts of something: names, or what has one.

    Examples
    --------
    >>> brief(object(), "leg", joints=("hip", "knee", "ankle", "toe"), contacts=())
    "<object 'leg': 4 joints (hip, knee, ankle, ...), 0 contacts>"
    """
    words = []
    for part, names in parts.items():
        first = [str(getattr(one, "name", one)) for one in islice(names, _FIRST)] + ["..."] * (len(names) > _FIRST)
        part = part if len(names) != 1 else {"bodies": "body", "feet": "foot"}.get(part, part.removesuffix("s"))
        words.append(f"{len(names)} {part}" + (f" ({', '.join(first)})" if names else ""))
    return f"<{type(kind).__name__}{f' {name!r}' if name else ''}: {', '.join(words)}>"

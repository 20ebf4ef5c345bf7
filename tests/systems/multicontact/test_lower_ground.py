"""Ground that lies lower than the controller is told is found, walked over, and left again."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from trundle.scenarios import build, load_scenario
from trundle.systems.multicontact.scenario.record import results


def on_a_pad(folder: Path, lower: float) -> Path:
    """Six steps; the pad under the second one of the right sole is `lower` (m) than the file says."""
    lanes = [
        ("left", (1.4, 0.5), 4.0),
        ("before", (-0.36, -0.5), 1.28),
        ("pad", (0.42, -0.5), 0.276),
        ("after", (2.06, -0.5), 3.0),
    ]
    blocks = [{"name": n, "center": [*at, -0.1], "size": [length, 1.0, 0.2]} for n, at, length in lanes]
    scenario = {
        "schema": 1,
        "kind": "multicontact",
        "task": "walk",
        "title": "a pad lies lower",
        "terrain": {"floor": False, "blocks": blocks},
        "steps": {"count": 6, "length": 0.14},
        "plant": {"moved": {"pad": [0.0, 0.0, -lower]}},
        "trials": {"count": 2},
    }
    path = folder / "pad.toml"
    path.write_text(tomli_w.dumps(scenario))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("lower", [0.03, 0.04, 0.06])
def test_a_foothold_that_lies_lower_is_walked_over(tmp_path: Path, lower: float) -> None:
    (part,) = build(load_scenario(on_a_pad(tmp_path, lower))).parts()
    for result in results(part.run(None)):
        assert result.survived, result.reason
        assert result.steps == 6

"""Completion in a real bash: what the tab key offers for commands, scenarios, files, keys and options."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")

# What readline does at the tab key: the function that was registered for the command gets the words of the line.
_TRY = """
eval "$(_TRUNDLE_COMPLETE=source_bash trundle)"
complete -p trundle
while read -r line; do
    eval "COMP_WORDS=($line)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    _trundle_completion trundle
    echo "${COMPREPLY[@]}"
done
"""


def bash(folder: Path, script: str, lines: list[str]) -> list[str]:
    """Run a script in bash, where `trundle` is this one; return the lines that it prints."""
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "trundle").write_text(f"#!{sys.executable}\nfrom trundle.cli import main\nmain()\n")
    (tools / "trundle").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HOME": str(folder),
    }
    command = ["bash", "--norc", "-c", script]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, cwd=folder, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_bash_offers_commands_scenarios_files_keys_and_options(tmp_path: Path) -> None:
    (tmp_path / "plate-mine.toml").write_text('kind = "juggling"\n[object]\nmass = 0.3\nshape.radius = 0.1\n')
    (tmp_path / "plates").mkdir()
    (tmp_path / "plate-notes.txt").touch()
    offered = bash(
        tmp_path,
        _TRY,
        ["trundle re", "trundle run plate-s", "trundle run plate-m", "trundle check ./pl",
         "trundle run plate-mine.toml --set obj", "trundle run plate-spinning --seed 1 --set simulation.d",
         "trundle report x --format ''"],
    )  # fmt: skip
    assert offered == [
        "complete -o default -F _trundle_completion trundle",  # nothing offered: files, as everywhere in bash
        "report render reproduce",
        "plate-spinning",
        "plate-mine.toml",
        "./plate-mine.toml ./plates/",
        "object.mass= object.shape.radius=",
        "simulation.duration=",
        "png svg pdf",
    ]


@pytest.mark.slow
def test_install_completion_writes_what_show_completion_shows(tmp_path: Path) -> None:
    shown = bash(tmp_path, "trundle --show-completion; true", [])
    said = bash(tmp_path, "trundle --install-completion; true", [])
    written = tmp_path / ".bash_completions" / "trundle.sh"
    assert f"bash completion installed in {written}" in said
    assert written.read_text().splitlines() == shown
    assert str(written) in (tmp_path / ".bashrc").read_text()


@pytest.mark.parametrize(
    ("shell", "variables", "said"),
    [
        ("zsh", {}, '"plate-spinning"'),
        ("fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "plate-spinning"),
    ],
)
def test_zsh_and_fish_are_answered_in_their_own_form(
    tmp_path: Path, shell: str, variables: dict[str, str], said: str
) -> None:
    asked = variables | {"_TYPER_COMPLETE_ARGS": "trundle run plate-sp", "_TRUNDLE_COMPLETE": f"complete_{shell}"}
    code = "from trundle.cli import main; main([])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | asked
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout

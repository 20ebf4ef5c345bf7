"""The page `gallery`, made when pages are built, from the named scenarios and the folder of examples."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path

from trundle.scenarios import catalogue

DOCS = Path(__file__).resolve().parent
EXAMPLES, STILLS = DOCS.parent / "examples", DOCS / "images" / "gallery"

#: Kind of scenario, or what the text of a file asks for -> heading and page of its topic; the first that fits counts.
TOPICS = {
    "juggling transfer": ("Planned on a hand", "tutorials/planning.md"),
    "juggling throw": ("Planned on a hand", "tutorials/planning.md"),
    "juggling": ("On a hand", "scenarios/juggling.md"),
    "planar": ("In the plane", "scenarios/planar.md"),
    "multicontact": ("Many contacts", "scenarios/multicontact.md"),
    "walking": ("Walking on rolling feet", "scenarios/walking.md"),
    "wallbounce": ("Pushing off walls", "scenarios/wallbounce.md"),
}
#: What a script of the examples asks for -> the page of its topic; the first that is found in it counts.
SCRIPTS = {
    r"interop\.": "pinocchio.md",
    r"environments\.": "linear.md",
    r"Optimiser\(": "tutorials/contact-implicit.md",
    r"Transfer\(": "tutorials/planning.md",
    r"Preview\(": "theory-preview.md",
    r"Expression|SampledCurve": "tutorials/own-shape.md",
    r"Robot\(": "robot.md",
    r"": "tutorials/first-steps.md",
}


@dataclass(frozen=True)
class Card:
    """A scenario or an example: its file, what it is in a line, the heading it stands under, the page of its topic."""

    name: str
    file: Path
    line: str
    heading: str
    topic: str

    @property
    def scenario(self) -> bool:
        """Whether it is a scenario's file."""
        return self.file.suffix == ".toml"

    @property
    def picture(self) -> Path:
        """Where its picture is, if it has one."""
        return STILLS / f"{self.name.replace('.', '-')}.webp"

    def text(self) -> str:
        """Return the card in MyST: the picture, the line, the commands, and the file folded."""
        file, language = relpath(self.file, DOCS), "toml" if self.scenario else "python"
        argument = f"examples/{self.name}" if self.file.parent == EXAMPLES else self.name
        command = f"trundle run {argument}" if self.scenario else f"python {argument}"
        image = f"[![{self.line}]({relpath(self.picture, DOCS)})]({file})\n\n" if self.picture.exists() else ""
        python = f'``trundle.run("{argument}")``\n\n' if self.scenario else ""
        return (
            f":::{{container}} card\n{image}**{self.name}**: {self.line}. [{Path(self.topic).stem}]({self.topic})\n\n"
            f"``{command}``\n\n{python}<details><summary>{'TOML' if self.scenario else 'Python'}</summary>\n\n"
            f"```{{literalinclude}} {file}\n:language: {language}\n```\n\n</details>\n\n:::\n"
        )


def cards() -> list[Card]:
    """Return the cards of all named scenarios and of all files of examples/."""
    files = [*map(catalogue.path_of, catalogue.names()), *sorted(EXAMPLES.glob("*.toml"))]
    scripts = sorted(EXAMPLES.glob("*.py"))
    return [*map(_of_scenario, files), *map(_of_script, scripts)]


def _of_scenario(file: Path) -> Card:
    told = tomllib.loads(file.read_text(encoding="utf-8"))
    where = f"{told['kind']} {told['task']}"
    heading, topic = next(found for start, found in TOPICS.items() if where.startswith(start))
    name = file.name if file.parent == EXAMPLES else file.stem
    return Card(name, file, told.get("title", "").rstrip("."), heading, topic)


def _of_script(file: Path) -> Card:
    text = file.read_text(encoding="utf-8")
    line = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ").rstrip(".")
    topic = next(page for word, page in SCRIPTS.items() if re.search(word, text))
    return Card(file.name, file, line, "Scripts with known answers", topic)


def page() -> str:
    """Return the cards in MyST under their headings."""
    found = cards()
    headings = dict.fromkeys([*(heading for heading, _ in TOPICS.values()), *(card.heading for card in found)])
    return "\n".join(
        f"## {heading}\n\n::::{{container}} gallery\n"
        + "\n".join(card.text() for card in found if card.heading == heading)
        + "::::\n"
        for heading in headings
    )

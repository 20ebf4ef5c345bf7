"""Sphinx: MyST pages, executed where they hold code cells, and the docstrings of the public names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import trundle

project = "trundle"
author = "The trundle authors"
copyright = "2026, the trundle authors"
version = release = trundle.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"trundle {release}"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_render_markdown_format = "myst"  # what cells print as Markdown may hold tables
# Pages run in folders of their own.
os.environ["TRUNDLE_EXAMPLES"] = str(Path(__file__).resolve().parents[1] / "examples")

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # "(d, d) m" is a shape and a unit, not a reference to something called d
suppress_warnings = ["ref.python"]  # the same in the descriptions of attributes


def escape_bars(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Docstrings write norms as |x|; to reStructuredText that would be a substitution."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[i] = "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def setup(app: Any) -> None:
    """Connect what is above."""
    app.connect("autodoc-process-docstring", escape_bars)

"""How the documentation is built: ``pip install '.[docs]' && sphinx-build -W docs docs/_build``."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "jitflow"
author = "The jitflow developers"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "py:obj"  # what docstrings have between single backticks

html_theme = "alabaster"
html_theme_options = {"description": "Compiles whole NumPy programs", "page_width": "1080px"}


def setup(app):
    app.connect("include-read", reach_programs)


def reach_programs(app, path, document, content):
    """Let the tables of the gallery, which are those of the programs' folder, link to the programs from here."""
    if path.parts[-3:] == ("examples", "programs", "README.md"):
        content[0] = content[0].replace("](", "](../../examples/programs/")

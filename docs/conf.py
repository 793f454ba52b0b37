"""How the documentation is built: ``pip install '.[docs]' && sphinx-build -W docs docs/_build``."""

import tomllib
from pathlib import Path

project = "jitflow"
author = "The jitflow developers"
release = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "Compiles whole NumPy programs", "page_width": "1080px"}

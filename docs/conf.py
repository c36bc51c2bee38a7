"""How Sphinx makes the site: `make docs`. README.md says what is where."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extension"))

project = "nashbed"
author = "The nashbed authors"
copyright = "The nashbed authors, Apache-2.0"
release = installed("nashbed")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
exclude_patterns = ["README.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The public names are documented; what else their signatures mention is named, not linked.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "model_config, __init__, __new__"}
napoleon_use_ivar = True
napoleon_use_param = False
napoleon_use_rtype = False
add_module_names = False
nitpick_ignore_regex = [("py:.*", r"(?!nashbed\.\w+$).*")]

smartquotes = False
highlight_language = "text"
html_theme = "furo"
html_title = "nashbed"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

"""The settings of Sphinx for the site; `make site` builds it."""

project = "Raincheck"
author = "The Raincheck developers"
copyright = author
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "Raincheck"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_sphinx = False
html_copy_source = False

# Pages link to headings by GitHub's anchors.
myst_heading_anchors = 6
exclude_patterns = ["tests"]

highlight_language = "none"  # of what does not say its language: drawings, and commands

# Docstrings are sentences with `names` in them.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
suppress_warnings = ["misc.highlighting_failure"]  # Pygments knows no CSV

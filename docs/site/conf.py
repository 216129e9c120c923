"""The documentation site. build.py lays out its pages and calls Sphinx with this configuration."""

project = "nvshmemrs"
copyright = "the nvshmemrs contributors"

extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns: list[str] = []

# Headings are link targets by GitHub's rules, so that a page's links work there as well as here.
myst_heading_anchors = 4
suppress_warnings = [
    # A block of a language that Pygments does not know, or of a shortened program, is shown without colours.
    "misc.highlighting_failure",
]
highlight_language = "text"

html_theme = "furo"
html_title = "nvshmemrs"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
# No page loads anything from elsewhere, so that the site works without a network.
html_theme_options = {"footer_icons": [], "top_of_page_buttons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"

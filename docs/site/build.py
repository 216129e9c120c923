"""Builds the documentation site: `build.py ROOT MODEL OUT`.

ROOT is the checkout, MODEL what `nvshmemrs-generator reference` printed, and OUT the folder of the site. Pages are copied into
OUT.pages as they lie in the checkout, so that their links to each other hold; the reference and the tutorial are written there.
Sphinx's warnings are errors, and so is a link of a finished page that leads nowhere.
"""

from __future__ import annotations

import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple
from urllib.parse import unquote

import reference
from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent
PAGES = (
    "README.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/perf/*.md", "examples/README.md",
    "bindings/*/README.md", "capi/README.md", "core/README.md",
)
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def copy(source: Path, target: Path) -> None:
    """Copies a file with its time, by which Sphinx sees what has changed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.stat().st_mtime != source.stat().st_mtime:
        shutil.copy2(source, target)


def write(target: Path, text: str) -> None:
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def lay_out(root: Path, pages: Path) -> Set[Path]:
    """Copies the pages, and the files that they link to. Returns what is there."""
    index = (HERE / "index.md").read_text()
    copied = {pages / "index.md"}
    others = []
    for pattern in PAGES:
        for page in sorted(root.glob(pattern)):
            name = page.relative_to(root)
            copied.add(pages / name)
            copy(page, pages / name)
            if not re.search(rf"^(.*<)?{re.escape(str(name.with_suffix('')))}>?$", index, re.MULTILINE):
                others.append(str(name.with_suffix("")))
            for link, _ in LINK.findall(page.read_text()):
                file = (page.parent / link).resolve()
                if "://" not in link and file.is_file():
                    copied.add(pages / file.relative_to(root))
                    copy(file, pages / file.relative_to(root))
    if others:
        # Pages that the index does not place yet are found all the same.
        index += "\n".join(["\n```{toctree}", ":hidden:", ":caption: More", "", *others, "```", ""])
    write(pages / "index.md", index)
    return copied


def tutorial(root: Path) -> str:
    """The tutorial's cells as a page. The tests run the program that they come from."""
    cells = re.split(r"^# %%(.*)\n", (root / "examples/python/tutorial.py").read_text(), flags=re.MULTILINE)
    parts: List[str] = []
    for kind, cell in zip(cells[1::2], cells[2::2]):
        if "[markdown]" in kind:
            parts.append(cell.strip().strip('"').strip())
        elif cell.strip():
            parts.append(f"```python\n{cell.strip()}\n```")
    return "\n\n".join([*parts, ""])


class Page(HTMLParser):
    """The targets of a page, and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: Set[str] = set()
        self.links: List[str] = []
        # The files that a browser loads with the page.
        self.loaded: List[str] = []

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if name in ("href", "src") and value is not None:
                self.links.append(value)
                # Of links in the head, these load nothing.
                known = any(("rel", kind) in attrs for kind in ("canonical", "alternate"))
                if name == "src" or (tag == "link" and not known):
                    self.loaded.append(value)
            if name == "srcset" and value:
                self.loaded += [one.split()[0] for one in value.split(",") if one.strip()]


def check_links(out: Path) -> List[str]:
    """The errors in links of the finished pages: within the site they lead to a file and a heading; nothing is loaded from
    elsewhere.
    """
    pages: Dict[Path, Page] = {}
    for file in out.rglob("*.html"):
        pages[file] = Page()
        pages[file].feed(file.read_text())
    problems = []
    for file in out.rglob("*.css"):
        for loaded in re.findall(r"""(?:url\(\s*|@import\s*)["']?((?:https?:)?//[^\s"')]+)""", file.read_text()):
            problems.append(f"{file.relative_to(out)}: {loaded} is loaded from elsewhere")
    for file, page in pages.items():
        for link in page.loaded:
            if re.match("(https?:)?//", link):
                problems.append(f"{file.relative_to(out)}: {link} is loaded from elsewhere")
        for link in page.links:
            if re.match(r"(https?:|mailto:|data:)", link):
                continue
            path, _, heading = link.partition("#")
            target = (file.parent / unquote(path.partition("?")[0])).resolve() if path else file
            if not target.is_file():
                problems.append(f"{file.relative_to(out)}: {link} leads to no file")
            elif heading and target in pages and unquote(heading) not in pages[target].ids:
                problems.append(f"{file.relative_to(out)}: {link} leads to no heading")
    return problems


def main() -> None:
    root, model, out = (Path(argument).resolve() for argument in sys.argv[1:])
    pages = out.with_suffix(".pages")
    there = lay_out(root, pages)
    write(pages / "tutorial.md", tutorial(root))
    for name, text in reference.texts(root, model).items():
        there.add(pages / f"reference/{name}.md")
        (pages / "reference").mkdir(exist_ok=True)
        write(pages / f"reference/{name}.md", text)
    # A page that was removed or renamed.
    for old in pages.rglob("*"):
        if old.is_file() and old not in there | {pages / "tutorial.md"}:
            old.unlink()
    # All pages are written anew: each has the list of all titles.
    arguments = ["-q", "-W", "--keep-going", "-a", "-j", "2", "-b", "html", "-c", str(HERE), "-d", str(out.with_suffix(".trees"))]
    if sphinx([*arguments, str(pages), str(out)]):
        sys.exit("the site has warnings, which stand above")
    problems = check_links(out)
    if problems:
        sys.exit("the site has broken links:\n" + "\n".join(problems))
    print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages")


if __name__ == "__main__":
    main()

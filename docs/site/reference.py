"""The reference pages: one for each family of operations, with every operation in all languages.

The functions of C and their documentation come from `nvshmemrs-generator reference`, the other languages' calls from their sources.
A name of operations.toml that is in no source is an error, and so is a function or a status that has no place.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Dict, List

from surfaces import LANGUAGES, split, within

HERE = Path(__file__).resolve().parent
Entry = Dict[str, Any]


def family(name: str) -> str:
    """The operation of a function that exists for several types: `atomic_add` of `atomic_add_double`."""
    return re.sub(r"(8|16|32|64|_float|_double)(_nbi)?$", r"\2", name)


def linked(text: str) -> str:
    """Documentation as Markdown, with the names of errors as links to their remedies."""
    text = re.sub(r"(?<![`\w])((?:[A-Z]+_)+[A-Z]+|TIMEOUT|INTERRUPTED|MISMATCH|BOOTSTRAP|BUSY|FORKED)(?![`\w])", error, text)
    # A vertical line would end the cell of a table, and a star would emphasise.
    return text.replace("|", "\\|")


def error(found: "re.Match[str]") -> str:
    name = found[1]
    if name not in STATUSES:
        return name
    return f"[{name}](../docs/errors.md#{name.lower()})"


STATUSES: List[str] = []


def call(written: str) -> str:
    """A call as code; what it returns is left out."""
    return f"`{written}`"


def short(written: str) -> str:
    """A call for the overview: without result and arguments that may be left out."""
    written = written.removeprefix("call ").split(" -> ")[0]
    if not written.endswith(")") or written.endswith("(i)"):
        return f"`{written}`"
    start = next(at for at, char in enumerate(written) if char == "(" and len(within(written, at)) == len(written) - at - 2)
    name = written[:start].removeprefix("nvshmemrs_")
    words = split(written[start + 1 : -1].split(";")[0])
    # Python's functions take these by two names, so neither is required; but a program gives one.
    words = [re.sub(r"^(remote_pe|root)=.*", r"\1", word) for word in words]
    required = [word.split("::")[0] for word in words if "=" not in word and not word.startswith(("*", "/", "["))]
    return f"`{name}({', '.join(required)})`"


class Reference:
    def __init__(self, root: Path, model: Entry) -> None:
        self.model = model
        self.functions: Dict[str, List[Entry]] = {}
        for function in model["functions"]:
            self.functions.setdefault(family(function["name"]), []).append(function)
        self.surfaces = {key: language(root) for key, language in LANGUAGES.items()}
        self.problems: List[str] = []

    def calls(self, operation: Entry) -> Dict[str, List[str]]:
        """Language -> the calls of an operation there."""
        found: Dict[str, List[str]] = {}
        for key, surface in self.surfaces.items():
            names = operation.get(key, [operation["name"]])
            calls = [surface.call(name) for name in names]
            if key in operation.get("none", []):
                if key in operation or any(calls):
                    self.problems.append(f"{operation['name']}: `none` names {key}, which has it")
                continue
            missing = [name for name, one in zip(names, calls) if one is None]
            if missing:
                self.problems.append(f"{operation['name']}: {surface.title} has no {', '.join(missing)}")
            found[key] = [one for one in calls if one is not None]
        return found

    def page(self, page: Entry) -> str:
        operations = page["operations"]
        calls = {operation["name"]: self.calls(operation) for operation in operations}
        titles = ["C", *(surface.title for surface in self.surfaces.values())]
        lines = [f"# {page['title']}", "", page["about"].strip(), ""]
        lines += ["## All languages at a glance", "", "Arguments that may be left out are not shown. Names of C, Fortran and kernels begin with `nvshmemrs_`.", ""]
        lines += [f"| operation | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
        for operation in operations:
            name = operation["name"]
            # C's functions of several types differ in their names only.
            first = self.functions[name][0]
            cells = [short(f"{self.c_name(name)}({', '.join(first['args'])})")]
            for key in self.surfaces:
                cells.append("<br>".join(short(one) for one in calls[name].get(key, [])) or "–")
            lines.append(f"| [{name}](#{name}) | {' | '.join(cells)} |".replace(" |= ", " \\|= "))
        for operation in operations:
            lines += self.section(operation, calls[operation["name"]])
        return "\n".join([*lines, ""])

    def c_name(self, name: str) -> str:
        functions = self.functions[name]
        if len(functions) == 1:
            return f"nvshmemrs_{functions[0]['name']}"
        stem = name.removesuffix("_nbi")
        return f"nvshmemrs_{stem}N{name[len(stem):]}"

    def section(self, operation: Entry, calls: Dict[str, List[str]]) -> List[str]:
        name = operation["name"]
        functions = self.functions[name]
        lines = ["", f"## {name}", ""]
        for paragraph in functions[0]["does"]:
            lines += [linked(paragraph), ""]
        lines += [linked(functions[0]["call"]), ""]
        if functions[0]["result"]:
            lines += [f"Returns {linked(functions[0]['result'])}", ""]
        lines += [linked(functions[0]["standard"]), "", "| language | call |", "|---|---|"]
        c = "<br>".join(f"`{function['c']}`" for function in functions)
        lines.append(f"| C | {c} |")
        for key, surface in self.surfaces.items():
            if calls.get(key):
                lines.append(f"| {surface.title} | {'<br>'.join(call(one) for one in calls[key])} |".replace(" |= ", " \\|= "))
        return lines

    def types(self) -> str:
        lines = ["# Enums, structs and handles of C", "", "The bindings have the same names without `NVSHMEMRS_`, in the manner of each language.", ""]
        for heading, key in (("Handles", "handles"), ("Callbacks", "callbacks")):
            lines += [f"## {heading}", "", "| name | meaning |", "|---|---|"]
            lines += [f"| `{item['name']}` | {linked(item['docs'])} |" for item in self.model[key]]
            lines.append("")
        for item in self.model["structs"]:
            lines += [f"## {item['name']}", "", linked(item["docs"]), "", "| field | meaning |", "|---|---|"]
            lines += [f"| `{field['c']}` | {linked(field['docs'])} |" for field in item["fields"]]
            lines.append("")
        for item in self.model["enums"]:
            lines += [f"## {item['name']}", "", linked(item["docs"]), "", "| name | value | meaning |", "|---|---|---|"]
            lines += [f"| `{member['name']}` | {member['value']} | {linked(member['docs'])} |" for member in item["members"]]
            lines.append("")
        return "\n".join(lines)


def check_errors(root: Path, model: Entry, problems: List[str]) -> None:
    """Every status has a heading on the page about errors, with its number."""
    page = (root / "docs/errors.md").read_text()
    for member in next(item for item in model["enums"] if item["name"] == "nvshmemrs_status")["members"]:
        name = member["name"].removeprefix("NVSHMEMRS_ERROR_")
        if name == "NVSHMEMRS_SUCCESS":
            continue
        STATUSES.append(name)
        if f"\n## {name}\n\nStatus {member['value']}. Python: " not in page:
            problems.append(f"docs/errors.md has no heading `## {name}` followed by `Status {member['value']}. Python: `")


def texts(root: Path, source: Path) -> Dict[str, str]:
    """The pages: name -> Markdown. Ends the program if operations.toml and the sources differ."""
    model = json.loads(source.read_text())
    reference = Reference(root, model)
    check_errors(root, model, reference.problems)
    pages = tomllib.loads((HERE / "operations.toml").read_text())["page"]
    placed = {operation["name"] for page in pages for operation in page["operations"]}
    reference.problems += [f"{name} is on no page" for name in reference.functions if name not in placed]
    unknown = placed - set(reference.functions)
    reference.problems += [f"{name} is no function of the C ABI" for name in sorted(unknown)]
    made: Dict[str, str] = {}
    if not unknown:
        made = {page["file"]: reference.page(page) for page in pages}
        made["types"] = reference.types()
    if reference.problems:
        sys.exit("docs/site/operations.toml, docs/errors.md and the sources differ:\n" + "\n".join(reference.problems))
    return made

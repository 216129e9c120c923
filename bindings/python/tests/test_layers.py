"""Which modules of the package import each other, read from their sources."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Dict, Iterator, List, Set

import nvshmemrs

ROOT = Path(nvshmemrs.__file__).parent


def imports(path: Path, package: List[str]) -> Iterator[str]:
    """The modules of the package that a file imports, also in a function; not for type checkers only."""
    waiting: List[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        waiting.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.ImportFrom) and node.level:
            start = package[: len(package) - node.level + 1] + (node.module or "").split(".") * bool(node.module)
            for name in node.names:
                yield ".".join([*start, name.name])
                yield ".".join(start)


def circles(graph: Dict[str, Set[str]]) -> Set[str]:
    """The modules that import themselves by way of others."""

    def reached(first: str) -> Set[str]:
        found: Set[str] = set()
        waiting = [first]
        while waiting:
            new = graph[waiting.pop()] - found
            found |= new
            waiting.extend(new)
        return found

    return {module for module in graph if module in reached(module)}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph: Dict[str, Set[str]] = {}
    files = {path: list(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    names = {".".join(part for part in parts if part != "__init__") for parts in files.values()}
    for path, parts in files.items():
        module = ".".join(part for part in parts if part != "__init__")
        # A package imports its modules, which may import names that the package has before.
        if parts[-1] != "__init__":
            graph[module] = set(imports(path, parts[:-1])) & names
    graph = {module: {other for other in found if other in graph} for module, found in graph.items()}
    assert len(graph) > 60
    # The watched arrays and NumPy's functions of them.
    assert circles(graph) == {"nvshmemrs.core._numpy", "nvshmemrs.core._watch"}
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == {"a", "b"}

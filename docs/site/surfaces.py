"""How each language writes an operation, read from the sources of the bindings.

Every class has `call(name)`, which returns the call with its arguments in order, or None if the language has no function
of that name. Only names, order and defaults are kept: types are in the languages' own documentation.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Dict, List, Optional, Set


def split(arguments: str) -> List[str]:
    """Splits at commas outside of brackets."""
    parts, depth, last = [], 0, ""
    for char in arguments:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append(last)
            last = ""
        else:
            last += char
    return [" ".join(part.split()) for part in [*parts, last] if part.strip()]


def within(text: str, start: int) -> str:
    """The text between the bracket at `start` and the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return text[start + 1 : at]
    raise ValueError(f"no bracket closes: {text[start : start + 60]}")


class Python:
    """Public functions and methods of `nvshmemrs.core`."""

    title = "Python"

    def __init__(self, root: Path) -> None:
        self.calls: Dict[str, str] = {}
        self.public: Set[str] = set()
        for file in sorted((root / "bindings/python/src/nvshmemrs/core").glob("*.py")):
            tree = ast.parse(file.read_text())
            for node in tree.body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                    self.public.update(ast.literal_eval(node.value))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    self._add(node.name, node, method=False)
                elif isinstance(node, ast.ClassDef):
                    for inner in node.body:
                        if isinstance(inner, ast.FunctionDef):
                            name = f"{node.name}.{inner.name}"
                            if inner.name == "__init__":
                                name = node.name
                            self._add(name, inner, method=True)

    def _add(self, name: str, node: ast.FunctionDef, method: bool) -> None:
        if name.startswith("_"):
            return
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            argument.annotation = None
        for rest in (arguments.vararg, arguments.kwarg):
            if rest:
                rest.annotation = None
        if method:
            del arguments.args[0]
        shown = name.replace("Stream.", "stream.").replace("Event.", "event.")
        self.calls.setdefault(name, f"{shown}({ast.unparse(arguments)})")

    def call(self, name: str) -> Optional[str]:
        return self.calls.get(name) if name.split(".")[0] in self.public else None


class Cpp:
    """Members of the classes in `nvshmemrs/*.hpp`, and free functions there."""

    title = "C++"
    FILES = ("runtime", "symmetric", "remote", "atomic_ref", "signal", "stream", "team")
    # How a program writes an object of a class: an array `a`, a signal `s`, a runtime `rt`.
    OBJECTS = {
        "runtime": "rt", "symmetric_span": "a", "symmetric_array": "a", "remote": "a.at(pe)", "element_ref": "a.at(pe)[i]",
        "atomic_ref": "a.at(pe).atomic(i)", "signal_ref": "s", "remote_signal": "s.at(pe)", "local_job": "job",
    }

    def __init__(self, root: Path) -> None:
        self.calls: Dict[str, str] = {}
        for name in self.FILES:
            self._read((root / f"bindings/cpp/include/nvshmemrs/{name}.hpp").read_text())

    def _read(self, text: str) -> None:
        owner = ""
        pattern = re.compile(
            r"^(?:template <[^\n]*> )?(?P<kind>class|struct) (?P<class>\w+)[^;\n]*\{"
            r"|^(?P<end>\};)"
            r"|^ *(?:template <[^\n]*> )?(?P<static>static )?(?:result<[^\n(]*>|nvshmemrs_\w+) (?P<name>operator\S+|\w+)(?=\()",
            re.MULTILINE,
        )
        for found in pattern.finditer(text):
            if found["class"]:
                owner = found["class"]
            elif found["end"]:
                owner = ""
            else:
                self._add(owner, found["name"], bool(found["static"]), within(text, found.end()))

    def _add(self, owner: str, name: str, static: bool, arguments: str) -> None:
        names = []
        for argument in split(arguments):
            written, _, default = argument.partition(" = ")
            words = re.findall(r"\w+", written)
            # An argument without a name is a tag: its type says what it is.
            shown = words[-1].lower() if len(words) == 1 else words[-1]
            names.append(f"{shown} = {default}" if default else shown)
        given = ", ".join(names)
        start = "" if not owner else f"{owner}::" if static else f"{self.OBJECTS.get(owner, owner)}."
        call = f"{start}{name}({given})"
        if name.startswith("operator"):
            target, mark = start[:-1], name[8:]
            call = f"{mark}{target}" if not given else f"{target} {mark} {given}"
        self.calls.setdefault(f"{owner}.{name}" if owner else name, call)

    def call(self, name: str) -> Optional[str]:
        return self.calls.get(name)


class Julia:
    """The beginnings of the package's docstrings, and the table of atomic operations."""

    title = "Julia"

    def __init__(self, root: Path) -> None:
        self.calls: Dict[str, List[str]] = {}
        folder = root / "bindings/julia/src"
        for file in sorted(folder.glob("*.jl")):
            if file.name == "ffi.jl":
                continue
            text = file.read_text()
            for block in re.findall(r'"""\n((?: {4,}\S.*\n)+)', text):
                for line in block.splitlines():
                    name = re.match(r"\s*(?:NVSHMEMRS\.)?([\w!]+)(?:\{[^}]*\})?\(", line)
                    if name:
                        self.calls.setdefault(name[1], []).append(line.strip())
            # Docstrings that a loop makes for several functions.
            for names, line in re.findall(r'^for \(name, verb.* in (.*)\n.*\n.*\n +\$shown(\(.*)', text, re.MULTILINE):
                for name in re.findall(r"\(:(\w+),", names):
                    self.calls.setdefault(name, []).append(name + line)
        rows = re.findall(r"^    \(:(\w+), \(([^)]*)\), (true|false)", (folder / "atomics.jl").read_text(), re.MULTILINE)
        for operation, operands, fetches in rows:
            values = "".join(f"{name}, " for name in re.findall(r":(\w+)", operands))
            mark = "" if operation == "fetch" else "!"
            name = f"atomic_{operation}{mark}"
            self.calls[name] = [f"{name}(dest, {values}pe; stream)"]
            if fetches == "true":
                name = f"atomic_{operation}_nbi!"
                self.calls[name] = [f"{name}(fetch, dest, {values}pe; stream)"]

    def call(self, name: str) -> Optional[str]:
        """`destroy!::Team` is the method for a Team."""
        name, _, kind = name.partition("::")
        found = [call for call in self.calls.get(name, []) if not kind or f"::{kind}" in call]
        return found[0] if found else None


class Fortran:
    """Generic names and members of types of the typed layer; optional `stat` and `errmsg`, which all have, are left out."""

    title = "Fortran"

    def __init__(self, root: Path) -> None:
        texts = [file.read_text() for file in sorted((root / "bindings/fortran/src").glob("*.f90"))]
        self.text = "\n".join(text for text in texts if "module nvshmemrs_ffi\n" not in text)
        if "interface nvshmemrs_put\n" not in self.text:
            raise FileNotFoundError("the modules of Fortran are missing; run `cargo xtask generate`")
        self.calls: Dict[str, str] = {}
        # Continued lines in one, without comments.
        joined = re.sub(r"&\s*\n\s*&?", " ", re.sub(r"^\s*!.*\n", "", self.text, flags=re.MULTILINE))
        headings = r"^ *(?:[\w() ]*?)\b(subroutine|function) (\w+)\(([^)]*)\)(.*?)^ *end \1 \2$"
        self.heads: Dict[str, List[str]] = {}
        self.kinds: Dict[str, str] = {}
        for kind, name, arguments, body in re.findall(headings, joined, re.MULTILINE | re.DOTALL):
            declared = re.findall(r"^[^!\n]*\boptional\b[^\n:]*:: *([^\n!]*)", body, re.MULTILINE)
            optional = {word for names in declared for word in re.findall(r"\w+", names)}
            names = [f"[{one}]" if one in optional else one for one in split(arguments)]
            self.heads.setdefault(name, names)
            self.kinds.setdefault(name, kind)
        for name, body in re.findall(r"^ *interface (nvshmemrs_\w+)\n(.*?)end interface", joined, re.MULTILINE | re.DOTALL):
            own = re.findall(r"procedure (?:::)? *(\w+)", body)
            if own and own[0] in self.heads:
                self.calls[name[10:]] = self._call(name, own[0], self.heads[own[0]])
        for kind, body in re.findall(r"^ *type(?:, [^:]*)? *::? *:? *nvshmemrs_(\w+)\n(.*?)end type", joined, re.MULTILINE | re.DOTALL):
            for member, target in re.findall(r"procedure :: (\w+) => (\w+)", body):
                if target in self.heads:
                    shown = re.sub(r"^int64_array1$", "array", kind)
                    self.calls[f"{kind}.{member}"] = self._call(f"{shown}%{member}", target, self.heads[target][1:])

    def _call(self, shown: str, procedure: str, arguments: List[str]) -> str:
        names = ", ".join(name for name in arguments if name not in ("[stat]", "[errmsg]"))
        start = "call " if self.kinds[procedure] == "subroutine" else ""
        return f"{start}{shown}({names})"

    def call(self, name: str) -> Optional[str]:
        return self.calls.get(name)


class Rust:
    """Public functions of `core/src`, those that macros make included."""

    title = "Rust"

    def __init__(self, root: Path) -> None:
        self.calls: Dict[str, str] = {}
        for file in sorted((root / "core/src").rglob("*.rs")):
            if "fuzz" not in file.parts:
                self._read(file.read_text())
        self._read((root / "core/crates/vocabulary/src/deadline.rs").read_text())

    def _read(self, text: str) -> None:
        owner = "rt"
        pattern = r"^impl(?:<[^>]*>)? (\w+)|^( *)pub fn (\w+)(?:<[^(]*>)?(?=\()"
        for found in re.finditer(pattern, text, re.MULTILINE):
            if found[1]:
                owner = "rt" if found[1] == "Runtime" else found[1]
                continue
            arguments = split(within(text, found.end()))
            method = bool(arguments) and "self" in arguments[0].split(":")[0]
            names = ", ".join(name.split(":")[0].replace("mut ", "") for name in arguments[method:])
            name = found[3]
            free = not found[2]
            start = "" if free else f"{owner.lower()}." if method else f"{'Runtime' if owner == 'rt' else owner}::"
            for key in [name] if free or owner == "rt" else [f"{owner}.{name}"]:
                self.calls.setdefault(key, f"{start}{name}({names})")
        for name, last in re.findall(r"^    (\w+)\((values?): [^)]*\) -> .*compared", text, re.MULTILINE):
            self.calls[name] = f"rt.{name}(ivars, status, cmp, {last})"
        for pair in re.findall(r"^    (atomic_\w+) = \w+, (atomic_fetch_\w+) = ", text, re.MULTILINE):
            for name in pair:
                self.calls[name] = f"rt.{name}(dest, value, pe)"

    def call(self, name: str) -> Optional[str]:
        return self.calls.get(name)


class Kernels:
    """Functions of `nvshmemrs_device.cuh`. Those for a type are members that macros define."""

    title = "kernels"
    # The macro's own name for what it makes, where it is not the function's.
    MADE = {
        "put": "NAME##SUFFIX", "get": "NAME##SUFFIX", "put_nbi": "NAME##SUFFIX", "get_nbi": "NAME##SUFFIX",
        "sum_reduce": "OP##_reduce##SUFFIX", "sum_reducescatter": "OP##_reducescatter##SUFFIX",
    }

    def __init__(self, root: Path) -> None:
        # The interface's functions. Other parts of the header have the functions that these call.
        parts = [root / f"include/nvshmemrs_device/{part}.cuh" for part in ("typed", "functions", "names")]
        self.text = "".join(part.read_text() for part in parts).replace("\\\n", "\n")
        self.names = set(re.findall(r"^#define (nvshmemrs_\w+) ", self.text, re.MULTILINE))
        self.heads: Dict[str, int] = {}
        for found in re.finditer(r"([\w#]+)\((?:\[\[maybe_unused\]\] )?(?:nvshmemrs::device::)?Given\b", self.text):
            self.heads.setdefault(found[1], found.end(1))

    def _arguments(self, *heads: str) -> Optional[str]:
        for head in heads:
            found = self.heads.get(head)
            if found:
                given = split(within(self.text, found))
                names = ["state"]
                for argument in given[1:]:
                    written, _, default = argument.partition(" = ")
                    name = "value" if written == "PARAMETER" else re.findall(r"\w+", written)[-1]
                    names.append(f"{name} = {default}" if default else name)
                return ", ".join(names)
        return None

    def call(self, name: str) -> Optional[str]:
        if not name.startswith("TYPE_"):
            arguments = self._arguments(f"nvshmemrs_{name}", f"nvshmemrs_{name}##SUFFIX")
            return None if arguments is None else f"nvshmemrs_{name}({arguments})"
        member = name[5:]
        # Bitwise operations and reductions lack names for some types.
        if not {f"nvshmemrs_{kind}_{member}" for kind in ("int", "uint")} & self.names:
            return None
        if "put_signal" in member:
            # The second macro whose functions are called NAME: the first one is for copies without a signal.
            at = self.text.index("define NVSHMEMRS_I_SIGNALLED")
            arguments = Kernels._arguments_at(self.text, at)
        else:
            bits = re.sub(r"_(and|or|xor)$", "_##OPERATION", member)
            vector = re.sub(r"_vector$", "##V", member)
            arguments = self._arguments(*filter(None, [self.MADE.get(member)]), f"{member}##SUFFIX", f"{member}##V", vector, bits, member)
            if arguments and member.endswith("_vector"):
                arguments = arguments.replace(", value", ", values")
        return None if arguments is None else f"nvshmemrs_{name}({arguments})"

    @staticmethod
    def _arguments_at(text: str, at: int) -> str:
        start = text.index("(Given", at)
        names = [re.findall(r"\w+", argument)[-1] for argument in split(within(text, start))[1:]]
        return ", ".join(["state", *names])


LANGUAGES = {"cpp": Cpp, "python": Python, "julia": Julia, "fortran": Fortran, "rust": Rust, "kernels": Kernels}

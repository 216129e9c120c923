"""What the build of the documentation site refuses: `docs/site`. `cargo xtask test` builds the site itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "docs/site"
if not SITE.is_dir():
    pytest.skip("the site is in the repository only", allow_module_level=True)
pytest.importorskip("sphinx")
sys.path.insert(0, str(SITE))

import build  # noqa: E402
import reference  # noqa: E402
import surfaces  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C ABI, as the generator prints it."""
    folder = Path(os.environ.get("NVSHMEMRS_BIN_DIR", ROOT / "target/release"))
    generator = folder / "nvshmemrs-generator"
    if not generator.is_file():
        pytest.skip(f"there is no {generator}: run `cargo build --release --workspace`")
    subprocess.run([generator, "fortran"], check=True, capture_output=True)
    file = tmp_path_factory.mktemp("model") / "reference.json"
    file.write_bytes(subprocess.run([generator, "reference"], check=True, capture_output=True).stdout)
    return file


def test_operations_have_the_argument_order_of_each_language(model: Path) -> None:
    pages = reference.texts(ROOT, model)
    row = next(line for line in pages["signals"].splitlines() if line.startswith("| [signal_wait]"))
    for call in (
        "signal_wait(runtime, signal, cmp, value, seen)",
        "s.wait_until(cmp, value)",
        "signal_wait(signal_var, signal_val, signal_op)",
        "signal_wait(cmp, signal, value)",
        "signal%wait(cmp, value)",
        "rt.signal_wait(signal, cmp, value)",
        "signal_wait_until(state, signal, cmp, value)",
    ):
        assert f"`{call}`" in row, row
    row = next(line for line in pages["rma"].splitlines() if line.startswith("| [iput]"))
    assert "`nvshmemrs_iput" not in row and "`iput(dst, src, dst_stride, src_stride, count, remote_pe)`" in row
    assert "[PE_RANGE](../docs/errors.md#pe_range)" in pages["rma"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('{ name = "fence", cpp = ["runtime.fence"] }', "", "fence is on no page"),
        ('name = "quiet", cpp = ["runtime.quiet"]', 'name = "quiet", cpp = ["runtime.quite"]', "quiet: C++ has no runtime.quite"),
        ('julia = ["put_signal!"]', 'julia = ["put_signals!"]', "put_signal: Julia has no put_signals!"),
        ('cpp = ["runtime.fence"]', 'cpp = ["runtime.fence"], none = ["rust"]', "fence: `none` names rust, which has it"),
        ('name = "fence"', 'name = "fences"', "fences is no function of the C ABI"),
    ],
)
def test_a_row_that_does_not_fit_the_sources_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    rows = (SITE / "operations.toml").read_text()
    assert old in rows
    (tmp_path / "operations.toml").write_text(rows.replace(old, new, 1).replace("    ,\n", ""))
    monkeypatch.setattr(reference, "HERE", tmp_path)
    with pytest.raises(SystemExit, match=said.replace("+", r"\+")):
        reference.texts(ROOT, model)


def test_links_that_lead_nowhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="one">1</h1><a href="b.html#two">good</a><a href="#one">good</a>')
    (tmp_path / "b.html").write_text('<h1 id="two">2</h1><a href="https://example.org">elsewhere</a>')
    assert build.check_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="c.html">x</a><a href="a.html#three">x</a><img src="d.png">')
    assert sorted(build.check_links(tmp_path)) == [
        "a.html: b.html#two leads to no heading",
        "b.html: a.html#three leads to no heading",
        "b.html: c.html leads to no file",
        "b.html: d.png leads to no file",
    ]
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="https://x.example/y.css">')
    assert sorted(build.check_links(tmp_path))[1:] == [
        "b.html: https://cdn.example/x.js is loaded from elsewhere",
        "b.html: https://x.example/y.css is loaded from elsewhere",
    ]


def test_arguments_are_split_outside_of_brackets() -> None:
    assert surfaces.split("a: Map<u8, u8>, b = f(1, 2), [c]") == ["a: Map<u8, u8>", "b = f(1, 2)", "[c]"]
    assert reference.short("call nvshmemrs_put(dest, source, pe, [stream])") == "`put(dest, source, pe)`"
    assert reference.short("put(dst, src, remote_pe=None, *, count=None)") == "`put(dst, src, remote_pe)`"
    assert reference.short("runtime::init_mpi(comm, attr = defaults())") == "`runtime::init_mpi(comm)`"
    assert reference.short("a.at(pe).atomic(i) += value") == "`a.at(pe).atomic(i) += value`"

"""The layout is the data flow, files can be read in one sitting, and names have one home."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Everything under isthmus/, each importing only from those before it. "isthmus" is the roof,
# isthmus/__init__.py: what stands behind it may use the library as its users do.
FLOW = """later types record shown errors entry disk interrupts schema palette phases blas draws native distributed
spatial describe model library networks motion dynamics contact simulate blueprint files verify data losses identify
discovery control tracking excitation export posteriors scene report figures notebook viewer study isthmus bench
experiments cli""".split()

INSIDE = {
    "identify": (
        "torque parameters logs evaluate search answer preflight problem compare cross fit predict needed".split()
    ),
}
"""The same inside a package: its folders and files, each importing only from those before it."""

LONGEST_FILE, LONGEST_FUNCTION = 400, 60

FOREIGN = {
    "a path on somebody's machine": r"(?<![\w.*~}/-])/(home|root|Users|opt|mnt|srv|work)/\w",
    "a path on somebody's disk": r"\b[A-Z]:\\{1,2}[A-Z]",
    "a local address": r"file:[/]{3}|\blocalhost:\d|\b(10\.\d+|192\.168|172\.\d+)\.\d+\.\d+\b",
    "a package host": r"pythonhosted[.]org|pypi[.]org/simple|--(extra-)?index-url|--find[-]links",
}


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


OURS = python_files("isthmus")
ALL = OURS + python_files("tests", "examples")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), shown(path))


def assert_none(faults: list[str]) -> None:
    assert not faults, "\n" + "\n".join(faults)


def part_of(path: Path) -> str:
    """Which entry of FLOW a file belongs to."""
    return path.relative_to(ROOT / "isthmus").parts[0].removesuffix(".py")


def imports_in(path: Path) -> Iterator[tuple[str, int]]:
    """Dotted names that a file imports, anywhere in it, with their lines."""
    here = ["isthmus", *path.relative_to(ROOT / "isthmus").with_suffix("").parts]
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = ".".join([*(here[:-level] if level else []), *([module] if module else [])])
                yield from ((f"{base}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(func=ast.Name(id=f) | ast.Attribute(attr=f), args=[first, *_]):
                if f == "import_module" and isinstance(first, ast.Constant):
                    yield str(first.value), node.lineno


def imports_of_isthmus() -> Iterator[tuple[str, str, str]]:
    """(part, part that it imports, where); the roof itself and the entry of `python -m isthmus` are exempt."""
    for path in OURS:
        if path.parent == ROOT / "isthmus" and path.stem in ("__init__", "__main__"):
            continue
        for name, line in imports_in(path):
            first, *rest = name.split(".")
            if first == "isthmus":
                imported = rest[0] if rest and rest[0] in FLOW else "isthmus"
                yield part_of(path), imported, f"{shown(path)}:{line} imports {name}"


def test_every_part_of_the_package_has_its_place_in_the_flow():
    parts = {part_of(path) for path in OURS} - {"__init__", "__main__"}
    assert parts - set(FLOW) == set()


def test_packages_import_only_from_above():
    faults = [
        f"{where}: {part!r} stands above {imported!r}"
        for part, imported, where in imports_of_isthmus()
        if FLOW.index(imported) > FLOW.index(part)
    ]
    assert_none(faults)


@pytest.mark.parametrize("package", INSIDE)
def test_parts_of_a_package_import_only_from_above(package):
    order, home = INSIDE[package], ROOT / "isthmus" / package
    faults = []
    for path in python_files(f"isthmus/{package}"):
        part = path.relative_to(home).parts[0].removesuffix(".py")
        for name, line in imports_in(path):
            inner = name.removeprefix(f"isthmus.{package}.").split(".")[0]
            if part in order and name.startswith(f"isthmus.{package}."):
                assert inner in order, f"{inner} has no place in the order of {package}"
                if order.index(inner) > order.index(part):
                    faults.append(f"{shown(path)}:{line}: {part!r} stands above {inner!r}")
    assert_none(faults)


def test_a_file_is_read_in_one_sitting():
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in ALL}
    assert_none([f"{path} has {n} lines" for path, n in lengths.items() if n > LONGEST_FILE])


def test_a_function_fits_on_a_page():
    functions = (
        (path, node, node.end_lineno - node.lineno + 1)
        for path in ALL
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    assert_none(
        [
            f"{shown(path)}:{node.lineno} {node.name} has {lines} lines"
            for path, node, lines in functions
            if lines > LONGEST_FUNCTION
        ]
    )


def test_every_module_opens_with_what_it_computes():
    """Examples open with a title instead: tests/test_examples.py."""
    modules = [path for path in ALL if path.parent.name != "examples"]
    assert_none(
        [f"{shown(p)} has no docstring" for p in modules if not ast.get_docstring(parsed(p))]
    )


def test_only_the_roof_and_lists_of_names_import_for_type_checkers_alone():
    """Annotations are checked at run time, so their names must exist then; a list of names has no annotations."""
    defines = (ast.FunctionDef, ast.ClassDef, ast.AnnAssign)
    named = [path for path in OURS if "TYPE_CHECKING" in path.read_text(encoding="utf-8")]
    named.remove(ROOT / "isthmus" / "__init__.py")
    faults = [p for p in named if any(isinstance(x, defines) for x in ast.walk(parsed(p)))]
    assert_none([f"{shown(path)} has TYPE_CHECKING" for path in faults])


def test_every_public_name_has_one_home():
    """The roof and each package list their names in `__all__`; no name stands in two lists."""
    homes: dict[str, list[str]] = {}
    for part in FLOW:
        module = part if part == "isthmus" else f"isthmus.{part}"
        if part == "isthmus" or (ROOT / "isthmus" / part / "__init__.py").exists():
            public = getattr(importlib.import_module(module), "__all__", ())
            assert not [name for name, times in Counter(public).items() if times > 1], module
            for name in public:
                assert hasattr(importlib.import_module(module), name), f"{module} lacks {name}"
                homes.setdefault(name, []).append(module)
    assert_none([f"{name} lives in {where}" for name, where in homes.items() if len(where) > 1])


def files_of_the_repository() -> list[Path]:
    """What is or could be committed: not what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so nothing says which files are the repository's")
    return [path for path in map(ROOT.joinpath, listed.stdout.splitlines()) if path.is_file()]


def test_the_repository_names_no_machine():
    faults = []
    for path in files_of_the_repository():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        for kind, pattern in FOREIGN.items():
            for found in re.finditer(pattern, text):
                line = text.count("\n", 0, found.start()) + 1
                faults.append(f"{shown(path)}:{line} has {kind}: {found[0]}")
    assert_none(faults)


def test_pins_are_names_and_versions_only():
    for path in ROOT.glob("constraints*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [x for x in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", x)] == []

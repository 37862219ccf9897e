"""Every block of Python in the documents runs, every link leads somewhere, and every error code is explained."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[^\n`]*)\n(?P<code>.*?)^ *```$", re.S | re.M)


LINK = re.compile(r"\]\((?!\w+://)(?P<path>[^)#\s]*)#?(?P<heading>[^)\s]*)\)")


def blocks(text: str) -> list[tuple[int, str, str]]:
    """(line of its first statement, language, code) of each fenced block."""
    return [
        (text.count("\n", 0, found.start("code")) + 1, found["kind"].strip(), found["code"])
        for found in FENCE.finditer(text)
    ]


@pytest.mark.compiles_much("documents call functions one by one, as their readers do")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_python_of_a_document_runs_from_top_to_bottom(document, as_the_user):
    """Blocks share one namespace; a traceback shows the document's own lines."""
    space: dict = {"__name__": "document"}
    for line, kind, code in blocks(document.read_text(encoding="utf-8")):
        if kind == "python":
            padded = "\n" * (line - 1) + textwrap.dedent(code)  # so that line numbers are right
            exec(compile(padded, str(document), "exec"), space)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_python_of_a_document_escapes_the_test(document):
    """Anything but plain `python` would not run; commands and sketches are `sh` and `text`."""
    found = [(line, kind) for line, kind, _ in blocks(document.read_text(encoding="utf-8"))]
    assert [where for where in found if where[1].startswith("py") and where[1] != "python"] == []
    assert [where for where in found if not where[1]] == [], "a block must name its language"


def headings(document: Path) -> set[str]:
    """The anchor of each heading, as GitHub makes it."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_of_a_document_leads_to_a_file_and_a_heading(document):
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for found in LINK.finditer(text):
        target = document.parent / found["path"] if found["path"] else document
        assert target.exists(), f"{found[0]}: there is no such file"
        assert not found["heading"] or found["heading"] in headings(target), found[0]


def test_the_index_lists_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    assert [page for page in pages if page != "README.md" and f"({page})" not in index] == []


def test_every_error_and_warning_is_explained():
    from isthmus import errors

    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass)]
    ours = [cls for cls in classes if issubclass(cls, errors.IsthmusError | errors.IsthmusWarning)]
    missing = [
        f"{getattr(cls, 'code', '')} {cls.__name__}".strip()
        for cls in ours
        if f"`{cls.__name__}`" not in text or getattr(cls, "code", "") not in text
    ]
    assert missing == []


def test_the_table_of_errors_has_every_class_with_its_bases():
    from isthmus import errors

    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass)]
    ours = [cls for cls in classes if issubclass(cls, errors.IsthmusError)]
    direct = {base for cls in ours for base in cls.__bases__} - {errors.IsthmusError, Exception}
    rows = []
    for cls in sorted(ours, key=lambda cls: cls.code):
        bases = [f"`{base.__name__}`" for base in cls.__mro__[1:] if base in direct]
        rows.append(
            f"| {cls.code} | `{cls.__name__}` | {', '.join(bases)} |".replace("|  |", "| |")
        )
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| IST.*$", text, re.MULTILINE) == rows
    paragraphs = re.findall(r"^\*\*(IST\d+) `(\w+)`\.\*\*", text, re.MULTILINE)
    assert sorted(paragraphs) == sorted((cls.code, cls.__name__) for cls in ours)


def test_every_error_has_a_code_of_its_own():
    from isthmus import errors

    classes = [cls for _, cls in inspect.getmembers(errors, inspect.isclass)]
    codes = [cls.__dict__.get("code") for cls in classes if issubclass(cls, errors.IsthmusError)]
    assert all(re.fullmatch(r"IST\d{3}", code or "") for code in codes), codes
    assert len(set(codes)) == len(codes), codes

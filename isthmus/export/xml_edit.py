"""XML text that is changed attribute by attribute: all that is not changed stays, byte for byte.

The text is one that a parser has accepted, so a scan for tags, comments and the like is enough to find every element.
"""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from isthmus.describe.xml_lines import Element
from isthmus.export.xml_text import word

TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!DOCTYPE[^<>\[]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/?)(?P<tag>[^\s/>!?]+)(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([\w.-]+)[\"']")
BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class NotKept(Exception):
    """The text that a model came from cannot be kept; says why."""


@dataclasses.dataclass(eq=False)
class Tag:
    """An element of a text; one that is to be added has no place yet."""

    name: str
    start: int = -1
    """Where the element begins; -1: it is new."""
    head: int = -1
    """Where a further attribute can be put."""
    inner: int = -1
    """Where its content begins: behind the opening tag."""
    foot: int = -1
    """Where its closing tag begins; of an empty element (`<a/>`), where `/>` does."""
    end: int = -1
    attributes: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """Where each value stands, without its quotes."""
    children: list[Tag] = dataclasses.field(default_factory=list)
    added: dict[str, str] = dataclasses.field(default_factory=dict)
    """Attributes that are new."""

    def all(self, name: str) -> list[Tag]:
        """The children with this name."""
        return [child for child in self.children if child.name == name]

    def first(self, name: str) -> Tag | None:
        """The first child with this name."""
        return next(iter(self.all(name)), None)

    def child(self, name: str) -> Tag:
        """The first child with this name; a new one where there is none."""
        if (found := self.first(name)) is None:
            found = Tag(name)
            self.children.append(found)
        return found


class Document:
    """A text, its elements, and changes of it."""

    def __init__(self, data: bytes) -> None:
        self.encoding = _encoding(data)
        self.source = data.decode(self.encoding)
        self._values: dict[tuple[int, int], str] = {}
        """New values of attributes, by the place of the old ones."""
        self._edits: list[tuple[int, int, str]] = []
        self._removed: list[Tag] = []
        self.root = _scanned(self.source)

    def value(self, tag: Tag, name: str) -> str | None:
        """An attribute as it is written; None where there is none."""
        span = tag.attributes.get(name)
        return tag.added.get(name) if span is None else self.source[slice(*span)]

    def set_text(self, tag: Tag, name: str, text: str) -> None:
        """Gives an attribute a new value."""
        if (span := tag.attributes.get(name)) is None:
            tag.added[name] = text
        elif self.source[slice(*span)] != text:
            self._values[span] = escape(text, {'"': "&quot;", "'": "&apos;"})

    def set_numbers(self, tag: Tag, name: str, numbers: Any) -> None:
        """Gives an attribute new numbers; those that are there already stay as they are written."""
        words = [word(x) for x in np.ravel(numbers)]
        old = self.value(tag, name)
        parts = re.split(r"(\s+)", old or "")
        places = [k for k, part in enumerate(parts) if part.strip()]
        if len(places) != len(words):
            self.set_text(tag, name, " ".join(words))
            return
        for k, new in zip(places, words, strict=True):
            parts[k] = parts[k] if _same(parts[k], new) else new
        self.set_text(tag, name, "".join(parts))

    def drop(self, tag: Tag, name: str) -> None:
        """Takes an attribute out, with the space before it."""
        if (span := tag.attributes.get(name)) is not None:
            start = self.source.rfind(name, tag.start, span[0])
            start = len(self.source[:start].rstrip())
            self._edits.append((start, span[1] + 1, ""))

    def remove(self, tag: Tag) -> None:
        """Takes an element out, with the space before it."""
        start = len(self.source[: tag.start].rstrip())
        self._edits.append((start, tag.end, ""))
        self._removed.append(tag)

    def append(self, tag: Tag, lines: list[str]) -> None:
        """Puts lines of XML behind the last child of an element."""
        inside = self._inside(tag)
        text = "".join(f"\n{inside}{line}" for line in lines)
        self._put(tag, text)

    def result(self) -> bytes:
        """The text with all changes."""
        for tag in walk(self.root):
            if tag.start < 0 or tag in self._removed:
                continue
            for name, value in tag.added.items():
                self._edits.append((tag.head, tag.head, f" {name}={quoteattr(value)}"))
            if new := [child for child in tag.children if child.start < 0]:
                self.append(tag, [line for child in new for line in _lines(child)])
        text, place = [], 0
        values = [(*span, new) for span, new in self._values.items()]
        for start, end, new in sorted([*values, *self._edits], key=lambda edit: edit[:2]):
            if start >= place:  # not inside of an element that was removed
                text += [self.source[place:start], new]
                place = end
        return "".join([*text, self.source[place:]]).encode(self.encoding)

    def _put(self, tag: Tag, text: str) -> None:
        """Puts text, which begins with a line break, behind the content of an element."""
        before = self._before(tag)
        if tag.inner == tag.end:  # <a/>
            self._edits.append((tag.foot, tag.end, f">{text}\n{before}</{tag.name}>"))
            return
        stop = len(self.source[: tag.foot].rstrip())
        tail = f"\n{before}" if "\n" not in self.source[stop : tag.foot] else ""
        self._edits.append((stop, stop, text + tail))

    def _before(self, tag: Tag) -> str:
        """The indent of the line that an element begins in."""
        line = self.source[self.source.rfind("\n", 0, tag.start) + 1 : tag.start]
        return line[: len(line) - len(line.lstrip())]

    def _inside(self, tag: Tag) -> str:
        """The indent of an element's children."""
        there = [child for child in tag.children if child.start >= 0]
        return self._before(there[0]) if there else self._before(tag) + "  "


def opened(data: bytes, root: Element) -> Document:
    """A text whose elements a parser found to be those in `root`; `NotKept` where a scan finds others."""
    try:
        document = Document(data)
        same = sorted(t.name for t in walk(document.root)) == sorted(e.tag for e in root.walk())
    except (LookupError, ValueError):
        same = False
    if not same:
        raise NotKept("its elements stand in entities, or in an unknown encoding")
    return document


def _encoding(data: bytes) -> str:
    """How the bytes of a file that was read are text."""
    for mark, encoding in BOMS.items():
        if data.startswith(mark):
            return encoding
    declared = ENCODING.match(data.removeprefix(codecs.BOM_UTF8))
    return declared[1].decode("ascii") if declared else "utf-8"


def _scanned(text: str) -> Tag:
    """The root element, with all others inside."""
    top = Tag("")
    stack = [top]
    for found in TOKEN.finditer(text):
        if found["tag"] is None:
            continue
        if found["close"]:
            tag = stack.pop()
            tag.foot, tag.end = found.span()
            continue
        start = found.start("rest")
        spans = {a[1]: (start + a.start(2 if a[2] is not None else 3),
                        start + a.end(2 if a[2] is not None else 3))
                 for a in ATTRIBUTE.finditer(found["rest"])}  # fmt: skip
        head = start + len(found["rest"].rstrip())
        foot = found.start("empty")
        tag = Tag(found["tag"], found.start(), head, found.end(), foot, found.end(), spans)
        stack[-1].children.append(tag)
        if not found["empty"]:
            stack.append(tag)
    return top.children[0]


def walk(tag: Tag) -> Iterator[Tag]:
    """An element and all inside, in no stated order."""
    waiting = [tag]
    while waiting:
        tag = waiting.pop()
        yield tag
        waiting.extend(tag.children)


def _lines(tag: Tag) -> list[str]:
    """A new element as lines of XML."""
    words = "".join(f" {name}={quoteattr(value)}" for name, value in tag.added.items())
    if not tag.children:
        return [f"<{tag.name}{words}/>"]
    inner = [f"  {line}" for child in tag.children for line in _lines(child)]
    return [f"<{tag.name}{words}>", *inner, f"</{tag.name}>"]


def _same(old: str, new: str) -> bool:
    try:
        return float(old) == float(new)
    except ValueError:
        return False

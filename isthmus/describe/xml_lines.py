"""XML text to a tree of elements that know their line, so that a fault can say where it stands."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from xml.parsers import expat

from isthmus.errors import BadFile

UTF8_BOM = b"\xef\xbb\xbf"
PREDEFINED = (b"amp", b"lt", b"gt", b"quot", b"apos")
"""Entities of every XML file."""
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclasses.dataclass
class Element:
    """One element with its attributes; text between elements is not kept."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = dataclasses.field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children with this tag, in the file's order."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """The first child with this tag."""
        return next((child for child in self.children if child.tag == tag), None)

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in no stated order."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(element.children)


def parse_xml(text: str | bytes, source: str = "") -> Element:
    """The root element of `text`; blank lines or a byte-order mark before the XML do no harm."""
    body, skipped = _strip(text)
    if not body:
        raise BadFile(f"{_it(source)} is empty.")
    if b"\0" in body[:4096] and not body.startswith(UTF16_BOMS):
        raise BadFile(f"{_it(source)} is binary, not XML.")
    if not body.startswith((b"<", *UTF16_BOMS)):
        start = body[:24].decode("utf-8", "replace")
        raise BadFile(f"{_it(source)} is not XML: it starts with {start!r}.")
    if name := _undefined_entity(body):
        raise BadFile(f"{_it(source)} is broken XML: undefined entity &{name};.")
    return _parse(body, skipped, source, encoding="utf-8" if isinstance(text, str) else None)


def _undefined_entity(body: bytes) -> str:
    """An entity that is used and not defined; expat passes over it in silence where there is a DOCTYPE."""
    if b"<!DOCTYPE" not in body:
        return ""
    bare = re.sub(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", b"", body, flags=re.DOTALL)
    defined = {*re.findall(rb"<!ENTITY\s+([\w.:-]+)", bare), *PREDEFINED}
    used = re.findall(rb"&([\w.:-]+);", bare)
    return next((name.decode("utf-8", "replace") for name in used if name not in defined), "")


def _strip(text: str | bytes) -> tuple[bytes, int]:
    """The bytes from the first letter on, and how many lines came before."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    body = data.removeprefix(UTF8_BOM).lstrip()
    body = body.removeprefix(UTF8_BOM)
    return body, len(re.findall(b"\r\n|\r|\n", data[: len(data) - len(body)]))


def _parse(body: bytes, skipped: int, source: str, encoding: str | None) -> Element:
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    top = Element("", {}, 0)
    stack = [top]

    def open_element(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber + skipped)
        stack[-1].children.append(element)
        stack.append(element)

    parser.StartElementHandler = open_element
    parser.EndElementHandler = lambda tag: stack.pop()
    try:
        parser.Parse(body, True)
    except expat.ExpatError as broken:
        what = expat.ErrorString(broken.code)
        raise BadFile(
            f"{_it(source)} is broken XML: {what}, line {broken.lineno + skipped}."
        ) from None
    except (LookupError, ValueError) as unreadable:  # an encoding that expat does not know
        raise BadFile(f"{_it(source)} is broken XML: {unreadable}.") from None
    return top.children[0]


def _it(source: str) -> str:
    return f"the file {source!r}" if source else "the text"

"""What the site has beside the pages of this folder: a page for each example, and the reference from docstrings."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PARTS = {
    "Robots and files": ("model", "describe", "files", "library", "export"),
    "Simulation": ("simulate", "motion", "contact", "dynamics", "spatial", "native"),
    "Networks": ("networks", "blueprint"),
    "Data and fits": ("data", "losses", "identify", "study", "distributed"),
    "Discovery, uncertainty, experiments": ("discovery", "posteriors", "tracking", "excitation"),
    "Reports, views, checks": (
        "report",
        "figures",
        "scene",
        "notebook",
        "viewer",
        "verify",
        "errors",
    ),
}
"""Pages of the reference: their titles, and the packages whose public names they show."""


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages, and puts them into the navigation."""
    gallery, reference = list(_gallery()), list(_reference())
    for name, text in gallery + reference:
        files.append(File.generated(config, name, content=text))
    config.nav += [
        {"Gallery": [name for name, _ in gallery]},
        {"Reference": [name for name, _ in reference]},
    ]
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lets links to examples lead to their pages in the gallery."""
    up = "../" * page.file.src_uri.count("/")
    return re.sub(r"\((?:\.\./)+examples/(\w+)\.py\)", rf"({up}gallery/\1.md)", markdown)


def on_post_template(output: str, template_name: str, **_: Any) -> str:
    """Makes the paths of 404.html start at its own folder: other pages do, and it opens from the disk too."""
    return (
        re.sub(r'((?:href|src)=|"base": *)"/', r'\1"./', output)
        if template_name == "404.html"
        else output
    )


def _gallery() -> Any:
    """Each numbered example as a page: cells of text and of code, then its picture."""
    for path in sorted((ROOT / "examples").glob("[0-9]*.py")):
        cells = re.split(r"^# %%( \[markdown\])?\n", path.read_text(encoding="utf-8"), flags=re.M)
        page = [f"[examples/{path.name}]: # (a notebook: jupytext --to notebook)"]
        for kind, cell in zip(cells[1::2], cells[2::2], strict=True):
            is_text = kind is not None
            page.append(
                re.sub(r"^# ?", "", cell, flags=re.M)
                if is_text
                else f"```python\n{cell.strip()}\n```"
            )
        if (ROOT / "docs" / "images" / "gallery" / f"{path.stem}.png").is_file():
            page.insert(2, f"![What it draws](../images/gallery/{path.stem}.png)")
        page.append(
            f"Run it: `python examples/{path.name}`; as a notebook: `jupytext --to notebook examples/{path.name}`."
        )
        yield f"gallery/{path.stem}.md", "\n\n".join(page) + "\n"


def _reference() -> Any:
    """A page for each part: the public names, with what their docstrings say."""
    import isthmus

    homes = {
        name: home for name, home in isthmus._HOMES.items() if "." in home
    }  # the others are packages
    told: set[str] = set()
    for title, packages in PARTS.items():
        names = [
            name for name in sorted(homes, key=str.lower) if homes[name].split(".")[1] in packages
        ]
        told.update(names)
        if names:
            blocks = "\n\n".join(f"::: {homes[name]}.{name}" for name in names)
            slug = re.sub(r"\W+", "_", title.lower()).strip("_")
            yield f"reference/{slug}.md", f"# {title}\n\n{blocks}\n"
    if left := sorted(set(homes) - told):
        raise ValueError(
            f"docs/site.py: no part of the reference shows {', '.join(left)}; add their packages to PARTS."
        )

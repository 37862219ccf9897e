"""What the benchmark of importing imports."""

from __future__ import annotations

import re
from pathlib import Path

from isthmus.bench.importing import README_NAMES

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_names_of_readme_are_all_that_it_uses():
    used = re.findall(r"\bist\.(\w+)", README.read_text(encoding="utf-8"))
    assert sorted(README_NAMES) == sorted({*used})

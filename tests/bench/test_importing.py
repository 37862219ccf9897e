"""What the benchmark of importing imports."""

from __future__ import annotations

import re
from pathlib import Path

from isthmus.bench.importing import README_NAMES

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_names_of_readme_are_those_that_its_code_uses():
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    calls = re.findall(r"`(ist\.\w+\(.*?\))`", text)
    used = {name for code in blocks + calls for name in re.findall(r"\bist\.(\w+)", code)}
    assert sorted(used) == sorted(README_NAMES)

"""`python -m tests.fuzz native --seconds 60`: programs from fixed seeds; findings go to out/fuzz/."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.native import compared
from tests.fuzz.programs import program


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("part", choices=["native"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    given = parser.parse_args()
    began, counts = time.monotonic(), Counter()
    for seed in range(given.seed, given.seed + given.cases):
        if time.monotonic() - began > given.seconds:
            break
        made = program(seed)
        verdict = compared(made)
        counts[verdict.kind] += 1
        if verdict.kind in ("different", "error"):
            given.out.mkdir(parents=True, exist_ok=True)
            path = given.out / f"native_{seed}.py"
            path.write_text(made.file(), encoding="utf-8")
            print(f"{path}: {verdict.kind}: {verdict.detail}", flush=True)
        elif verdict.kind == "refused":
            print(f"seed {seed} refused: {verdict.detail}", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()) or "no cases")
    return 1 if counts["different"] or counts["error"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

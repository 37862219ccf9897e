"""Export the step of an arm as C99, compile it with a controller in C, and compare it with the simulator."""

import argparse
import shutil
import subprocess
from pathlib import Path

import numpy as np

import isthmus as ist

CONTROLLER = """#include <stdio.h>
#include "arm_step.h"

int main(void)
{{
    double q[{dof}] = {{0.0}}, v[{dof}] = {{0.0}}, torque[{dof}];
    for (int k = 0; k < {steps}; ++k) {{
        for (int i = 0; i < {dof}; ++i)
            torque[i] = {kp} * (0.5 - q[i]) - {kd} * v[i];
        arm_step(q, v, torque, q, v); /* results may be written over arguments */
    }}
    for (int i = 0; i < {dof}; ++i)
        printf("%.17g %.17g\\n", q[i], v[i]);
    return 0;
}}
"""


def main(out: str = "out", steps: int = 1000) -> None:
    """Write `out/arm_step.c`, compile it with a controller in C, and compare."""
    robot, kp, kd = ist.library.arm(), 20.0, 2.0
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    code = ist.export_c(robot, folder / "arm_step.c", dt=1e-3, name="arm_step")
    print(f"wrote {folder / 'arm_step.c'}: {len(code.source.splitlines())} lines")

    hold = lambda t, state: kp * (0.5 - state.q) - kd * state.v
    motion = ist.rollout(robot, ist.State.neutral(robot), hold, dt=1e-3, steps=steps)
    text = CONTROLLER.format(dof=robot.dof, steps=steps, kp=kp, kd=kd)
    (folder / "controller.c").write_text(text, encoding="utf-8")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("found no C compiler: the files are written, but not compiled")
        return
    program = (folder / "controller").absolute()
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(program)]
    sources = [str(folder / "arm_step.c"), str(folder / "controller.c")]
    subprocess.run([compiler, *flags, *sources, "-lm"], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = np.array(said.split(), dtype=float).reshape(robot.dof, 2)
    off = np.max(np.abs(found - np.stack([motion.q[-1], motion.v[-1]], axis=1)))
    print(f"after {steps} steps, C and the simulator differ by {off:.2g}")
    assert off < 1e-9, f"C and the simulator differ by {off:.2g}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="out", help="folder for the files")
    main(parser.parse_args().out)

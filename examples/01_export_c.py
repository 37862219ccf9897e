# %% [markdown]
# # To the robot as C
#
# The simulator runs in Python; the robot's computer has a C compiler. Here the step of an arm becomes one C99 file,
# runs in a controller written in C, and gives the numbers of the simulator.

# %%
import shutil
import subprocess
from pathlib import Path

import numpy as np

import isthmus as ist

robot, kp, kd, steps = ist.library.arm(), 20.0, 2.0, 1000
folder = Path("out")
folder.mkdir(exist_ok=True)
code = ist.export_c(robot, folder / "arm_step.c", dt=1e-3, name="arm_step")
print(f"wrote {folder / 'arm_step.c'}: {len(code.source.splitlines())} lines")

# %% [markdown]
# The controller holds every joint at 0.5 rad. It is a few lines of C that call `arm_step`.

# %%
controller = f"""#include <stdio.h>
#include "arm_step.h"

int main(void)
{{
    double q[{robot.dof}] = {{0.0}}, v[{robot.dof}] = {{0.0}}, torque[{robot.dof}];
    for (int k = 0; k < {steps}; ++k) {{
        for (int i = 0; i < {robot.dof}; ++i)
            torque[i] = {kp} * (0.5 - q[i]) - {kd} * v[i];
        arm_step(q, v, torque, q, v); /* results may be written over arguments */
    }}
    for (int i = 0; i < {robot.dof}; ++i)
        printf("%.17g %.17g\\n", q[i], v[i]);
    return 0;
}}
"""
(folder / "controller.c").write_text(controller, encoding="utf-8")

# %% [markdown]
# The same in Python, and the difference.

# %%
hold = lambda t, state: kp * (0.5 - state.q) - kd * state.v
motion = ist.rollout(robot, ist.State.neutral(robot), hold, dt=1e-3, steps=steps)

compiler = shutil.which("gcc") or shutil.which("cc")
if compiler is None:
    print("found no C compiler: the files are written, but not compiled")
else:
    program = (folder / "controller").absolute()
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(program)]
    sources = [str(folder / "arm_step.c"), str(folder / "controller.c")]
    subprocess.run([compiler, *flags, *sources, "-lm"], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    found = np.array(said.split(), dtype=float).reshape(robot.dof, 2)
    off = np.max(np.abs(found - np.stack([motion.q[-1], motion.v[-1]], axis=1)))
    print(f"after {steps} steps, C and the simulator differ by {off:.2g}")
    assert off < 1e-9

# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Your own congestion control
# A congestion control is one C file. We take the template, which does what Reno does, and have it
# give up a fifth of its window after a loss instead of a half. It needs a C compiler.

# %%
import subprocess
from pathlib import Path

import nashbed as nb

subprocess.run(["nashbed", "cc", "new", "gentle"], check=True)
source = Path("gentle.c")
text = source.read_text()
assert "max(cwnd / 2, 2u)" in text
source.write_text(text.replace("max(cwnd / 2, 2u)", "max(cwnd * 4 / 5, 2u)"))

# %% [markdown]
# A strategy may be the path of a C file. Does the gentler one win?

# %%
run = nb.run(
    {
        "name": "gentle",
        "title": "Reno against a gentler Reno",
        "bottleneck": {"rate": "20mbit", "buffer": "1bdp"},
        "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
        "strategies": ["reno", "./gentle.c"],
        "duration": "20s",
        "warmup": "5s",
        "trials": 1,
        "sweep": {"mixes": [1]},
    },
    "virtual",
)
print(run.trials[0].flows.select("strategy", "per_flow_throughput"))

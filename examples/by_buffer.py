# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A sweep
# The same two flows behind three buffers. Every combination of what is swept is a *setting*, and
# `run.tables` has every trial of every setting as Polars tables.

# %%
import matplotlib.pyplot as plt
import nashbed as nb
import polars as pl

run = nb.run(
    {
        "name": "by-buffer",
        "title": "CUBIC against BBR by buffer",
        "bottleneck": {"rate": "20mbit", "buffer": "1bdp"},
        "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
        "strategies": ["cubic", "bbr"],
        "duration": "10s",
        "warmup": "2s",
        "sweep": {"buffer": ["0.5bdp", "2bdp", "8bdp"], "mixes": [1]},
    },
    "virtual",
)

# %%
flows = run.tables["flows"].join(run.tables["trials"].select("trial", "buffer_bdp"), on="trial")
table = flows.pivot(on="strategy", index="buffer_bdp", values="per_flow_throughput")
print(table.with_columns(pl.col("cubic", "bbr") / 1e6))

# %%
figure, ax = plt.subplots()
for name in ("cubic", "bbr"):
    ax.plot(table["buffer_bdp"], table[name] / 1e6, "o-", label=name)
ax.set(xscale="log", xlabel="buffer (BDP)", ylabel="Mbit/s")
ax.legend()
figure.savefig("by_buffer.png")

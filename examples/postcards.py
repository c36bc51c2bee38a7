# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Every packet
# A postcard says when a packet came into the queue, when it left, and how full the queue was. Who
# held the queue, and who lost?

# %%
import nashbed as nb
import polars as pl

run = nb.run(
    {
        "name": "postcards",
        "title": "One CUBIC flow and one BBR flow",
        "bottleneck": {"rate": "20mbit", "buffer": "2bdp"},
        "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
        "strategies": ["cubic", "bbr"],
        "duration": "10s",
        "warmup": "2s",
        "trials": 1,
        "sweep": {"mixes": [1]},
    },
    "virtual",
)
(trial,) = run.trials
print(trial.tables())

# %% [markdown]
# Little's law: bytes in the queue are arrival rate times waiting time. The sum over packets of
# bytes times waiting time, by the time observed, is a flow's mean occupancy.

# %%
names = trial.flows.select(pl.col("flow").cast(pl.UInt32), "strategy")
waiting = (pl.col("dequeue_ns") - pl.col("enqueue_ns")) * pl.col("packet_bytes")
occupancy = (
    trial.postcards.filter(pl.col("kind") == 0)
    .group_by("flow")
    .agg(occupancy_bytes=waiting.sum() / (pl.col("dequeue_ns").max() - pl.col("enqueue_ns").min()))
    .collect()
    .join(names, on="flow")
    .sort("strategy")
)
print(occupancy)

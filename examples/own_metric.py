# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # A question that no metric answers yet
# For how much of the time does each flow repair losses? The senders' kernels are sampled every
# 50 ms; a socket's state 3 is Recovery, 4 is Loss.

# %%
import nashbed as nb
import polars as pl

run = nb.run(
    {
        "name": "own-metric",
        "title": "Time in recovery",
        "bottleneck": {"rate": "20mbit", "buffer": "1bdp"},
        "flows": [{"name": "main", "count": 4, "base_rtt": "20ms"}],
        "strategies": ["cubic", "bbr"],
        "duration": "10s",
        "warmup": "2s",
        "trials": 1,
        "sweep": {"mixes": [1, 2, 3]},
    },
    "virtual",
)


# %%
def time_in_recovery(trial: nb.Trial) -> pl.DataFrame:
    """Share of the samples in which a flow repairs losses, by strategy."""
    names = trial.flows.select(pl.col("flow").cast(pl.UInt32), "strategy")
    samples = trial.table("flow_samples").filter(pl.col("t_ns") > 2e9).collect()
    return (
        samples.join(names, on="flow")
        .group_by("strategy")
        .agg(in_recovery=(pl.col("ca_state") >= 3).mean())
        .with_columns(mix=pl.lit(str(trial.mix)))
    )


print(pl.concat(map(time_in_recovery, run.trials)).sort("mix", "strategy"))

# %% [markdown]
# To have it in every run, make it a `nashbed.Metric` in a package of your own, with an entry point
# in the group `nashbed.metrics`. All there are:

# %%
for metric in nb.METRICS.values():
    print(f"{metric.name} ({metric.unit}): {metric.definition}")

# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Who gets the bandwidth?
# Two CUBIC and BBR flows share a bottleneck of 20 Mbit/s. In virtual time this takes some seconds.
# Text can stand where quantities are meant: `50mbit`, `30ms`, `2bdp`.

# %%
import nashbed as nb

scenario = nb.Scenario(
    name="first",
    title="Two flows at 20 Mbit/s",
    bottleneck=nb.Bottleneck(rate="20mbit", buffer="2bdp"),
    flows=[nb.FlowGroup(name="main", count=2, base_rtt="20ms")],
    strategies=["cubic", "bbr"],
    duration="10s",
    warmup="2s",
    trials=1,
)
run = nb.run(scenario, "virtual")

# %% [markdown]
# One row for each mix: means over the valid trials, in bit/s and seconds.

# %%
for row in run.rows:
    shares = {name: each.mean for name, each in row.per_flow_throughput.items() if each}
    print(row.mix, {name: f"{bps / 1e6:.1f} Mbit/s" for name, bps in shares.items()})

# %%
print(run.headlines["b2bdp"])

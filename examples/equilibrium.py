# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Where nobody gains by switching
# Six flows, each free to choose CUBIC or BBR. An adaptive search measures only the mixes that
# decide, and those whose verdict is unclear several times.

# %%
import nashbed as nb

run = nb.run(
    {
        "name": "equilibrium",
        "title": "Six flows choose",
        "bottleneck": {"rate": "20mbit", "buffer": "3bdp"},
        "flows": [{"name": "main", "count": 6, "base_rtt": "20ms"}],
        "strategies": ["cubic", "bbr"],
        "duration": "10s",
        "warmup": "3s",
        "trials": 2,
        "equilibrium": {"search": "adaptive", "budget": 5},
    },
    "virtual",
)
(setting,) = run.equilibria
print(setting.summary())

# %% [markdown]
# What a flow would gain by switching, as a share of the fair share; NaN: a neighbour is missing.

# %%
for row in run.rows:
    verdict = {True: "equilibrium", False: "", None: "not known"}[row.equilibrium]
    gain = float("nan") if row.gain_of_fair_share is None else row.gain_of_fair_share
    print(f"{row.mix:22} {gain:6.2f} {verdict}")

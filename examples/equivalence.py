# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Do two runs measure the same?
# That a difference is not significant does not show that there is none. Two one-sided tests (TOST)
# do, if they are met: the share differs by less than a margin, with 95 % confidence.

# %%
import nashbed as nb

scenario = {
    "name": "equivalence",
    "title": "Two seeds",
    "bottleneck": {"rate": "20mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "10s",
    "warmup": "2s",
    "trials": 4,
    "sweep": {"mixes": [1]},
}
first, second = (nb.run(scenario | {"seed": seed}, "virtual") for seed in (1, 2))
for margin in (0.5, 0.001):
    found = nb.equivalence(first, second, margin)
    print(f"within {100 * margin:g} points:", "shown" if found.equivalent else "not shown")

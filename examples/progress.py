# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Progress, and going on later
# A run is an iterator of its states. Whoever stops iterating stops the run; what is finished is
# kept.

# %%
import nashbed as nb

scenario = {
    "name": "progress",
    "title": "Three mixes",
    "bottleneck": {"rate": "20mbit", "buffer": "2bdp"},
    "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
    "strategies": ["cubic", "bbr"],
    "duration": "5s",
    "warmup": "1s",
    "trials": 1,
}
with nb.start(scenario, "virtual") as running:
    print("about", round(running.plan.estimated_seconds), "s")
    for state in running:
        if state.finished:
            break
print(len(nb.open_run(running.path).trials), "trials or more before the stop")

# %%
with nb.resume(running.path) as again:
    run = again.finish()
print(len(run.trials), "trials in the end")

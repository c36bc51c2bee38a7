# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Report, figures, tables for other tools

# %%
import nashbed as nb

run = nb.run(
    {
        "name": "report",
        "title": "A report",
        "bottleneck": {"rate": "20mbit", "buffer": "2bdp"},
        "flows": [{"name": "main", "count": 2, "base_rtt": "20ms"}],
        "strategies": ["cubic", "bbr"],
        "duration": "5s",
        "warmup": "1s",
        "trials": 2,
    },
    "virtual",
)
print("page:", run.report(formats=["html"]))

# %%
for sketch in nb.figures.of_run(run):
    print(sketch.name, "-", sketch.title)

# %% [markdown]
# A figure is matplotlib's: change it, then save it.

# %%
figure = nb.figures.draw(run, "throughput_by_mix")
figure.axes[0].set_title("Mine")
figure.savefig("mine.pdf")

# %%
print(run.export("tables", "parquet", raw=["goodput"]))

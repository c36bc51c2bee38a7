# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # What models say
# Nothing is run here. A model predicts a share, or refuses with its reasons.

# %%
import nashbed as nb

question = {"rate": "50mbit", "base_rtt": "40ms", "buffer": "10bdp", "flows": 50}
for model in nb.models.models():
    answer = model.predict(**question, second_flows=10)
    said = (
        "refuses: " + "; ".join(answer.refusals) if answer.share is None else f"{answer.share:.2f}"
    )
    print(f"{model.about.title}: {said}")

# %% [markdown]
# Where does BBR's lead end? Published trials of two minutes say at 20 CUBIC flows of 50.

# %%
for model in (nb.models.fluid, nb.models.mishra_synchronised, nb.models.mishra_desynchronised):
    crossing = model.equilibrium(**question)
    if crossing.first is not None:
        print(f"{model.about.title}: {crossing.first:.1f} CUBIC flows")

"""Models of CUBIC against BBR, ours and published: one competition to all, one form of answer."""

from nashbed.controlplane.contract.plugins import WithPlugins

from . import closed_form, fluid, mishra2022, ware2019
from .competition import Competition, FlowKind, ModelError, cubic_against
from .prediction import Model, Prediction

MODELS = WithPlugins(
    "models",
    Model,
    {
        model.name: model
        for model in (
            fluid.MODEL,
            closed_form.MODEL,
            ware2019.MODEL,
            mishra2022.TWO_FLOW,
            mishra2022.SYNCHRONISED,
            mishra2022.DESYNCHRONISED,
            mishra2022.GIVEN_K,
        )
    },
)
"""By name, in the order in which tables show them; those of plugins come last."""

__all__ = [
    "MODELS",
    "Competition",
    "FlowKind",
    "Model",
    "ModelError",
    "Prediction",
    "cubic_against",
]

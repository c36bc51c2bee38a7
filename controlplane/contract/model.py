"""The base of every contract model: frozen, and an unknown key is an error."""

from pydantic import BaseModel, ConfigDict


class ContractModel(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

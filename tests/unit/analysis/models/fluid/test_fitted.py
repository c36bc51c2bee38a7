"""The fitted constants: what their file says, and that the model of today still does it."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.accuracy import MeasuredMix, accuracy_by_buffer
from nashbed.analysis.models.fluid import FITTED
from nashbed.analysis.models.fluid.native import FITTED_FILE
from nashbed.analysis.models.measured import mixes_of_file
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES

PUBLISHED = ("ware", "mishra-synchronised", "mishra-desynchronised")


@pytest.fixture(scope="module")
def mixes() -> tuple[MeasuredMix, ...]:
    return mixes_of_file(MIXES).mixes


@pytest.fixture(scope="module")
def result() -> dict:
    return json.loads(FITTED_FILE.read_text())


def test_the_file_is_where_the_constants_are_from(result) -> None:
    assert result["constants"] == asdict(FITTED)
    assert all(result["constants"][name] in values for name, values in result["grid"].items())
    assert len(result["left_out"]) == 7


@pytest.mark.slow
def test_unseen_panels_are_predicted_better_than_by_published_models(result, mixes) -> None:
    published = accuracy_by_buffer(mixes, [MODELS[name] for name in PUBLISHED])
    unseen = result["unseen"]["shares"]
    assert [row["mixes"] for row in unseen] == [row.mixes for row in published]
    for ours, theirs in zip(unseen, published, strict=True):
        known = [100 * e.median_abs for e in theirs.models if e.median_abs is not None]
        assert ours["median_abs"] < min(known), theirs.buffer_bdp
    assert unseen[-1]["median_abs"] <= 4
    assert all(row["median_abs"] <= 3.5 for row in unseen if row["buffer_bdp"] in {5, 10, 20})


def test_unseen_equilibria(result) -> None:
    found = result["unseen"]["equilibria"]
    assert found["settings"] == 49
    assert found["within_3"] >= 0.8 * 49


@pytest.mark.slow
def test_the_model_of_today_errs_as_the_file_says(result, mixes) -> None:
    """Every 183rd of the mixes, so that a second does."""
    some = mixes[::183]
    off = [MODELS["fluid"].predict(mix.question).share - mix.share for mix in some]
    said = result["seen"]["shares"][-1]["median_abs"]
    assert 100 * np.median(np.abs(off)) < 2 * said

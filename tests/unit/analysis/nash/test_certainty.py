"""How much repetitions differ, by game: pooled as far as games agree."""

import math

import numpy as np
import pytest
from nashbed.analysis.nash.certainty import Noise, noise_of_games, unclear

NAN = float("nan")


def samples(spread: float, states: int = 8, trials: int = 3, seed: int = 1):
    """Mixes of ten flows whose two utilities move against each other, in fair shares of 1."""
    rng = np.random.default_rng(seed)
    return {
        ((10 - k, k),): [np.array([[1 - d, 1 + d]]) for d in rng.normal(0, spread, trials)]
        for k in range(1, states + 1)
    }


def test_a_trial_is_one_observation() -> None:
    """Two trials of one mix: deviations 0.1 of both utilities, one degree of freedom."""
    game = {((1, 1),): [np.array([[0.9, 1.1]]), np.array([[1.1, 0.9]])]}
    (noise,) = noise_of_games([(game, 1.0)])
    assert noise.freedom == 1
    # Each utility has the squares 0.01 + 0.01; their mean is 0.02.
    assert noise.deviation == pytest.approx(math.sqrt(0.02))
    (halved,) = noise_of_games([(game, 2.0)])
    assert halved.deviation == pytest.approx(math.sqrt(0.02) / 2)


def test_games_that_agree_share_the_variance_of_all_their_trials() -> None:
    """Two games, one with two trials and one with four: each trial weighs alike."""
    few = {((1, 1),): [np.array([[0.9, 1.1]]), np.array([[1.1, 0.9]])]}
    many = {((1, 1),): [np.array([[1 - d, 1 + d]]) for d in (-0.15, -0.05, 0.05, 0.15)]}
    found = noise_of_games([(few, 1.0), (many, 1.0)])
    pooled = (0.02 + 0.05) / (1 + 3)
    assert [noise.deviation for noise in found] == pytest.approx([math.sqrt(pooled)] * 2)


def test_corners_tell_nothing() -> None:
    corner = {((2, 0),): [np.array([[1.0, NAN]]), np.array([[1.0, NAN]])]}
    assert noise_of_games([(corner, 1.0)]) == [Noise(math.inf, 0)]
    two_groups = {((2, 0), (3, 0)): [np.array([[1.0, NAN], [1.0, NAN]])] * 2}
    assert noise_of_games([(two_groups, 1.0)])[0].freedom == 0
    mixed = {((2, 0), (0, 3)): [np.array([[1.0, NAN], [NAN, 1.0]])] * 2}
    assert noise_of_games([(mixed, 1.0)])[0].freedom == 1


def test_like_games_are_pooled() -> None:
    games = [(samples(0.05, seed=s), 1.0) for s in range(1, 7)]
    found = noise_of_games(games)
    # 16 degrees of freedom of each, and at least as many of what they have in common.
    assert all(32 <= n.freedom <= 96 for n in found)
    alone = [noise_of_games([game])[0] for game in games]
    drawn, own = ([n.deviation for n in noises] for noises in (found, alone))
    assert np.std(drawn) < 0.6 * np.std(own)
    assert drawn == pytest.approx([0.05] * 6, rel=0.25)


def test_unlike_games_are_not_pooled() -> None:
    """Spreads of 0.01 and of 25 times that: each keeps its own."""
    games = [(samples(0.01, seed=1), 1.0), (samples(0.25, seed=2), 1.0),
             (samples(0.01, seed=3), 1.0)]  # fmt: skip
    quiet, loud, other = noise_of_games(games)
    assert quiet.deviation == pytest.approx(0.01, rel=0.5)
    assert loud.deviation == pytest.approx(0.25, rel=0.5)
    assert other.deviation == pytest.approx(0.01, rel=0.5)
    assert loud.freedom < 24  # 16 of its own and little of the others'


def test_a_game_without_repetitions_borrows_from_the_others() -> None:
    alone = {((5, 5),): [np.array([[1.0, 1.0]])]}
    lone, known = noise_of_games([(alone, 1.0), (samples(0.05), 1.0)])
    assert lone == known
    assert lone.freedom == 16
    assert math.isinf(noise_of_games([(alone, 1.0)])[0].bound([1, 1]))


def test_small_gains_are_clear_within_epsilon() -> None:
    game = {((1, 1),): [np.array([[1.0, 1.0]])] * 2}
    game[(2, 0),] = [np.array([[1.01, NAN]])] * 2
    game[(0, 2),] = [np.array([[NAN, 1.01]])] * 2
    noise = Noise(0.02, 30)
    assert unclear(((1, 1),), game, noise, 1.0, epsilon=0.1) == set()
    assert unclear(((1, 1),), game, noise, 1.0, epsilon=0.0) == set(game)

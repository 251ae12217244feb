"""First words by which a scripted generator passes for the measured model, or for another one behind its name."""

import math

from shared.models.catalogue import certainties_of


def measured_words():
    """Log-probabilities as the model ``standard`` has them."""
    return {word: math.log(share) for word, share in certainties_of("standard").first_words.items()}


def words_of_another():
    """Those of some other model."""
    return {"Apple": math.log(0.6), "Sky": math.log(0.2)}

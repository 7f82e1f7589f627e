"""Topics of several chains, brought into one order."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from gptm._basics.types import Array


def alignment(beta_T: Array, other_T: Array) -> np.ndarray:
    """For each topic of `beta_T` (V, K), the number of the most similar topic of `other_T`, each used once.

    >>> beta_T = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> alignment(beta_T, beta_T[:, ::-1])
    array([1, 0])
    """
    roots = [np.sqrt(topics / topics.sum(0)) for topics in (beta_T, other_T)]
    return np.asarray(linear_sum_assignment(roots[0].T @ roots[1], maximize=True)[1])


def alignments(topics: list[Array]) -> list[np.ndarray]:
    """The order of each chain's topics that makes them like the first chain's."""
    first = np.arange(topics[0].shape[1])
    return [first, *(alignment(topics[0], beta_T) for beta_T in topics[1:])]

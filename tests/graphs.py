"""Kernels over graphs as dense matrices, slowly and by the book, shared by the tests."""

import numpy as np

from gptm import kernels as k
from gptm.kernels.network import KAPPA

NU = k.Graph("links").nu


def undirected(A):
    """The larger of both directions, nobody linked to himself."""
    W = np.maximum(A, np.transpose(A)).astype(float)
    np.fill_diagonal(W, 0.0)
    return W


def spare(W):
    """A tenth of a link, which every document has more."""
    return 0.1 * W[W > 0].mean() if W.any() else 1.0


def unscaled(W, kappa, nu):
    """((1 + kappa^2) I - S)^-nu."""
    root = np.sqrt(W.sum(1) + spare(W))
    A = (1 + kappa**2) * np.eye(len(W)) - W / np.outer(root, root)
    return np.linalg.matrix_power(np.linalg.inv(A), nu)


def smooth(W, kappa=KAPPA, nu=NU):
    """The same with a mean variance of one."""
    K = unscaled(W, kappa, nu)
    return K / np.diagonal(K).mean()


def prior_variance(W, kappa=KAPPA, nu=NU):
    """Of a document without links beside the smooth form."""
    return (1 + kappa**2) ** -float(nu) / np.diagonal(unscaled(W, kappa, nu)).mean()


def smooth_leaves(W, edges, kappa=KAPPA, nu=NU):
    """New documents against the others, and their variances: each hangs on the graph as its newest leaf."""
    degrees = (edges.sum(1) + spare(W))[:, None] * (W.sum(1) + edges + spare(W))
    weights = edges / np.sqrt(degrees) / (1 + kappa**2)
    cross = weights @ smooth(W, kappa, nu)
    return cross, (cross * weights).sum(1) + prior_variance(W, kappa, nu)


def standardised(values, training):
    return (values - np.nanmean(training, axis=0)) / np.nanstd(training, axis=0)


def euclidean_distances(A, B):
    return np.linalg.norm(A[:, None] - B[None], axis=2)


def neighbor_edges(distances, n_neighbors, bandwidth):
    """exp(-distance / (2 sigma^2)) at the nearest of each row; NaN and infinity are nobody."""
    edges = np.zeros_like(distances)
    for row, values in enumerate(distances):
        order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
        order = [j for j in order if np.isfinite(values[j])][:n_neighbors]
        edges[row, order] = np.exp(-values[order] / (2 * bandwidth**2))
    return edges


def neighbor_weights(points, n_neighbors, bandwidth):
    """(n, n) the graph of rows of numbers and their nearest neighbours."""
    distances = euclidean_distances(*2 * (standardised(points, points),))
    np.fill_diagonal(distances, np.inf)
    return undirected(neighbor_edges(distances, n_neighbors, bandwidth))

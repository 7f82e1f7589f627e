"""What the words of documents say of their logits."""

from gptm._hot.settings import loop


@loop()
def word_statistics(indptr, words, counts, beta_T, theta, expected, ambiguous, phi):
    """Fill each document's expected topic counts (n, K), and what not knowing the words' topics takes (n, K, K).

    Same as, for each document and on and below the diagonal::

        phi = theta * beta_T[words]                       # (n_d, K), words that no topic has left out
        phi /= phi.sum(1)[:, None]
        expected[:] = counts @ phi
        ambiguous[:] = diag(counts @ phi) - phi.T @ (counts[:, None] * phi)

    The argument `phi` (K,) is scratch.
    """
    n, K = theta.shape
    for d in range(n):
        expected[d, :] = 0.0
        ambiguous[d, :, :] = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            w, c = words[j], counts[j]
            total = 0.0
            for k in range(K):
                phi[k] = theta[d, k] * beta_T[w, k]
                total += phi[k]
            if total <= 0.0:
                continue
            for k in range(K):
                phi[k] /= total
                expected[d, k] += c * phi[k]
                ambiguous[d, k, k] += c * phi[k]
            for k in range(K):
                for other in range(k + 1):
                    ambiguous[d, k, other] -= c * phi[k] * phi[other]

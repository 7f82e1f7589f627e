"""Logits of documents to contrasts and back, in time linear in the number of topics: Helmert's are running sums."""

from gptm._hot.compile_options import loop


@loop()
def to_contrast_rows(eta, lengths, U):
    """Fill U (n, K - 1) with eta H of logits (n, K), H as in `inference.contrasts`.

    `lengths` (K - 1,) are 1 / sqrt(j (j + 1)), j = 1, 2, ...
    """
    for d in range(eta.shape[0]):
        running = 0.0
        for j in range(U.shape[1]):
            running += eta[d, j]
            U[d, j] = (running - (j + 1.0) * eta[d, j + 1]) * lengths[j]


@loop()
def to_topic_rows(U, shift, lengths, eta):
    """Fill eta (n, K) with (U + shift) H' of contrasts (n, K - 1)."""
    p = U.shape[1]
    for d in range(U.shape[0]):
        running = 0.0
        for i in range(p, 0, -1):
            x = (U[d, i - 1] + shift[i - 1]) * lengths[i - 1]
            eta[d, i] = running - i * x
            running += x
        eta[d, 0] = running

"""The fit: from a problem and a start to a fitted model.

A `FitProblem` holds what stays fixed: the words, the kernel, and what is to be learnt. `sampling` draws from the
posterior and is the default, `em` is variational EM and the paper's inference, `blocks` samples over documents that
are not all in memory. `kernel_evidence` learns parameters of the kernel for all of them, and `contrasts` has the
algebra of logits up to a shift. Begin with `problem`, then `sampling/sweeps`.
"""

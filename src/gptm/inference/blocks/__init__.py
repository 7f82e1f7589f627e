"""The sampler over blocks of documents, of which only one need be in memory, or each on a machine of its own.

`block_documents` sweeps over one block: a pure function of the block, its state and the values that all blocks share.
`blocked_sweep` does that for all blocks and adds up their `sums` in a fixed order, so that the result does not depend
on who did which. `local_blocks` keeps states in files on this machine, the modules named `dask_...` on the workers of a
cluster. Begin with `run_blocks`, then `blocked_sweep`.
"""

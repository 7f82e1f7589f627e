"""What users do to the topics of a fit: name, merge, drop, reorder, split. Functions from `Fitted` to `Fitted`.

The topics of a fit stay as inference found them: an `Origin` says which of them each topic is the sum of, and `regroup`
adds them up. `merged_moments` has what merging does to the parameters. Only `split` makes a new fit. Begin with
`topic_edits`.
"""

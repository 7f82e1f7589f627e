"""What side information does to the topics, with bands.

Effects of terms of the kernel: `effect_tables` has the tables, and an `Explanation` takes draws apart into terms.
Effects of any columns, after the fit: `estimation` regresses shares on the columns of a formula (`formula_design`), and
`EstimatedEffects` answers. `bands` says how wide a band must be that comes from few draws. Begin with `effect_tables`.
"""

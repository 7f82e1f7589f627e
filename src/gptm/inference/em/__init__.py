"""Expectation maximisation, variational or the paper's; one file for each kind of step.

`loop` lists the steps, none of which lowers the bound in `lower_bound`. `run_em` goes from a start to a `Fitted`. Begin
with `loop`.
"""

"""A Gibbs sampler for the logistic-normal topic model; one file for each step of a sweep.

`sweeps` lists the steps. Each is a function of the problem, a `ChainState` and random numbers to the next state.
`chains` runs sweeps in stages until enough draws are independent (`convergence`, `diagnostics`), `kept` holds the draws
that count, and `run_sampler` turns them into a `Fitted`. Begin with `sweeps`.
"""

"""What every room uses, and what knows nothing about topic models.

`errors` has messages whose arguments the command line writes as options, and `validation` the checks of parameters.
`parallel` runs threads such that results do not depend on their number, and `progress` is what long loops report to.
Begin with `errors`.
"""

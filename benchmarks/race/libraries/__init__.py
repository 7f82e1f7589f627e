"""How each library is driven: a module with `PACKAGE`, `WARMS_UP` and `fit(task)`, which returns an `Outcome`.

`WARMS_UP` says whether a first fit compiles something, which does not count. Settings are the library's defaults, or
better ones where its documentation names them.
"""

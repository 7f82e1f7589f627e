"""The experiments of Agovic & Banerjee (2010), section 4, run again: `gptm reproduce`.

An experiment is a module with `jobs(settings)`, the small pieces of its work, and `present(results, out, settings)`,
which writes its tables and figures and says which claims hold (`experiments` lists them). `data` reads the documents,
`running` does the jobs and keeps their results in a `store`, `page` puts the sections together. What the paper
reports is in `paper`.
"""

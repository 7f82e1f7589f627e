"""The experiments of section 4 of Agovic & Banerjee (2010), run again: `python -m experiments`.

An experiment is a module with `jobs(settings)`, the small pieces of its work, and `present(results, out, settings)`,
which writes its tables and figures and says which claims hold. `catalogue` lists the experiments, `data` reads the
documents, `running` does the jobs, `reproduce` does all of it and `page` puts the sections together. Results are kept
in a `job_store.Store`, under `fingerprints` of what they depend on. What the paper reports is in `paper`.
"""

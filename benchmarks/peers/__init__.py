"""gptm beside tomotopy, topica, scikit-learn, gensim and R's stm: the same counts, the same split, the same scorer.

    python -m benchmarks.peers                                              # everything that is not measured yet
    python -m benchmarks.peers --quick                                      # two small cases, one seed
    python -m benchmarks.peers --cases quarter-20 --seeds 1 --only gptm,tomotopy --again
    python -m benchmarks.peers --report                                     # tables and pictures of what is there

`cases` says what is run, `fit` is the process in which a library fits, `running` starts it and keeps what it finds,
`scoring` is the common score, `inside` looks into gptm alone, `summary`, `tables` and `drawing` tell the result.
"""

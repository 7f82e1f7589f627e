"""gptm against the libraries that its users weigh today, each on its own track.

A *track* is a question: are held-out words predicted, are effects right, do topics read well and sort documents? A
*library* is a module in `libraries/`. Each fit is a process of its own in an environment of its own, libraries take
turns within one run, and one scorer scores them all. What is measured already is not measured again. Usage:

    python -m benchmarks.race words --data FOLDER              # stm's protocol on poliblog5k
    python -m benchmarks.race new_words --data FOLDER          # new documents, 50, 20 and 5 % of their words seen
    python -m benchmarks.race effects                          # simulated corpora, where the truth is known
    python -m benchmarks.race topics --data FOLDER             # coherence, diversity, clusters
    python -m benchmarks.race topics --data FOLDER --only gptm,tomotopy --seeds 1
    python -m benchmarks.race --report                         # tables of what is measured
"""

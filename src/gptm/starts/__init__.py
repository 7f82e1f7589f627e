"""Where chains and EM begin: LDA runs, anchor words, topics that users give.

`start` lets short LDA runs (`lda`) compete and continues the best. `seed_words` and `leading` are for topics that users
or the kernel know something about, `resume` for a fit that goes on from an earlier one. Begin with `start`.
"""

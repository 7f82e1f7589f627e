"""Models that go on learning: batches of documents join, words and topics are added, old documents fade.

The documents of a model's past are partly in memory (`staying_documents`), partly sums (`past_documents`). An update is
a short chain over the former and a batch, given the latter. Begin with `going_on`, then `one_update`.
"""

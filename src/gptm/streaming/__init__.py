"""Models that go on learning: batches of documents join, words and topics are added, old documents fade."""

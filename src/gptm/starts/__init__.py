"""Where chains and EM begin: LDA runs, anchor words, topics that users give."""

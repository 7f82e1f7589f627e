"""The sampler over blocks of documents, of which only one need be in memory, or each on a machine of its own."""

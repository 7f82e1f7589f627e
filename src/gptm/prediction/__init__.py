"""Documents that the model has not seen: their topics, and new ones drawn from it."""

"""Topics of new documents, and documents drawn from the model."""

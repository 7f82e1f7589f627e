"""What users do to the topics of a fit: name, merge, drop, reorder, split. Functions from `Fitted` to `Fitted`."""

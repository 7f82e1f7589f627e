"""The fit: from a problem and a start to a fitted model, by sampling, by variational EM, or by the paper's EM."""

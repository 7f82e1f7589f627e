"""A Gibbs sampler for the logistic-normal topic model; one file for each step of a sweep."""

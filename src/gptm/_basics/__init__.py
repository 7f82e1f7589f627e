"""What every room uses: checks, warnings, threads, files that appear as a whole. Knows nothing of topic models."""

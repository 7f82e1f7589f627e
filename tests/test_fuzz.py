"""Odd inputs and damaged files drawn by chance: `fuzz_inputs.py` and `fuzz_readers.py` say what may become of them."""

from collections import Counter

import pytest

import fuzz_readers
from fuzz_inputs import ROUND, run_cases


@pytest.mark.parametrize("first_seed", range(5))
def test_odd_inputs_end_in_a_sound_result_or_a_helpful_error(first_seed):
    outcomes = Counter()
    run_cases(first_seed, ROUND, outcomes)
    assert outcomes["fit: result"] > ROUND / 3  # most cases are no mere errors


def test_damaged_files_end_in_a_corpus_or_a_helpful_error():
    outcomes = Counter()
    fuzz_readers.run_cases(0, 2 * ROUND, outcomes)
    assert outcomes["corpus"] > ROUND / 5  # damage leaves some files readable

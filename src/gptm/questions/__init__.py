"""Questions to a fitted model about columns that it did not see: one file per public function."""

from gptm.questions.over_time import topics_over_time
from gptm.questions.split_sample import SplitSampleEffects, split_sample_effects

__all__ = ["SplitSampleEffects", "split_sample_effects", "topics_over_time"]

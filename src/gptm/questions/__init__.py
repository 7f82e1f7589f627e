"""Questions to a fitted model about columns that it did not see: one file per public function.

Both functions ask `estimate_effects`: `topics_over_time` for a curve or bins of dates, `split_sample_effects` for the
effect of a treatment on documents that the topics were not learnt from. Begin with `over_time`.
"""

from gptm.questions.over_time import topics_over_time
from gptm.questions.split_sample import SplitSampleEffects, split_sample_effects

__all__ = ["SplitSampleEffects", "split_sample_effects", "topics_over_time"]

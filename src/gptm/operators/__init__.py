"""How to multiply and solve with a kernel over documents; nothing here knows of text.

An operator stands for the (D, D) matrix of one kernel over the training documents, a `Cross` for what that
kernel says of new documents. A new one is a new file here and a row in the contract test.
"""

from gptm.operators.base import Cross, Operator
from gptm.operators.cross import SpectralCross
from gptm.operators.lowrank import LowRank
from gptm.operators.spectral import Spectral

__all__ = ["Cross", "LowRank", "Operator", "Spectral", "SpectralCross"]

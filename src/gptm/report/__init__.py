"""A fitted model as one HTML page that works offline: topics, documents, correlations, effects, search.

`data` collects what the page shows, `page` writes it; the look and the behaviour are in `assets/`. The page draws with
SVG and canvas and needs no plotting library: it stays small, follows the reader's dark mode and prints as text.
"""

from gptm.report.data import report_data
from gptm.report.page import model_report, write_report

__all__ = ["model_report", "report_data", "write_report"]

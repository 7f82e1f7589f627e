"""A fitted model as one HTML page that works offline: topics, documents, correlations, effects, search.

`page_data` collects what the page shows, `page` writes it, `bundle` joins its scripts. The look and the
behaviour are in `assets/`, the scripts as ES modules. The page draws with SVG and canvas and needs no
plotting library: it stays small, follows the reader's dark mode and prints as text.
"""

from gptm.report.page import model_report, write_report
from gptm.report.page_data import report_data

__all__ = ["model_report", "report_data", "write_report"]

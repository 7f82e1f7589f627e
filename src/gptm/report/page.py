"""The page itself: data packed into one HTML file with its own styles and script, and nothing from elsewhere."""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from gptm._basics.atomic_files import replace_file
from gptm.model import GPTM
from gptm.report.bundle import bundle
from gptm.report.page_data import report_data

_STYLE = "page.css"
_ENTRY = "page.js"  # the module where the page begins


def model_report(
    model: GPTM,
    path: str | os.PathLike[str],
    *,
    corpus: Any = None,
    texts: Sequence[str] | None = None,
    title: str | None = None,
    scores: Any = None,
    json_path: str | os.PathLike[str] | None = None,
    max_documents: int | None = None,
    verbose: int | bool = False,
) -> Path:
    """Write a fitted model as one HTML page that needs neither a server nor a network.

    The page shows topics with their words and typical documents, a map of the documents, correlations of topics and
    effects of the metadata, and it can be searched. A topic that is chosen in one chart is highlighted in all.

    Parameters
    ----------
    model : fitted GPTM or CTM
    path : str or path
        Where to write the page.
    corpus : Corpus, optional
        The training corpus. The model does not keep it; the page takes texts, ids and metadata from it.
    texts : sequence of str, optional
        The training texts, if the corpus does not have them. The page shows the beginning of each.
    title : str, optional
    scores : Comparison, DataFrame or dict, optional
        Perplexities of held-out words, lower is better: what `gptm.compare` returns, one row per model and one column
        per share of the words seen, or a dict such as `{"CTM": {0.5: 2106.0}, "GPTM": {0.5: 2035.0}}`.
    json_path : str or path, optional
        Where to write the data of the page as JSON, for your own charts.
    max_documents : int, optional
        Maximum number of documents on the page, 100,000 by default. If there are more, the page shows a seeded
        sample of them. All other numbers are about all documents.
    verbose : int or bool, default=False
        Print a line about each step. Effects take longest: a model that was fitted by EM runs a chain for them first.

    Returns
    -------
    Path
        Path of the page.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gptm import CTM, Corpus
    >>> from gptm.report import model_report
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> model = CTM(n_components=2, random_state=0).fit(corpus)
    >>> with TemporaryDirectory() as folder:
    ...     page = model_report(model, Path(folder) / "report.html", corpus=corpus, title="Hot drinks")
    ...     "<title>Hot drinks</title>" in page.read_text(encoding="utf-8")
    True
    """
    data = report_data(
        model,
        corpus=corpus,
        texts=texts,
        title=title,
        scores=scores,
        max_documents=max_documents,
        verbose=verbose,
    )
    return write_report(data, path, json_path=json_path)


def write_report(
    data: Mapping[str, Any],
    path: str | os.PathLike[str],
    *,
    json_path: str | os.PathLike[str] | None = None,
) -> Path:
    """Write what `report_data` returns as a page and, if `json_path` is given, as JSON.

    Parameters
    ----------
    data : dict
        From `report_data`. You may change it first, for example the labels of topics.
    path : str or path
    json_path : str or path, optional

    Returns
    -------
    Path
        Path of the page. Files are replaced as a whole or not at all.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from gptm import CTM, Corpus
    >>> from gptm.report import report_data, write_report
    >>> corpus = Corpus.from_texts(["green tea, tea", "coffee beans, coffee"] * 5)
    >>> data = report_data(CTM(n_components=2, random_state=0).fit(corpus), corpus=corpus)
    >>> data["topics"][0]["label"] = "first drink"
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(data, Path(folder) / "report.html")
    ...     "first drink" in page.read_text(encoding="utf-8")
    True
    """
    page = render_page(data)
    if json_path is not None:
        write_data(data, json_path)
    return _write(Path(path), page)


def write_data(data: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write what `report_data` returns as JSON."""
    return _write(Path(path), _as_json(data))


def render_page(data: Mapping[str, Any]) -> str:
    """The page as text."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    style = _asset(_STYLE)
    script = bundle(_ENTRY, _scripts())
    if re.search(r"</(script|style)", style + script, re.IGNORECASE):
        raise AssertionError("an asset would end its own element")
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2").render(
        data=data,
        by_share=sorted(data["topics"], key=lambda topic: -topic["share"]),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        packed=_packed(data),
    )


def _asset(name: str) -> str:
    return _assets().joinpath(name).read_text(encoding="utf-8")


def _scripts() -> dict[str, str]:
    """The modules of the page's script by their names."""
    files = _assets().joinpath("scripts").iterdir()
    return {file.name: file.read_text(encoding="utf-8") for file in files}


def _assets() -> Traversable:
    return resources.files("gptm.report").joinpath("assets")


def _hash(text: str) -> str:
    """What a content security policy calls an inline element by: nothing else may run on the page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _as_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _packed(data: Mapping[str, Any]) -> str:
    """JSON in letters, digits, + and /: small, and no text in it can be taken for HTML."""
    squeezed = gzip.compress(_as_json(data).encode(), compresslevel=9, mtime=0)
    return base64.b64encode(squeezed).decode()


def _write(path: Path, text: str) -> Path:
    replace_file(path, text.encode())
    return path

"""Small pieces of HTML for notebooks. Every text is escaped here, and nowhere else."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

# Colours come from the notebook, so that dark themes work.
_STYLE = """
.gptm-card{font-family:system-ui,sans-serif;font-size:13px;line-height:1.4;max-width:62em;
border:1px solid rgba(128,128,128,.35);border-radius:8px;padding:.7em 1em;overflow-x:auto}
.gptm-card h4{margin:0 0 .3em;font-size:1.1em}
.gptm-card dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em;margin:.2em 0 .6em}
.gptm-card dt{opacity:.65}.gptm-card dd{margin:0;overflow-wrap:anywhere}
.gptm-card table{border-collapse:collapse;margin:.2em 0;width:100%;font-size:13px;color:inherit}
.gptm-card th{text-align:left;font-weight:600;border-bottom:1px solid rgba(128,128,128,.35)}
.gptm-card td,.gptm-card th{padding:.15em .9em .15em 0;vertical-align:top;background:none}
.gptm-card td.n,.gptm-card th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.gptm-card td.t{text-align:left;overflow-wrap:break-word}
.gptm-card .s{white-space:nowrap}
.gptm-card .b{display:inline-block;height:.7em;background:#4a7fb5;border-radius:2px;vertical-align:baseline}
.gptm-card p{margin:.4em 0 0;opacity:.75}
""".replace("\n", "")


class Bar(NamedTuple):
    """A number with a bar beside it, `size` between 0 and 1."""

    text: str
    size: float


class Strong(NamedTuple):
    """A text that stands out."""

    text: str


HtmlCell = str | Bar | Strong


def card(
    title: str,
    facts: Sequence[tuple[str, str]] = (),
    table: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A box with a title, facts by name, a table from `html_table`, and notes below it.

    Examples
    --------
    >>> "<b>" in card("a <b> title", [("words", "<b>")], notes=["<b>"])
    False
    """
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<style>{_STYLE}</style><div class='gptm-card'>{f'<h4>{escape(title)}</h4>' if title else ''}"
        f"{f'<dl>{listed}</dl>' if listed else ''}{table}{below}</div>"
    )


def html_table(
    header: Sequence[str], rows: Sequence[Sequence[HtmlCell]], numbers: Sequence[int] = ()
) -> str:
    """A table; the columns at the positions `numbers` are aligned to the right.

    Examples
    --------
    >>> html_table(["x"], [["<script>"]]).count("<script>")
    0
    """
    kinds = ["n" if i in numbers else "t" for i in range(len(header))]
    heads = "".join(
        f"<th class='{k}'>{escape(name)}</th>" for k, name in zip(kinds, header, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td class='{k}'>{_written(cell)}</td>" for k, cell in zip(kinds, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _written(cell: HtmlCell) -> str:
    if isinstance(cell, Bar):
        width = 6 * min(max(cell.size, 0.0), 1.0)
        bar = f"<span class='b' style='width:{width:.2f}em'></span>"
        return f"<span class='s'>{escape(cell.text)} {bar}</span>"
    if isinstance(cell, Strong):
        return f"<b>{escape(cell.text)}</b>"
    return escape(cell)

"""How results look in a terminal and in a notebook: short, aligned, and safe to show.

Tables that users get are DataFrames that print themselves: `ShownTable`, `TopicTable` and `EffectsTable`. HTML is
written and escaped in `html_card` and nowhere else; `text_lines` cuts and aligns text. Begin with `shown_table`.
"""

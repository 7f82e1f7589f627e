"""How results look in a terminal and in a notebook: short, aligned, and safe to show."""

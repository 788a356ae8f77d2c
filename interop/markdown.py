"""Tables in Markdown, which are readable on a terminal too."""


def markdown(head, rows):
    rows = [head, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    rule = "|".join(["", *("-" * (width + 2) for width in widths), ""])
    line = lambda row: "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
    return "\n".join([line(rows[0]), rule, *map(line, rows[1:])])

"""Figures of what a run left on disk, for pages, files and notebooks.

```python
chart = cobre.report.draw("output", "storage", hydro="Lake")
cobre.report.save(chart, "lake.png")
```
"""

from cobre.report._draw import FIGURES, available, caption, draw, figure, rows, save, spec, svg
from cobre.report._figure import Figure
from cobre.report._page import html, write
from cobre.report._reading import reading
from cobre.report._source import Source

__all__ = [
    "FIGURES",
    "Figure",
    "Source",
    "available",
    "caption",
    "draw",
    "figure",
    "html",
    "reading",
    "rows",
    "save",
    "spec",
    "svg",
    "write",
]

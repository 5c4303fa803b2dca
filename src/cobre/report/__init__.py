"""Figures and summaries of results on disk, for report pages, files and notebooks.

```python
chart = cobre.report.draw("output", "storage", hydro="Lake")
cobre.report.save(chart, "lake.png")
```
"""

from cobre.report._about import workers_line
from cobre.report._changes import Change
from cobre.report._compare import BoundsComparison, Comparison, compare
from cobre.report._compare_policies import NodeComparison, PolicyComparison
from cobre.report._compare_simulations import CostsComparison, MeanDifference
from cobre.report._components import cost_label
from cobre.report._draw import FIGURES, available, caption, draw, figure, rows, save, spec, svg
from cobre.report._figure import Figure
from cobre.report._page import html, write
from cobre.report._reading import reading
from cobre.report._solved import facts as facts_of_solved
from cobre.report._solved import lines as reading_of_solved
from cobre.report._source import Source
from cobre.report._summary import (
    DeficitSummary,
    SimulationSummary,
    StorageSummary,
    Summary,
    TrainingSummary,
    WorkerLoad,
    summary,
)

__all__ = [
    "FIGURES",
    "BoundsComparison",
    "Change",
    "Comparison",
    "CostsComparison",
    "DeficitSummary",
    "Figure",
    "MeanDifference",
    "NodeComparison",
    "PolicyComparison",
    "SimulationSummary",
    "Source",
    "StorageSummary",
    "Summary",
    "TrainingSummary",
    "WorkerLoad",
    "available",
    "caption",
    "compare",
    "cost_label",
    "draw",
    "facts_of_solved",
    "figure",
    "html",
    "reading",
    "reading_of_solved",
    "rows",
    "save",
    "spec",
    "summary",
    "svg",
    "workers_line",
    "write",
]

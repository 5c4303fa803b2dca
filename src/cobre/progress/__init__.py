"""Progress of a run for people and programs: listeners that show or record the engine's events.

```python
from cobre.progress import ProgressBar

with ProgressBar() as progress:
    cobre.run("my_case", listeners=[progress])
```

The same views serve the command, scripts and notebooks. `cobre.sddp` emits events and knows no views.
"""

from cobre.progress._listeners import JsonLines, LiveTable, ProgressBar
from cobre.progress._state import ProgressState, describe_guard

__all__ = ["JsonLines", "LiveTable", "ProgressBar", "ProgressState", "describe_guard"]

"""Writing a case folder of Python dicts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Files = dict[str, Any]


def write(folder: Path, files: Files) -> Path:
    """Write dicts as JSON, dicts of columns as Parquet, and text and bytes as they are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        elif name.endswith(".json"):
            path.write_text(json.dumps(content))
        else:
            pq.write_table(table(content), path)
    return folder


def table(columns: dict[str, Any]) -> pa.Table:
    """A table with the types that the format wants."""
    unsigned = {"opening_index", "entity_index"}
    arrays = {}
    for name, values in columns.items():
        integers = name.endswith(("_id", "_index")) or name == "lag"
        kind = (pa.uint32() if name in unsigned else pa.int32()) if integers else pa.float64()
        dates = name == "date"
        arrays[name] = (
            pa.array(values, pa.date32() if dates else kind) if isinstance(values, list) else values
        )
    return pa.table(arrays)


def shuffled(files: Files, seed: int) -> Files:
    """The same case with all lists of entities and all rows in another order."""
    random = np.random.default_rng(seed)
    result: Files = {}
    for name, content in files.items():
        if name.endswith(".json"):
            result[name] = {
                key: list(random.permutation(np.array(value, dtype=object)))
                if isinstance(value, list)
                else value
                for key, value in content.items()
            }
        else:
            order = random.permutation(len(next(iter(content.values()))))
            result[name] = {key: [values[row] for row in order] for key, values in content.items()}
    return result

"""Files of our own encoder beside those of Arrow: the same schema, the same rows."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobre import results
from cobre.results._parquet import ParquetEncoder

COMPRESSIONS = ("zstd", "lz4", "none")


def table_of(columns, rows, seed, nulls):
    """Any numbers; in columns that may be null ``nulls`` says where."""
    draws = np.random.default_rng(seed)
    arrays = []
    for field in results.schema_of(columns):
        values = draws.integers(-100, 100, rows) / (3 if field.type == pa.float64() else 1)
        values = values > 0 if field.type == pa.bool_() else values
        missing = nulls(np.arange(rows)) if field.nullable else np.zeros(rows, bool)
        arrays.append(pa.array(values, mask=missing).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=results.schema_of(columns))


def by_arrow(table, compression):
    buffer = io.BytesIO()
    options = {"use_dictionary": False, "write_statistics": False, "store_schema": False, "version": "2.6"}
    pq.write_table(table, buffer, compression=compression, **options)
    return buffer


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", list(results.SIMULATION))
def test_every_table_reads_as_if_arrow_had_written_it(name, compression):
    table = table_of(results.SIMULATION[name], 150, seed=1, nulls=lambda row: row % 7 == 3)
    starts, ends = [0, 70, 70, 99], [70, 70, 99, 150]  # one of them is empty
    encoder = ParquetEncoder(table.schema, compression)
    for start, end, content in zip(starts, ends, encoder.files(table, starts, ends), strict=True):
        part = table.slice(start, end - start)
        ours, arrows = pq.ParquetFile(io.BytesIO(content)), pq.ParquetFile(by_arrow(part, compression))
        assert ours.schema.equals(arrows.schema)
        assert ours.schema_arrow.equals(arrows.schema_arrow)
        assert ours.metadata.num_rows == end - start
        ours.read().validate(full=True)
        assert ours.read().equals(part)


@pytest.mark.parametrize(
    "nulls",
    [
        lambda row: row < 0,
        lambda row: row >= 0,
        lambda row: row == 40,
        lambda row: row != 40,
        lambda row: row % 2 == 0,
        lambda row: row < 33,
    ],
    ids=["none", "all", "one", "all but one", "every other", "the first ones"],
)
@pytest.mark.parametrize("rows", [1, 7, 8, 9, 41, 2000])
def test_nulls(nulls, rows):
    table = table_of(results.SIMULATION["hydros"], rows, seed=2, nulls=nulls)
    (content,) = ParquetEncoder(table.schema, "zstd").files(table, [0], [rows])
    assert pq.read_table(io.BytesIO(content)).equals(table)


@pytest.mark.parametrize("value", [-0.0, np.inf, -np.inf, 5e-324, np.nan])
def test_every_bit_of_a_number(value):
    schema = pa.schema([pa.field("x", pa.float64(), nullable=False)])
    table = pa.Table.from_arrays([pa.array([1.5, value, -1.5])], schema=schema)
    (content,) = ParquetEncoder(schema, "zstd").files(table, [0], [3])
    assert pq.read_table(io.BytesIO(content))["x"].to_numpy().tobytes() == table["x"].to_numpy().tobytes()


def test_a_file_depends_on_its_own_rows_alone():
    """Not on the files that the encoder has made before, nor on the rows around its own."""
    columns = results.SIMULATION["hydros"]
    table = table_of(columns, 300, seed=3, nulls=lambda row: row % 3 == 0)
    repeated = pa.concat_tables([table.slice(0, 100), table.slice(0, 100), table])
    starts, ends = [0, 100, 200, 200, 450, 0], [100, 200, 300, 500, 500, 100]
    files = list(ParquetEncoder(table.schema, "zstd").files(repeated, starts, ends))
    for start, end, content in zip(starts, ends, files, strict=True):
        alone = pa.Table.from_batches(repeated.slice(start, end - start).combine_chunks().to_batches())
        assert list(ParquetEncoder(table.schema, "zstd").files(alone, [0], [end - start])) == [content]
    assert files[0] == files[1] == files[2] == files[5]


def test_pages_are_compressed_where_that_pays():
    table = table_of(results.SIMULATION["buses"], 1000, seed=4, nulls=lambda row: row < 0)
    (large, small) = ParquetEncoder(table.schema, "zstd").files(table, [0, 0], [1000, 30])
    for content, codec in ((large, "ZSTD"), (small, "UNCOMPRESSED")):
        group = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
        assert {group.column(i).compression for i in range(group.num_columns)} == {codec}
    assert len(large) < 1.1 * by_arrow(table, "zstd").tell()


def test_files_of_many_columns():
    """Lists of fifteen and more are encoded otherwise."""
    for count in (1, 14, 15, 16, 300):
        schema = pa.schema([pa.field(f"column {i}", pa.int32(), nullable=False) for i in range(count)])
        table = pa.Table.from_arrays([pa.array([i, -i], pa.int32()) for i in range(count)], schema=schema)
        (content,) = ParquetEncoder(schema, "none").files(table, [0], [2])
        assert pq.read_table(io.BytesIO(content)).equals(table)

"""Random raw records, and tables read back as they were written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.store.postcards import POSTCARDS
from nashbed.controlplane.store.tables import TABLES
from numpy.typing import NDArray

ROWS = 1000


def random_records(record: np.dtype[Any], rows: int = ROWS, seed: int = 1) -> NDArray[Any]:
    """Records whose every bit is random."""
    return np.frombuffer(np.random.default_rng(seed).bytes(rows * record.itemsize), record).copy()


def read_back(folder: Path, table: str) -> dict[str, list[Any]]:
    """The columns of a written table, which has the schema of TABLES.

    Those of several queues may not be there.
    """
    written = pq.read_table(folder / f"{table}.parquet")
    several = POSTCARDS.queues if table == POSTCARDS.name else ()
    found = [f for f in TABLES[table] if f.name not in several or f.name in written.column_names]
    assert written.schema.equals(pa.schema(found))
    return written.to_pydict()

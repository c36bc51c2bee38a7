"""What each column is: said of those that there are, and of no others."""

from nashbed.controlplane.store.columns import MEANINGS, ROWS
from nashbed.controlplane.store.tables import TABLES


def test_every_column_has_a_meaning() -> None:
    assert list(ROWS) == list(TABLES)
    assert {name: list(columns) for name, columns in MEANINGS.items()} == {
        name: schema.names for name, schema in TABLES.items()
    }
    assert all(len(meaning) > 3 for columns in MEANINGS.values() for meaning in columns.values())

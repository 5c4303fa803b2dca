"""Names and codes of buses, and how figures show them."""

SINGULAR = "bus"
PLURAL = "buses"
NAME = "bus"
KEY = "buses"
ENTITY_CODE = 2
IN_METADATA = True
FILE = "system/buses.json"
TABLE = "buses"
ID_COLUMN = "bus_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = (
    (4, "deficit_mwh", 1, "deficit", 4),
    (5, "excess_mwh", -1, "excess", 6),
)

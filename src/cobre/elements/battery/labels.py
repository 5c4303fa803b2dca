"""Names and codes of batteries, and how figures show them."""

SINGULAR = "battery"
PLURAL = "batteries"
NAME = "battery"
KEY = "batteries"
ENTITY_CODE = 6
IN_METADATA = False
FILE = "system/batteries.json"
TABLE = "batteries"
ID_COLUMN = "battery_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = (
    (8, "discharge_mw", 1, "battery discharge", 3),
    (9, "charge_mw", -1, "battery charge", 6),
)

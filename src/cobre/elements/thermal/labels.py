"""Names and codes of thermal plants, and how figures show them."""

SINGULAR = "thermal plant"
PLURAL = "thermal plants"
NAME = "thermal"
KEY = "thermals"
ENTITY_CODE = 1
IN_METADATA = True
FILE = "system/thermals.json"
TABLE = "thermals"
ID_COLUMN = "thermal_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((2, "generation_mwh", 1, "thermal", 1),)

"""Names and codes of lines, and how figures show them."""

SINGULAR = "line"
PLURAL = "lines"
NAME = "line"
KEY = "lines"
ENTITY_CODE = 3
IN_METADATA = True
FILE = "system/lines.json"
TABLE = "exchanges"
ID_COLUMN = "line_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((7, "losses_mwh", -1, "losses", 7),)

"""Names and codes of hydro plants, and how figures show them."""

SINGULAR = "hydro plant"
PLURAL = "hydro plants"
NAME = "hydro"
KEY = "hydros"
ENTITY_CODE = 0
IN_METADATA = True
FILE = "system/hydros.json"
TABLE = "hydros"
ID_COLUMN = "hydro_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((1, "generation_mwh", 1, "hydro", 0),)

"""Names and codes of non-controllable sources, and how figures show them."""

SINGULAR = "non-controllable source"
PLURAL = "non-controllable sources"
NAME = "non_controllable"
KEY = "sources"
ENTITY_CODE = 7
IN_METADATA = False
FILE = "system/non_controllable_sources.json"
TABLE = "non_controllables"
ID_COLUMN = "non_controllable_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((0, "generation_mwh", 1, "non-controllable", 2),)

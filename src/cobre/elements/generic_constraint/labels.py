"""Names and codes of generic constraints, and how figures show them."""

SINGULAR = "generic constraint"
PLURAL = "generic constraints"
NAME = "generic_constraint"
KEY = "constraints"
ENTITY_CODE = None
IN_METADATA = False
FILE = "constraints/generic_constraints.json"
TABLE = None
ID_COLUMN = "constraint_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ()

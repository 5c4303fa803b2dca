"""Names and codes of contracts, and how figures show them."""

SINGULAR = "contract"
PLURAL = "contracts"
NAME = "contract"
KEY = "contracts"
ENTITY_CODE = 5
IN_METADATA = False
FILE = "system/energy_contracts.json"
TABLE = "contracts"
ID_COLUMN = "contract_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((3, "energy_mwh", 1, "contracts", 3),)

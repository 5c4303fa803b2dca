"""Names and codes of pumping stations, and how figures show them."""

SINGULAR = "pumping station"
PLURAL = "pumping stations"
NAME = "pumping_station"
KEY = "pumping"
ENTITY_CODE = 4
IN_METADATA = False
FILE = "system/pumping_stations.json"
TABLE = "pumping_stations"
ID_COLUMN = "pumping_station_id"
#: Parts of the power balance in figures: place in the stack, column, sign, label, colour of the theme.
POWER_BALANCE = ((6, "energy_consumption_mwh", -1, "pumping", 6),)

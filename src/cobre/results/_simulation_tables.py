"""The tables of a simulation, column by column.

Names, types and order are those of Cobre's output format 2.0.
"""

from __future__ import annotations

from cobre.results._columns import Column, given

STAGE = Column("stage_id", "int32", "id", "number of the stage, from 0")
BLOCK = Column("block_id", "int32", "id", "number of the block, from 0; null for the whole stage", True)
STATE = Column(
    "operative_state_code", "int8", "code", "whether it is out of service, works, or is at its limit"
)


def _entity(name: str, what: str) -> tuple[Column, ...]:
    return (STAGE, BLOCK, Column(name, "int32", "id", f"id of the {what}"))


COSTS = (
    STAGE,
    BLOCK,
    *given(
        "$",
        ("total_cost", "cost of the stage, and of what follows it as the policy sees it"),
        ("immediate_cost", "cost of the stage, not discounted"),
        ("future_cost", "value of what follows, discounted to the stage"),
    ),
    Column("discount_factor", "float64", "1", "what a cost of this stage counts for at the beginning"),
    *given(
        "$",
        ("thermal_cost", "fuel"),
        ("contract_cost", "power bought; negative for power sold"),
        ("deficit_cost", "load that goes unserved"),
        ("excess_cost", "power that nobody takes"),
        ("storage_violation_cost", "volumes below the least"),
        ("filling_target_cost", "volumes below what a filling should reach"),
        ("hydro_violation_cost", "sum of the six that follow"),
        ("outflow_violation_below_cost", "outflows below the least"),
        ("outflow_violation_above_cost", "outflows above the most"),
        ("turbined_violation_cost", "turbined flows below the least"),
        ("generation_violation_cost", "generation of plants below the least"),
        ("evaporation_violation_cost", "evaporation that differs from the model's"),
        ("withdrawal_violation_cost", "withdrawals that differ from what is due"),
        ("inflow_penalty_cost", "water added to negative inflows"),
        ("generic_violation_cost", "constraints of the user's that are missed"),
        ("spillage_cost", "water that is spilled or diverted"),
        ("fpha_turbined_cost", "turbined flow of plants whose production is a function of planes"),
        ("curtailment_cost", "power that sources could give and do not"),
        ("exchange_cost", "power that is sent over lines"),
        ("pumping_cost", "pumping itself; its power is paid for elsewhere"),
    ),
)

HYDROS = (
    *_entity("hydro_id", "plant"),
    *given(
        "m³/s",
        ("turbined_m3s", "turbined flow"),
        ("spillage_m3s", "spilled flow"),
        ("outflow_m3s", "turbined and spilled flow"),
    ),
    Column("evaporation_m3s", "float64", "m³/s", "what evaporates; null if that is not modelled", True),
    Column("diverted_inflow_m3s", "float64", "m³/s", "what other plants divert here; null if none can", True),
    Column("diverted_outflow_m3s", "float64", "m³/s", "what is diverted; null without a channel", True),
    *given(
        "m³/s",
        ("incremental_inflow_m3s", "natural inflow, before water is added to a negative one"),
        ("inflow_m3s", "all that arrives: natural, from upstream, diverted and pumped"),
    ),
    *given(
        "hm³",
        ("storage_initial_hm3", "volume at the beginning of the stage, or of a block in a chronological one"),
        ("storage_final_hm3", "volume at its end"),
    ),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    Column(
        "productivity_mw_per_m3s", "float64", "MW/(m³/s)", "productivity; null if it is not constant", True
    ),
    *given("$", ("spillage_cost", "cost of what is spilled")),
    *given("$/hm³", ("water_value_per_hm3", "what one more hm³ in the reservoir would save")),
    Column("storage_binding_code", "int8", "code", "which of its limits the final volume is at"),
    STATE,
    *given(
        "m³/s",
        ("turbined_slack_m3s", "turbined flow missing to the least"),
        ("outflow_slack_below_m3s", "outflow missing to the least"),
        ("outflow_slack_above_m3s", "outflow above the most"),
    ),
    *given("MW", ("generation_slack_mw", "generation missing to the least")),
    *given(
        "hm³",
        ("storage_violation_below_hm3", "volume missing to the least"),
        ("filling_target_violation_hm3", "volume missing to what a filling should reach"),
    ),
    *given(
        "m³/s",
        ("evaporation_violation_pos_m3s", "evaporation above the model's"),
        ("evaporation_violation_neg_m3s", "evaporation below the model's"),
        ("inflow_nonnegativity_slack_m3s", "water added to a negative inflow"),
        ("water_withdrawal_violation_pos_m3s", "withdrawal above what is due"),
        ("water_withdrawal_violation_neg_m3s", "withdrawal below what is due"),
    ),
)

THERMALS = (
    *_entity("thermal_id", "plant"),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    *given("$", ("generation_cost", "fuel")),
    Column("is_gnl", "bool", "", "whether its dispatch is decided in advance; always false"),
    Column("gnl_committed_mw", "float64", "MW", "always null", True),
    Column("gnl_decision_mw", "float64", "MW", "always null", True),
    STATE,
)

EXCHANGES = (
    *_entity("line_id", "line"),
    *given(
        "MW",
        ("direct_flow_mw", "sent from the source bus"),
        ("reverse_flow_mw", "sent from the target bus"),
        ("net_flow_mw", "direct less reverse"),
    ),
    *given("MWh", ("net_flow_mwh", "energy of the net flow")),
    *given("MW", ("losses_mw", "sent, and does not arrive")),
    *given("MWh", ("losses_mwh", "energy lost")),
    *given("$", ("exchange_cost", "cost of sending")),
    STATE,
)

BUSES = (
    *_entity("bus_id", "bus"),
    *given("MW", ("load_mw", "load")),
    *given("MWh", ("load_mwh", "energy of the load")),
    *given("MW", ("deficit_mw", "load that goes unserved")),
    *given("MWh", ("deficit_mwh", "energy not served")),
    *given("MW", ("excess_mw", "power that nobody takes")),
    *given("MWh", ("excess_mwh", "energy that nobody takes")),
    *given("$/MWh", ("spot_price", "what one more MWh of load would cost")),
)

PUMPING_STATIONS = (
    *_entity("pumping_station_id", "station"),
    *given("m³/s", ("pumped_flow_m3s", "pumped flow")),
    *given("hm³", ("pumped_volume_hm3", "volume pumped in the block")),
    *given("MW", ("power_consumption_mw", "power taken")),
    *given("MWh", ("energy_consumption_mwh", "energy taken")),
    *given("$", ("pumping_cost", "cost of pumping itself, which is 0")),
    STATE,
)

CONTRACTS = (
    *_entity("contract_id", "contract"),
    *given("MW", ("power_mw", "power bought; negative for power sold")),
    *given("MWh", ("energy_mwh", "energy bought; negative for energy sold")),
    *given("$/MWh", ("price_per_mwh", "price as in the case: negative earns")),
    *given("$", ("total_cost", "what is paid; negative is earned")),
    STATE,
)

NON_CONTROLLABLES = (
    *_entity("non_controllable_id", "source"),
    *given("MW", ("generation_mw", "generation")),
    *given("MWh", ("generation_mwh", "energy generated")),
    *given("MW", ("available_mw", "what it could give")),
    *given("MW", ("curtailment_mw", "what it could give and does not")),
    *given("MWh", ("curtailment_mwh", "energy curtailed")),
    *given("$", ("curtailment_cost", "cost of what is curtailed")),
    STATE,
)

INFLOW_LAGS = (
    STAGE,
    Column("hydro_id", "int32", "id", "id of the plant"),
    Column("lag_index", "int32", "id", "how many stages ago, from 1"),
    *given("m³/s", ("inflow_m3s", "inflow of that stage")),
)

GENERIC_VIOLATIONS = (
    STAGE,
    BLOCK,
    Column("constraint_id", "int32", "id", "id of the constraint"),
    *given(
        "unit of the constraint",
        ("slack_value", "by how much it is missed; negative if an equation is exceeded"),
    ),
    *given("$", ("slack_cost", "cost of missing it")),
)

#: The tables of a simulation by the names of their folders.
SIMULATION: dict[str, tuple[Column, ...]] = {
    "costs": COSTS,
    "hydros": HYDROS,
    "thermals": THERMALS,
    "exchanges": EXCHANGES,
    "buses": BUSES,
    "pumping_stations": PUMPING_STATIONS,
    "contracts": CONTRACTS,
    "non_controllables": NON_CONTROLLABLES,
    "inflow_lags": INFLOW_LAGS,
    "violations/generic": GENERIC_VIOLATIONS,
}

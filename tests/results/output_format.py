"""Columns of Cobre's output tables, as the format has them: name, type, and a mark if they may be null."""

FORMAT = {
    "costs": """
        stage_id:int32 block_id:int32? total_cost:float64 immediate_cost:float64 future_cost:float64
        discount_factor:float64 thermal_cost:float64 contract_cost:float64 deficit_cost:float64
        excess_cost:float64 storage_violation_cost:float64 filling_target_cost:float64
        hydro_violation_cost:float64 outflow_violation_below_cost:float64
        outflow_violation_above_cost:float64 turbined_violation_cost:float64
        generation_violation_cost:float64 evaporation_violation_cost:float64
        withdrawal_violation_cost:float64 inflow_penalty_cost:float64 generic_violation_cost:float64
        spillage_cost:float64 fpha_turbined_cost:float64 curtailment_cost:float64
        exchange_cost:float64 pumping_cost:float64 battery_cost:float64
    """,
    "hydros": """
        stage_id:int32 block_id:int32? hydro_id:int32 turbined_m3s:float64 spillage_m3s:float64
        outflow_m3s:float64 evaporation_m3s:float64? diverted_inflow_m3s:float64?
        diverted_outflow_m3s:float64? incremental_inflow_m3s:float64 inflow_m3s:float64
        storage_initial_hm3:float64 storage_final_hm3:float64 generation_mw:float64
        generation_mwh:float64 productivity_mw_per_m3s:float64? spillage_cost:float64
        water_value_per_hm3:float64 storage_binding_code:int8 operative_state_code:int8
        turbined_slack_m3s:float64 outflow_slack_below_m3s:float64 outflow_slack_above_m3s:float64
        generation_slack_mw:float64 storage_violation_below_hm3:float64
        filling_target_violation_hm3:float64 evaporation_violation_pos_m3s:float64
        evaporation_violation_neg_m3s:float64 inflow_nonnegativity_slack_m3s:float64
        water_withdrawal_violation_pos_m3s:float64 water_withdrawal_violation_neg_m3s:float64
    """,
    "thermals": """
        stage_id:int32 block_id:int32? thermal_id:int32 generation_mw:float64 generation_mwh:float64
        generation_cost:float64 is_gnl:bool gnl_committed_mw:float64? gnl_decision_mw:float64?
        operative_state_code:int8
    """,
    "exchanges": """
        stage_id:int32 block_id:int32? line_id:int32 direct_flow_mw:float64 reverse_flow_mw:float64
        net_flow_mw:float64 net_flow_mwh:float64 losses_mw:float64 losses_mwh:float64
        exchange_cost:float64 operative_state_code:int8
    """,
    "buses": """
        stage_id:int32 block_id:int32? bus_id:int32 load_mw:float64 load_mwh:float64
        deficit_mw:float64 deficit_mwh:float64 excess_mw:float64 excess_mwh:float64
        spot_price:float64
    """,
    "pumping_stations": """
        stage_id:int32 block_id:int32? pumping_station_id:int32 pumped_flow_m3s:float64
        pumped_volume_hm3:float64 power_consumption_mw:float64 energy_consumption_mwh:float64
        pumping_cost:float64 operative_state_code:int8
    """,
    "contracts": """
        stage_id:int32 block_id:int32? contract_id:int32 power_mw:float64 energy_mwh:float64
        price_per_mwh:float64 total_cost:float64 operative_state_code:int8
    """,
    "non_controllables": """
        stage_id:int32 block_id:int32? non_controllable_id:int32 generation_mw:float64
        generation_mwh:float64 available_mw:float64 curtailment_mw:float64 curtailment_mwh:float64
        curtailment_cost:float64 operative_state_code:int8
    """,
    "batteries": """
        stage_id:int32 block_id:int32? battery_id:int32 charge_mw:float64 discharge_mw:float64
        soc_initial_mwh:float64 soc_final_mwh:float64 cycle_cost:float64 operative_state_code:int8
    """,
    "inflow_lags": """
        stage_id:int32 hydro_id:int32 lag_index:int32 inflow_m3s:float64
    """,
    "violations/generic": """
        stage_id:int32 block_id:int32? constraint_id:int32 slack_value:float64 slack_cost:float64
    """,
    "convergence": """
        iteration:int32 lower_bound:float64 upper_bound_mean:float64 upper_bound_std:float64
        gap_percent:float64? cuts_added:int32 cuts_removed:int32 cuts_active:int64
        time_forward_ms:int64 time_backward_ms:int64 time_total_ms:int64 forward_passes:int32
        lp_solves:int64
    """,
    "timing/iterations": """
        iteration:int32 rank:int32? worker_id:int32? forward_wall_ms:int64 backward_wall_ms:int64
        cut_selection_ms:int64 mpi_allreduce_ms:int64 cut_sync_ms:int64 lower_bound_ms:int64
        state_exchange_ms:int64 cut_batch_build_ms:int64 bwd_setup_ms:int64
        bwd_load_imbalance_ms:int64 bwd_scheduling_overhead_ms:int64 fwd_setup_ms:int64
        fwd_load_imbalance_ms:int64 fwd_scheduling_overhead_ms:int64 overhead_ms:int64
    """,
    "timing/mpi_ranks": """
        iteration:int32 rank:int32 forward_time_ms:int64 backward_time_ms:int64
        communication_time_ms:int64 idle_time_ms:int64 lp_solves:int64 scenarios_processed:int32
    """,
    "solver/iterations": """
        iteration:uint32 phase:string stage:int32 opening:int32? rank:int32? worker_id:int32?
        lp_solves:uint32 lp_successes:uint32 lp_retries:uint32 lp_failures:uint32
        retry_attempts:uint32 basis_offered:uint32 basis_consistency_failures:uint32
        simplex_iterations:uint64 solve_time_ms:float64 load_model_time_ms:float64
        set_bounds_time_ms:float64 basis_set_time_ms:float64 basis_reconstructions:uint64
    """,
    "solver/retry_histogram": """
        iteration:uint32 phase:string stage:int32 retry_level:uint32 count:uint64
    """,
}

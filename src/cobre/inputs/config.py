"""``config.json``: how to solve the case, with the defaults of the format."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cobre.inputs.models import Count, Document, Index, NonNegative, Number, Positive, Strict

Scheme = Literal["in_sample", "out_of_sample", "external", "historical"]
#: What is random, as ``noise.py`` of a kind calls it in ``CLASS``.
NoiseClass = Literal["inflow", "load", "ncs"]


class InflowNonNegativity(Strict):
    """Treatment of negative inflows.

    `penalty` may lift one to 0 at a cost, `truncation` makes it 0, `truncation_with_penalty` too, at a cost.
    The cost is per m³/s and hour; a plant's `inflow_nonnegativity_cost` counts before it.
    """

    method: Literal["none", "penalty", "truncation", "truncation_with_penalty"] = "penalty"
    penalty_cost: NonNegative = 1000.0


class Modeling(Strict):
    """Modelling options."""

    inflow_non_negativity: InflowNonNegativity = InflowNonNegativity()


class IterationLimitInput(Strict, title="IterationLimit"):
    """Stop after so many iterations."""

    type: Literal["iteration_limit"]
    limit: Count

    def summary(self) -> str:
        """Return when training stops, in words."""
        return f"after {self.limit} iterations"


class TimeLimitInput(Strict, title="TimeLimit"):
    """Stop after so much time."""

    type: Literal["time_limit"]
    seconds: Positive

    def summary(self) -> str:
        """Return when training stops, in words."""
        return f"after {self.seconds:g} s"


class BoundStallingInput(Strict, title="BoundStalling"):
    """Stop when the lower bound has moved by less than a tolerance, relatively, in so many iterations."""

    type: Literal["bound_stalling"]
    iterations: Count
    tolerance: NonNegative

    def summary(self) -> str:
        """Return when training stops, in words."""
        return f"when {self.iterations} iterations move the bound by less than {100 * self.tolerance:g} %"


class SimulationStoppingInput(Strict, title="SimulationStopping"):
    """Stop when both the bound and the simulated cost have settled."""

    type: Literal["simulation"]
    replications: Count
    period: Count
    bound_window: Count
    distance_tolerance: Annotated[float, Field(ge=0, alias="distance_tol")]
    bound_tolerance: Annotated[float, Field(ge=0, alias="bound_tol")]

    def summary(self) -> str:
        """Return when training stops, in words."""
        return "when bound and simulated costs have settled"


# Each has the name of a rule in `cobre.sddp.stopping` as its type, and its fields are those of that rule.
StoppingRule = Annotated[
    IterationLimitInput | TimeLimitInput | BoundStallingInput | SimulationStoppingInput,
    Field(discriminator="type"),
]


class CutSelection(Strict):
    """Cut selection settings."""

    enabled: bool | None = None
    method: Literal["level1", "lml1", "domination"] | None = None
    threshold: Index | None = None
    memory_window: Count | None = None
    domination_epsilon: NonNegative | None = None
    check_frequency: Count | None = None
    cut_activity_tolerance: NonNegative | None = None
    basis_activity_window: Index | None = None
    max_active_per_stage: Count | None = None


class Solver(Strict):
    """Retry limits for failed LP solves."""

    retry_max_attempts: Index = 5
    retry_time_budget_seconds: NonNegative = 30.0


class ForwardPass(Strict):
    """The kind of forward pass."""

    type: str


class SchemeOf(Strict):
    """Sampling scheme of a class of entities."""

    scheme: Scheme


class YearRange(Strict):
    """Years from one to another, both included."""

    first: int = Field(alias="from")
    last: int = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> YearRange:
        if self.first > self.last:
            raise ValueError("'from' must not be later than 'to'")
        return self


class ScenarioSource(Strict):
    """Sampling schemes of inflows, loads and non-controllable sources."""

    seed: int | None = None
    historical_years: list[int] | YearRange | None = None
    selection_mode: Annotated[
        Literal["random", "sequential"],
        Field(description="External and historical: drawn with replacement, or one after the other"),
    ] = "random"
    inflow: SchemeOf = SchemeOf(scheme="in_sample")
    load: SchemeOf = SchemeOf(scheme="in_sample")
    ncs: SchemeOf = SchemeOf(scheme="in_sample")


class Training(Strict):
    """Training settings."""

    enabled: bool = True
    tree_seed: int | None = None
    forward_passes: Count
    stopping_rules: Annotated[list[StoppingRule], Field(min_length=1)]
    stopping_mode: Literal["any", "all"] = "any"
    cut_formulation: Literal["single", "multi"] | None = None
    forward_pass: ForwardPass | None = None
    cut_selection: CutSelection = CutSelection()
    solver: Solver = Solver()
    scenario_source: ScenarioSource | None = None

    @model_validator(mode="after")
    def _ends(self) -> Training:
        if not any(isinstance(rule, IterationLimitInput) for rule in self.stopping_rules):
            raise ValueError("stopping_rules must include a rule of type 'iteration_limit'")
        return self


class Lipschitz(Strict):
    """Estimation of Lipschitz constants."""

    mode: str | None = None
    fallback_value: Number | None = None
    scale_factor: Number | None = None


class UpperBound(Strict):
    """The inner approximation."""

    enabled: bool | None = None
    initial_iteration: Index | None = None
    interval_iterations: Index | None = None
    lipschitz: Lipschitz = Lipschitz()


class Checkpointing(Strict):
    """When to save what has been found so far."""

    enabled: bool | None = None
    initial_iteration: Index | None = None
    interval_iterations: Index | None = None
    store_basis: bool | None = None
    compress: bool | None = None


class Boundary(Strict):
    """Cuts of another study that value what is left at the end."""

    path: str
    source_stage: Index


class PolicySettings(Strict, title="Policy"):
    """Policy folder, start mode (fresh, warm start or resume), checkpoints and boundary condition."""

    path: str = "./policy"
    mode: Literal["fresh", "warm_start", "resume"] = "fresh"
    validate_compatibility: bool = True
    checkpointing: Checkpointing = Checkpointing()
    boundary: Boundary | None = None


class Simulation(Strict):
    """Simulation settings."""

    enabled: bool = False
    num_scenarios: Count = 2000
    policy_type: Literal["outer", "inner"] = "outer"
    output_path: str | None = None
    output_mode: Literal["streaming", "batched"] | None = None
    io_channel_capacity: Count = 64
    scenario_source: ScenarioSource | None = None


class Exports(Strict):
    """Export settings: outputs to write, and their compression."""

    training: bool = True
    cuts: bool = True
    states: bool = False
    vertices: bool = True
    simulation: bool = True
    forward_detail: bool = False
    backward_detail: bool = False
    compression: Literal["zstd", "lz4", "none"] | None = None
    stochastic: bool = False


class EstimationSettings(Strict, title="Estimation"):
    """Settings for fitting inflow models to a history."""

    max_order: Index = 6
    order_selection: Literal["pacf", "pacf_annual", "fixed"] = "pacf"
    min_observations_per_season: Index = 30
    max_coefficient_magnitude: Number | None = None


class Config(Document):
    """All settings of a case; what the file leaves out has its default."""

    training: Training
    modeling: Modeling = Modeling()
    upper_bound_evaluation: UpperBound = UpperBound()
    policy: PolicySettings = PolicySettings()
    simulation: Simulation = Simulation()
    exports: Exports = Exports()
    estimation: EstimationSettings = EstimationSettings()

#include "core/lp/highs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <Highs.h>

#include "core/thread.hpp"

namespace cobre::lp {

namespace {

/// Tighter than HiGHS's default of 1e-7, as errors of a stage add up along the horizon and cuts rest on them;
/// its minimum of 1e-10 fails on badly conditioned bases. The programme comes here scaled.
constexpr double tolerance = 1e-9;

void require(HighsStatus status, const char* what) {
  if (status == HighsStatus::kError) throw std::runtime_error(std::string("HiGHS refuses ") + what);
}

void set_default_options(Highs& highs) {
  highs.setOptionValue("output_flag", false);
  highs.setOptionValue("threads", 1);  // parallelism is over tasks, and must not change a solution's path
  highs.setOptionValue("parallel", "off");
  highs.setOptionValue("presolve", "off");  // with a warm-start basis a few pivots take less time
  highs.setOptionValue("solver", "simplex");
  highs.setOptionValue("simplex_scale_strategy", 0);  // scaled before, by factors that do not depend on cuts
  // Devex: steepest edge would compute weights anew for each basis that is set.
  highs.setOptionValue("simplex_dual_edge_weight_strategy", 1);
  highs.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0);  // random
  highs.setOptionValue("small_matrix_value", 1e-12);
  highs.setOptionValue("primal_feasibility_tolerance", tolerance);
  highs.setOptionValue("dual_feasibility_tolerance", tolerance);
}

/// Options to try in turn when the default ones fail, each in addition to those before.
constexpr int fallbacks = 4;
void set_fallback_options(Highs& highs, int fallback) {
  switch (fallback) {
    case 0:  // a clean basis
      break;
    case 1:
      highs.setOptionValue("simplex_scale_strategy", 2);
      highs.setOptionValue("dual_simplex_cost_perturbation_multiplier", 1.0);
      highs.setOptionValue("primal_feasibility_tolerance", 1e-7);
      highs.setOptionValue("dual_feasibility_tolerance", 1e-7);
      break;
    case 2:
      highs.setOptionValue("presolve", "on");
      break;
    default:
      highs.setOptionValue("solver", "ipm");
      highs.setOptionValue("run_crossover", "on");
  }
}

/// HiGHS keeps a scheduler per thread, made by the first run there, which decides on how many threads later
/// ones work. So a thread of the user's program never runs it: its own use of HiGHS stays as it was.
HighsStatus run_in_own_thread(Highs& highs) {
  if (in_own_thread) return highs.run();
  HighsStatus status = HighsStatus::kError;
  start_quiet_thread([&] { status = highs.run(); }).join();
  return status;
}

}  // namespace

HighsSolver::HighsSolver(const Program& program) : program_(program), highs_(std::make_unique<Highs>()) {
  set_default_options(*highs_);
  load();
}

HighsSolver::~HighsSolver() = default;

void HighsSolver::load() {
  HighsLp lp;
  lp.num_col_ = program_.columns;
  lp.num_row_ = program_.rows;
  lp.col_cost_ = program_.cost;
  lp.col_lower_ = program_.column_lower;
  lp.col_upper_ = program_.column_upper;
  lp.row_lower_ = program_.row_lower;
  lp.row_upper_ = program_.row_upper;
  lp.a_matrix_.format_ = MatrixFormat::kColwise;
  lp.a_matrix_.num_col_ = program_.columns;
  lp.a_matrix_.num_row_ = program_.rows;
  lp.a_matrix_.start_ = program_.starts;
  lp.a_matrix_.index_ = program_.indices;
  lp.a_matrix_.value_ = program_.values;
  require(highs_->passModel(std::move(lp)), "the programme");
  reload_needed_ = false;
}

void HighsSolver::clear() {
  highs_->clearSolver();
  fallbacks_tried_ = 0;
}

void HighsSolver::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  HighsBasis given;
  given.alien = false;  // a complete basis, checked when it was stored: HiGHS need not repair it first
  given.valid = true;
  given.useful = true;
  given.col_status.resize(basis.columns.size());
  given.row_status.resize(basis.rows.size());
  for (std::size_t j = 0; j < basis.columns.size(); ++j) {
    given.col_status[j] = static_cast<HighsBasisStatus>(basis.columns[j]);
  }
  for (std::size_t i = 0; i < basis.rows.size(); ++i) {
    given.row_status[i] = static_cast<HighsBasisStatus>(basis.rows[i]);
  }
  require(highs_->setBasis(given), "a basis");
}

void HighsSolver::set_row_bounds(std::span<const int> rows, const double* lower, const double* upper) {
  if (rows.empty()) return;
  require(highs_->changeRowsBounds(static_cast<int>(rows.size()), rows.data(), lower, upper), "row bounds");
}

void HighsSolver::set_column_bounds(std::span<const int> columns, const double* lower, const double* upper) {
  if (columns.empty()) return;
  require(highs_->changeColsBounds(static_cast<int>(columns.size()), columns.data(), lower, upper),
          "column bounds");
}

void HighsSolver::set_costs(std::span<const int> columns, const double* costs) {
  if (columns.empty()) return;
  require(highs_->changeColsCost(static_cast<int>(columns.size()), columns.data(), costs), "costs");
}

void HighsSolver::set_coefficient(int row, int column, double value) {
  require(highs_->changeCoeff(row, column, value), "a coefficient");
}

void HighsSolver::add_rows(std::span<const double> lower, std::span<const int> starts,
                           std::span<const int> columns, std::span<const double> values) {
  const std::vector<double> upper(lower.size(), kHighsInf);
  require(highs_->addRows(static_cast<int>(lower.size()), lower.data(), upper.data(),
                          static_cast<int>(values.size()), starts.data(), columns.data(), values.data()),
          "a cut");
}

void HighsSolver::drop_rows_from(int first) {
  const int rows = highs_->getNumRow();
  if (first < rows) require(highs_->deleteRows(first, rows - 1), "to drop cuts");
}

Status HighsSolver::run() {
  const HighsStatus status = run_in_own_thread(*highs_);
  const bool refused = status == HighsStatus::kError && highs_->getModelStatus() == HighsModelStatus::kNotset;
  require(refused ? HighsStatus::kError : HighsStatus::kOk, "to run");
  iterations_ += std::max(0, static_cast<int>(highs_->getInfo().simplex_iteration_count));
  switch (highs_->getModelStatus()) {
    case HighsModelStatus::kOptimal:
      return Status::optimal;
    case HighsModelStatus::kInfeasible:
      return Status::infeasible;
    case HighsModelStatus::kUnbounded:
      return Status::unbounded;
    default:
      message_ = highs_->modelStatusToString(highs_->getModelStatus());
      return Status::failed;
  }
}

Status HighsSolver::solve() {
  iterations_ = fallbacks_tried_ = 0;
  const Status status = run();
  return status == Status::optimal ? status : try_fallbacks(status);
}

Status HighsSolver::solve_by_fallback() {
  iterations_ = 0;
  message_ = "inaccurate";
  return try_fallbacks(Status::inaccurate);
}

Status HighsSolver::try_fallbacks(Status verdict) {
  reload_needed_ = true;
  while (fallbacks_tried_ < fallbacks && verdict != Status::optimal) {
    for (int fallback = 0; fallback <= fallbacks_tried_; ++fallback) set_fallback_options(*highs_, fallback);
    ++fallbacks_tried_;
    highs_->clearSolver();
    const Status status = run();
    // A verdict of a method that came to an end tells users more than that one failed.
    const bool says_more =
        verdict == Status::failed || (verdict == Status::inaccurate && status != Status::failed);
    if (status == Status::optimal || says_more) verdict = status;
  }
  set_default_options(*highs_);
  return verdict;
}

std::span<const double> HighsSolver::values() const { return highs_->getSolution().col_value; }
std::span<const double> HighsSolver::reduced_costs() const { return highs_->getSolution().col_dual; }
std::span<const double> HighsSolver::row_duals() const { return highs_->getSolution().row_dual; }
double HighsSolver::objective() const { return highs_->getInfo().objective_function_value; }

Basis HighsSolver::basis() const {
  const HighsBasis& found = highs_->getBasis();
  if (!found.valid) return {};
  Basis basis;
  basis.columns.reserve(found.col_status.size());
  basis.rows.reserve(found.row_status.size());
  for (const HighsBasisStatus status : found.col_status)
    basis.columns.push_back(static_cast<std::uint8_t>(status));
  for (const HighsBasisStatus status : found.row_status)
    basis.rows.push_back(static_cast<std::uint8_t>(status));
  return basis;
}

std::string library_version() { return Highs().version(); }

std::string header_version() {
  return std::to_string(HIGHS_VERSION_MAJOR) + "." + std::to_string(HIGHS_VERSION_MINOR) + "." +
         std::to_string(HIGHS_VERSION_PATCH);
}

}  // namespace cobre::lp

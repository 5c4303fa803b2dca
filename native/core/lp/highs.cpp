#include "core/lp/highs.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <Highs.h>

namespace cobre::lp {

namespace {

/// Between 1e-10, the least that HiGHS takes, and its usual 1e-7. The programme is scaled before it comes
/// here.
constexpr double tolerance = 1e-9;

void require(HighsStatus status, const char* what) {
  if (status == HighsStatus::kError) throw std::runtime_error(std::string("HiGHS refuses ") + what);
}

void set_usual_options(Highs& highs) {
  highs.setOptionValue("output_flag", false);
  highs.setOptionValue("threads", 1);
  highs.setOptionValue("parallel", "off");
  highs.setOptionValue("presolve", "off");
  highs.setOptionValue("solver", "simplex");
  highs.setOptionValue("simplex_scale_strategy", 0);
  highs.setOptionValue("simplex_dual_edge_weight_strategy",
                       1);  // Devex: no weights to compute for a set basis
  highs.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0);
  highs.setOptionValue("small_matrix_value", 1e-12);
  highs.setOptionValue("primal_feasibility_tolerance", tolerance);
  highs.setOptionValue("dual_feasibility_tolerance", tolerance);
}

/// What to try when the usual way fails, each on top of the ones before.
constexpr int other_means = 4;
void set_other_means(Highs& highs, int means) {
  switch (means) {
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

}  // namespace

HighsSolver::HighsSolver(const Program& program) : program_(program), highs_(std::make_unique<Highs>()) {
  set_usual_options(*highs_);
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
  spoiled_ = false;
}

void HighsSolver::forget() {
  highs_->clearSolver();
  tried_ = 0;
}

void HighsSolver::start_from(const Basis& basis) {
  if (basis.columns.empty()) return;
  HighsBasis given;
  given.alien = false;  // it came from HiGHS: no need to find out whether it is one
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
  require(highs_->run() == HighsStatus::kError && highs_->getModelStatus() == HighsModelStatus::kNotset
              ? HighsStatus::kError
              : HighsStatus::kOk,
          "to run");
  iterations_ += std::max(0, static_cast<int>(highs_->getInfo().simplex_iteration_count));
  switch (highs_->getModelStatus()) {
    case HighsModelStatus::kOptimal:
      return Status::optimal;
    case HighsModelStatus::kInfeasible:
      return Status::infeasible;
    case HighsModelStatus::kUnbounded:
      return Status::unbounded;
    default:
      words_ = highs_->modelStatusToString(highs_->getModelStatus());
      return Status::failed;
  }
}

Status HighsSolver::solve() {
  iterations_ = tried_ = 0;
  const Status status = run();
  return status == Status::optimal ? status : try_others(status);
}

Status HighsSolver::solve_otherwise() {
  iterations_ = 0;
  words_ = "inaccurate";
  return try_others(Status::inaccurate);
}

Status HighsSolver::try_others(Status verdict) {
  spoiled_ = true;
  while (tried_ < other_means && verdict != Status::optimal) {
    for (int means = 0; means <= tried_; ++means) set_other_means(*highs_, means);
    ++tried_;
    highs_->clearSolver();
    const Status status = run();
    const bool says_more =
        verdict == Status::failed || (verdict == Status::inaccurate && status != Status::failed);
    if (status == Status::optimal || says_more) verdict = status;
  }
  set_usual_options(*highs_);
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

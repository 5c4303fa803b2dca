// Our own simplex method against HiGHS, on programmes drawn at random: the same optima and verdicts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/lp/dual_simplex.hpp"
#include "core/lp/highs.hpp"
#include "core/lp/inverse.hpp"
#include "core/lp/lu_factor.hpp"

using namespace cobre::lp;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// A programme with a solution, of columns with one, two or no bounds, and of rows of all kinds.
Program drawn(std::mt19937& random, int columns, int rows) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  const auto kind = [&](int kinds) { return std::uniform_int_distribution(0, kinds - 1)(random); };
  Program program;
  program.columns = columns;
  program.rows = rows;
  std::vector<double> point, activity(static_cast<std::size_t>(rows), 0.0);
  program.starts.push_back(0);
  for (int j = 0; j < columns; ++j) {
    const int bounds = kind(6);
    const double low = bounds == 5 ? -infinity : std::round(uniform(-3, 1));
    const double high = bounds < 3    ? infinity
                        : bounds == 3 ? low
                        : bounds == 5 ? infinity
                                      : low + uniform(0, 5);
    point.push_back(std::isinf(low)    ? uniform(-1, 1)
                    : std::isinf(high) ? low + uniform(0, 2)
                                       : uniform(low, high));
    program.column_lower.push_back(low);
    program.column_upper.push_back(high);
    // Of a column without an upper bound a positive cost; else the solution might be nowhere.
    program.cost.push_back(bounds == 5 ? 0.0 : std::isinf(high) ? std::round(uniform(0, 4)) : uniform(-4, 4));
    for (int i = 0; i < rows; ++i) {
      if (kind(4) != 0) continue;
      const double value = std::round(uniform(-3, 3));
      if (value == 0) continue;
      program.indices.push_back(i);
      program.values.push_back(value);
      activity[static_cast<std::size_t>(i)] += value * point.back();
    }
    program.starts.push_back(static_cast<int>(program.indices.size()));
  }
  for (const double value : activity) {
    const int sense = kind(3);
    program.row_lower.push_back(sense == 1 ? -infinity : value);
    program.row_upper.push_back(sense == 2 ? infinity : value);
  }
  return program;
}

/// A solver of ours and HiGHS, which are made to do the same.
class Pair {
 public:
  Pair(const Program& program, std::unique_ptr<BasisFactor> factor)
      : own(program, std::move(factor)), highs_(program) {}

  template <class Change>
  void change(Change change) {
    change(own);
    change(highs_);
  }

  /// Solve with both; the status that they agree on.
  Status solve() {
    const Status expected = highs_.solve(), found = own.solve();
    CHECK(found == expected);
    if (expected != Status::optimal || found != Status::optimal) return expected;
    double size = 1;
    for (const double x : highs_.values()) size = std::max(size, std::fabs(x));
    CHECK(std::fabs(own.objective() - highs_.objective()) <= 1e-9 * (size + std::fabs(highs_.objective())));
    return found;
  }

  DualSimplexSolver own;

 private:
  HighsSolver highs_;
};

template <class Factor>
std::unique_ptr<BasisFactor> made() {
  return std::make_unique<Factor>();
}

/// Whether values and duals prove each other optimal.
void check_proof(const Program& program, const Solver& solver) {
  std::vector<double> activity(static_cast<std::size_t>(program.rows), 0.0);
  double bound = 0;
  for (std::size_t j = 0; j < static_cast<std::size_t>(program.columns); ++j) {
    const double x = solver.values()[j];
    CHECK(x >= program.column_lower[j] - 1e-8 && x <= program.column_upper[j] + 1e-8);
    double reduced = program.cost[j];
    for (int at = program.starts[j]; at < program.starts[j + 1]; ++at) {
      const auto entry = static_cast<std::size_t>(at);
      const auto row = static_cast<std::size_t>(program.indices[entry]);
      activity[row] += program.values[entry] * x;
      reduced -= program.values[entry] * solver.row_duals()[row];
    }
    CHECK(std::fabs(reduced - solver.reduced_costs()[j]) < 1e-8);
    if (std::fabs(reduced) > 1e-8)
      bound += reduced * (reduced > 0 ? program.column_lower[j] : program.column_upper[j]);
  }
  for (std::size_t i = 0; i < activity.size(); ++i) {
    CHECK(activity[i] >= program.row_lower[i] - 1e-7 && activity[i] <= program.row_upper[i] + 1e-7);
    const double dual = solver.row_duals()[i];
    if (std::fabs(dual) > 1e-8) bound += dual * (dual > 0 ? program.row_lower[i] : program.row_upper[i]);
  }
  CHECK(std::fabs(bound - solver.objective()) <= 1e-6 * (1 + std::fabs(solver.objective())));
}

void agree_on_drawn_programmes(std::unique_ptr<BasisFactor> (*factor)()) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 150; ++trial) {
    const int rows = 1 + trial % 30;
    const Program program = drawn(random, rows + 5 + trial % 40, rows);
    Pair pair(program, factor());
    if (pair.solve() == Status::optimal) check_proof(program, pair.own);
    for (int change = 0; change < 5; ++change) {
      const int row = std::uniform_int_distribution(0, rows - 1)(random);
      const double shift = std::uniform_real_distribution(-2.0, 2.0)(random);
      const double lower = program.row_lower[at(row)] + shift, upper = program.row_upper[at(row)] + shift;
      pair.change([&](Solver& solver) { solver.set_row_bounds({&row, 1}, &lower, &upper); });
      pair.solve();
    }
    for (int change = 0; change < 5; ++change) {
      const int row = std::uniform_int_distribution(0, rows - 1)(random);
      const int column = std::uniform_int_distribution(0, program.columns - 1)(random);
      const double cost = std::round(std::uniform_real_distribution(-2.0, 6.0)(random));
      pair.change([&](Solver& solver) { solver.set_costs({&column, 1}, &cost); });
      pair.solve();
      pair.change([&](Solver& solver) { solver.set_coefficient(row, column, cost); });
      pair.solve();
    }
    const std::vector<double> least{-1.0}, values{1.0, -2.0, 1.0};
    const std::vector<int> starts{0}, columns{0, 2, 4};
    pair.change([&](Solver& solver) { solver.add_rows(least, starts, columns, values); });
    pair.solve();
    pair.change([&](Solver& solver) { solver.drop_rows_from(rows); });
    pair.solve();
  }
}

/// A cascade of plants with the inflows of some months before. Costs, productivities and demands are round
/// numbers, so that there are many optima, and many bases to each.
struct River {
  int plants, lags;
  // First columns of a kind, with one per plant, and the rows of inflows after the balances.
  [[nodiscard]] int lag_in(int lag) const { return plants * (1 + lag); }
  [[nodiscard]] int stored() const { return plants * (1 + lags); }
  [[nodiscard]] int lag_out(int lag) const { return plants * (2 + lags + lag); }
  [[nodiscard]] int turbined() const { return plants * (2 + 2 * lags); }
  [[nodiscard]] int spilt() const { return turbined() + plants; }
  [[nodiscard]] int thermal() const { return spilt() + plants; }
  [[nodiscard]] int value() const { return thermal() + 4; }
  [[nodiscard]] int demand() const { return plants * (1 + lags); }
  [[nodiscard]] int rows() const { return demand() + 1; }

  [[nodiscard]] Program program(std::mt19937& random) const {
    std::vector<std::vector<std::pair<int, double>>> entries(at(value() + 1));
    const auto entry = [&](int row, int column, double number) {
      entries[at(column)].emplace_back(row, number);
    };
    Program made;
    made.columns = value() + 1;
    made.rows = rows();
    made.cost.assign(entries.size(), 0.0);
    made.column_lower.assign(entries.size(), 0.0);
    made.column_upper.assign(entries.size(), infinity);
    made.row_lower.assign(at(rows()), 0.0);
    made.row_upper.assign(at(rows()), 0.0);
    for (int plant = 0; plant < plants; ++plant) {
      entry(plant, plant, -1.0);
      entry(plant, stored() + plant, 1.0);
      for (const int out : {turbined(), spilt()}) {
        entry(plant, out + plant, 1.0);
        if (plant + 1 < plants && plant % 5 != 4) entry(plant + 1, out + plant, -1.0);
      }
      for (int lag = 0; lag < lags; ++lag) {
        entry(plants * (1 + lag) + plant, lag_out(lag) + plant, 1.0);
        made.column_lower[at(lag_out(lag) + plant)] = -infinity;
        made.column_lower[at(lag_in(lag) + plant)] = made.column_upper[at(lag_in(lag) + plant)] = 10.0;
        entry(lag == 0 ? plants + plant : plants * (1 + lag) + plant, lag_in(std::max(0, lag - 1)) + plant,
              lag == 0 ? -0.5 : -1.0);
      }
      if (lags > 0) entry(plant, lag_out(0) + plant, -1.0);
      made.column_lower[at(plant)] = made.column_upper[at(plant)] = 50.0;
      made.column_upper[at(stored() + plant)] = 100.0;
      made.column_upper[at(turbined() + plant)] = 20.0;
      made.cost[at(spilt() + plant)] = plant % 3 == 0 ? 0.0 : 0.01;
      entry(demand(), turbined() + plant, 1.0);
    }
    for (int unit = 0; unit < 4; ++unit) {
      entry(demand(), thermal() + unit, 1.0);
      made.cost[at(thermal() + unit)] = unit == 3 ? 1000.0 : 10.0 * (1 + unit / 2);
      if (unit < 3) made.column_upper[at(thermal() + unit)] = 5.0 * plants;
    }
    made.cost[at(value())] = 1.0;
    made.row_lower[at(demand())] = made.row_upper[at(demand())] =
        plants * std::uniform_int_distribution(5, 25)(random);
    made.starts.push_back(0);
    for (auto& column : entries) {
      std::sort(column.begin(), column.end());
      for (const auto& [row, number] : column) {
        made.indices.push_back(row);
        made.values.push_back(number);
      }
      made.starts.push_back(static_cast<int>(made.indices.size()));
    }
    return made;
  }
};

/// What happens to a stage's solver: incoming states, realisations, cuts.
class Course {
 public:
  Course(const River& river, std::mt19937& random) : river_(river), random_(random) {
    for (int column = 0; column < river.stored(); ++column) incoming_.push_back(column);
    // Of inflows: the first row of lags, or the balance where there are none.
    for (int plant = 0; plant < river.plants; ++plant)
      inflows_.push_back(river.lags > 0 ? river.plants + plant : plant);
  }

  auto begin(const Basis& basis) {
    std::vector<double> state;
    for (std::size_t i = 0; i < incoming_.size(); ++i) state.push_back(uniform(0, 10) * (i % 2 == 0 ? 5 : 1));
    return [this, state, basis](Solver& solver) {
      solver.drop_rows_from(river_.rows());
      solver.set_column_bounds(incoming_, state.data(), state.data());
      solver.clear();
      solver.start_from(basis);
    };
  }
  auto realisation() {
    std::vector<double> noise;
    for (std::size_t i = 0; i < inflows_.size(); ++i) noise.push_back(std::round(uniform(0, 15)));
    return [this, noise](Solver& solver) { solver.set_row_bounds(inflows_, noise.data(), noise.data()); };
  }
  /// The value of storages is at least so much; some cuts are the same but for a number.
  auto cuts(int count) {
    std::vector<double> lower, values;
    std::vector<int> starts, columns;
    for (int cut = 0; cut < count; ++cut) {
      starts.push_back(static_cast<int>(columns.size()));
      for (int plant = 0; plant < river_.plants; ++plant) {
        columns.push_back(river_.stored() + plant);
        values.push_back(std::round(uniform(1, 12)));
      }
      columns.push_back(river_.value());
      values.push_back(1.0);
      lower.push_back(uniform(300, 900) * river_.plants);
    }
    return [=](Solver& solver) { solver.add_rows(lower, starts, columns, values); };
  }
  /// Prices of what replaces water, and what water yields.
  auto prices() {
    std::vector<double> costs;
    std::vector<int> columns;
    for (int column = river_.spilt(); column < river_.value(); ++column) {
      columns.push_back(column);
      costs.push_back(std::round(column < river_.thermal() ? uniform(0, 2) : uniform(5, 1000)));
    }
    return [=](Solver& solver) { solver.set_costs(columns, costs.data()); };
  }
  auto yields() {
    std::vector<double> yields;
    for (int plant = 0; plant < river_.plants; ++plant) yields.push_back(std::round(uniform(0, 4)) / 2);
    return [this, yields](Solver& solver) {
      for (int plant = 0; plant < river_.plants; ++plant)
        solver.set_coefficient(river_.demand(), river_.turbined() + plant, yields[at(plant)]);
    };
  }
  auto demand(double most) {
    const int row = river_.demand();
    return [row, most](Solver& solver) { solver.set_row_bounds({&row, 1}, &most, &most); };
  }

 private:
  double uniform(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }

  River river_;
  std::mt19937& random_;
  std::vector<int> incoming_, inflows_;
};

/// Two units of a river: solves, and how many of them HiGHS was asked for.
struct Asked {
  int solves = 0, highs = 0;
};
Asked agree_on_a_river(const River& river, std::mt19937& random, std::unique_ptr<BasisFactor> factor) {
  const Program program = river.program(random);
  Pair pair(program, std::move(factor));
  Course course(river, random);
  Asked asked;
  Basis basis;
  const auto solve = [&] {
    ++asked.solves;
    CHECK(pair.solve() == Status::optimal);
  };
  for (int unit = 0; unit < 2; ++unit) {
    pair.change(course.begin(basis));
    for (int i = 0; i < 3; ++i) {
      pair.change(course.realisation());
      solve();
      if (i == 0 && unit == 0) basis = pair.own.basis();
      pair.change(course.cuts(1 + 4 * i));
      solve();
      pair.change(course.prices());
      pair.change(course.realisation());
      solve();
      pair.change(course.yields());
      solve();
    }
  }
  asked.highs = pair.own.highs_solves();
  pair.change(course.demand(-1.0));
  CHECK(pair.solve() == Status::infeasible);
  pair.change(course.demand(10.0 * river.plants));
  CHECK(pair.solve() == Status::optimal);
  const int column = river.value();
  const double reward = -1.0;
  pair.change([&](Solver& solver) { solver.set_costs({&column, 1}, &reward); });
  CHECK(pair.solve() == Status::unbounded);
  return asked;
}

}  // namespace

TEST(the_simplex_method_agrees_with_highs_on_an_inverse) { agree_on_drawn_programmes(made<Inverse>); }
TEST(the_simplex_method_agrees_with_highs_on_factors) { agree_on_drawn_programmes(made<LuFactor>); }

TEST(the_simplex_method_agrees_with_highs_on_rivers_and_hardly_asks_it) {
  std::mt19937 random(3);
  Asked sum;
  for (int trial = 0; trial < 200; ++trial) {
    const River river{.plants = 1 + trial % 12, .lags = trial % 4};
    const Asked asked = agree_on_a_river(river, random, trial % 2 == 0 ? made<LuFactor>() : made<Inverse>());
    sum.solves += asked.solves;
    sum.highs += asked.highs;
  }
  for (int trial = 0; trial < 4; ++trial) {
    const River river{.plants = 50, .lags = trial};
    const Asked asked = agree_on_a_river(river, random, made<LuFactor>());
    sum.solves += asked.solves;
    sum.highs += asked.highs;
  }
  CHECK(sum.highs * 100 <= sum.solves);
}

TEST(a_used_solver_has_the_bits_of_a_new_one) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const River river{.plants = 3 + 3 * trial, .lags = trial % 3};
    const Program program = river.program(random);
    Course course(river, random);
    DualSimplexSolver used(program);
    course.begin({})(used);
    course.realisation()(used);
    CHECK(used.solve() == Status::optimal);
    const Basis basis = used.basis();
    course.cuts(40)(used);
    CHECK(used.solve() == Status::optimal);
    DualSimplexSolver fresh(program);
    const auto both = [&](auto change) {
      change(used);
      change(fresh);
    };
    both(course.begin(basis));
    for (int i = 0; i < 6; ++i) {
      if (i % 2 == 0) {
        both(course.realisation());
      } else {
        both(course.cuts(7));
      }
      if (i > 2) both(course.prices());
      CHECK(used.solve() == fresh.solve());
      CHECK(std::equal(used.values().begin(), used.values().end(), fresh.values().begin()));
      CHECK(std::equal(used.row_duals().begin(), used.row_duals().end(), fresh.row_duals().begin()));
      CHECK(used.basis().columns == fresh.basis().columns && used.basis().rows == fresh.basis().rows);
    }
  }
}

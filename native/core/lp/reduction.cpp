#include "core/lp/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

namespace cobre::lp {

namespace {

/// A known value may be beyond its column's bounds by this much, relative to its size: as much as the
/// solvers' last fallback allows.
constexpr double bound_tolerance = 1e-7;
/// An equation whose coefficient of a column is smaller, in scaled units, does not define it.
constexpr double least_coefficient = 1e-6;
/// A row that is no equation, or whose coefficients change, defines nothing.
constexpr int no_equation = -2, constant = -1;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Call `visit(row, value)` for each entry of a column that is not 0.
template <class Visit>
void for_each_entry(const Program& program, int column, Visit visit) {
  for (int k = program.starts[at(column)]; k < program.starts[at(column) + 1]; ++k) {
    if (program.values[at(k)] != 0) visit(program.indices[at(k)], program.values[at(k)]);
  }
}

}  // namespace

/// The search for known columns: given ones first, then each that is alone with known ones in an equation.
class Reduction::Search {
 public:
  Search(const Program& whole, const ReductionSpec& spec)
      : whole_(whole),
        spec_(spec),
        value_(at(whole.columns), constant),
        fixed_(at(whole.columns), 1),
        rhs_(at(whole.rows), constant),
        known_(at(whole.columns), 0),
        unknown_(at(whole.rows), 0) {
    for (int i = 0; i < whole.rows; ++i) {
      if (whole.row_lower[at(i)] != whole.row_upper[at(i)]) rhs_[at(i)] = no_equation;
    }
    for (std::size_t w = 0; w < spec.places.size(); ++w) look_at(spec.places[w], static_cast<int>(w));
    for (const Place& place : spec.places) {
      if (place.target == Target::coefficient) rhs_[at(place.row)] = no_equation;
    }
    for (int j = 0; j < whole.columns; ++j) {
      for_each_entry(whole, j, [&](int row, double) { ++unknown_[at(row)]; });
    }
  }

  std::vector<Known> run() {
    for (int j = 0; j < whole_.columns; ++j) add_if_given(j);
    std::vector<std::vector<int>> columns(at(whole_.rows));  // with an entry in each row
    for (int j = 0; j < whole_.columns; ++j) {
      for_each_entry(whole_, j, [&](int row, double) { columns[at(row)].push_back(j); });
    }
    for (int i = 0; i < whole_.rows; ++i) queue_if_defining(i);
    for (; !queue_.empty(); queue_.pop_front()) {
      for (const int column : columns[at(queue_.front())]) {
        if (known_[at(column)] == 0) add_defined(column, queue_.front());
      }
    }
    return std::move(found_);
  }

 private:
  void look_at(const Place& place, int number) {
    switch (place.target) {
      case Target::rhs:
        rhs_[at(place.row)] = number;
        break;
      case Target::row_lower:
      case Target::row_upper:
        rhs_[at(place.row)] = no_equation;
        break;
      case Target::fix:
        value_[at(place.column)] = number;
        break;
      case Target::column_lower:
      case Target::column_upper:
      case Target::coefficient:
        fixed_[at(place.column)] = 0;
        break;
      case Target::cost:
        break;
    }
  }

  void add_if_given(int column) {
    const std::size_t j = at(column);
    if (fixed_[j] == 0) return;
    Known known{.column = column, .factor = 1 / spec_.column_scale[j]};
    if (spec_.state_of[j] >= 0) {
      known.state = spec_.state_of[j];
    } else if (value_[j] >= 0) {
      known.place = value_[j];
    } else if (whole_.column_lower[j] == whole_.column_upper[j]) {
      known.constant = whole_.column_lower[j];
    } else {
      return;
    }
    add(known);
  }

  void add_defined(int column, int row) {
    const std::size_t j = at(column);
    double coefficient = 0;
    for_each_entry(whole_, column, [&](int i, double value) { coefficient += i == row ? value : 0.0; });
    if (fixed_[j] == 0 || std::fabs(coefficient) < least_coefficient) return;
    const int place = rhs_[at(row)];
    add({.column = column,
         .place = place,
         .factor = spec_.row_scale[at(row)],
         .constant = place >= 0 ? 0.0 : whole_.row_lower[at(row)],
         .row = row,
         .coefficient = coefficient,
         .lower = whole_.column_lower[j],
         .upper = whole_.column_upper[j]});
    for_each_entry(whole_, column, [&](int i, double) { queue_if_defining(i); });
  }

  void add(const Known& known) {
    known_[at(known.column)] = 1;
    found_.push_back(known);
    for_each_entry(whole_, known.column, [&](int row, double) { --unknown_[at(row)]; });
  }

  void queue_if_defining(int row) {
    if (rhs_[at(row)] != no_equation && unknown_[at(row)] == 1) queue_.push_back(row);
  }

  const Program& whole_;
  const ReductionSpec& spec_;
  std::vector<int> value_;   // by column: the place that fixes it, or `constant`
  std::vector<char> fixed_;  // by column: whether its bounds and coefficients are those of data, or `value_`
  std::vector<int> rhs_;     // by row: the place of its right-hand side, `constant`, or `no_equation`
  std::vector<char> known_;
  std::vector<int> unknown_;  // by row: columns that are not known
  std::deque<int> queue_;
  std::vector<Known> found_;
};

Reduction::Reduction(const Program& whole, const ReductionSpec& spec)
    : columns_(at(whole.columns), 0), rows_(at(whole.rows), 0) {
  if (spec.enabled) known_ = Search(whole, spec).run();
  for (std::size_t k = 0; k < known_.size(); ++k) {
    columns_[at(known_[k].column)] = -1 - static_cast<int>(k);
    if (known_[k].row >= 0) rows_[at(known_[k].row)] = -1 - static_cast<int>(k);
  }
  number_the_rest(whole);
  std::vector<std::vector<Term>> definitions(known_.size()), shifts(at(program_.rows));
  for (std::size_t k = 0; k < known_.size(); ++k) {
    for_each_entry(whole, known_[k].column, [&](int row, double value) {
      const int place = rows_[at(row)];
      if (place >= 0) {
        shifts[at(place)].push_back({k, value});
      } else if (at(-1 - place) != k) {
        definitions[at(-1 - place)].push_back({k, value});
      }
    });
  }
  for (std::size_t k = 0; k < known_.size(); ++k) {
    definitions_.add(definitions[k]);
    known_[k].drawn = known_[k].place >= 0 || depends_on_draw(definitions_[k]);
    if (known_[k].drawn) drawn_.push_back(k);
  }
  for (int i = 0; i < program_.rows; ++i) {
    shifts_.add(shifts[at(i)]);
    if (!shifts[at(i)].empty()) (depends_on_draw(shifts_[at(i)]) ? drawn_rows_ : given_rows_).push_back(i);
  }
}

bool Reduction::depends_on_draw(std::span<const Term> terms) const {
  return std::any_of(terms.begin(), terms.end(), [&](const Term& term) { return known_[term.known].drawn; });
}

/// The columns and rows that stay keep their order.
void Reduction::number_the_rest(const Program& whole) {
  for (int i = 0; i < whole.rows; ++i) {
    if (rows_[at(i)] < 0) continue;
    rows_[at(i)] = program_.rows++;
    program_.row_lower.push_back(whole.row_lower[at(i)]);
    program_.row_upper.push_back(whole.row_upper[at(i)]);
  }
  program_.starts.push_back(0);
  for (int j = 0; j < whole.columns; ++j) {
    if (columns_[at(j)] < 0) continue;
    columns_[at(j)] = program_.columns++;
    program_.cost.push_back(whole.cost[at(j)]);
    program_.column_lower.push_back(whole.column_lower[at(j)]);
    program_.column_upper.push_back(whole.column_upper[at(j)]);
    for (int k = whole.starts[at(j)]; k < whole.starts[at(j) + 1]; ++k) {
      // No equation that leaves has another column that stays, except for zeros.
      if (rows_[at(whole.indices[at(k)])] < 0) continue;
      program_.indices.push_back(rows_[at(whole.indices[at(k)])]);
      program_.values.push_back(whole.values[at(k)]);
    }
    program_.starts.push_back(static_cast<int>(program_.indices.size()));
  }
}

double Reduction::solved(std::size_t k, double right_hand_side, const double* values) const {
  for (const Term& term : definitions_[k]) right_hand_side -= term.value * values[term.known];
  return right_hand_side / known_[k].coefficient;
}

void Reduction::given_values(const double* state, double* out) const {
  for (std::size_t k = 0; k < known_.size(); ++k) {
    const Known& known = known_[k];
    out[k] = solved(k, known.state >= 0 ? state[known.state] * known.factor : known.constant, out);
  }
}

void Reduction::drawn_values(const double* realisation, double* out) const {
  for (const std::size_t k : drawn_) {
    const Known& known = known_[k];
    out[k] = solved(k, known.place >= 0 ? realisation[known.place] * known.factor : 0.0, out);
  }
}

bool Reduction::within_bounds(const double* values) const {
  for (std::size_t k = 0; k < known_.size(); ++k) {
    const double beyond = std::max(known_[k].lower - values[k], values[k] - known_[k].upper);
    if (!(beyond <= bound_tolerance * (1 + std::fabs(values[k])))) return false;
  }
  return true;
}

double Reduction::shift(int row, const double* values) const {
  double sum = 0;
  for (const Term& term : shifts_[at(row)]) sum += term.value * values[term.known];
  return sum;
}

void Reduction::price(const double* duals, double* prices) const {
  for (int i = 0; i < program_.rows; ++i) {
    if (duals[i] == 0) continue;
    for (const Term& term : shifts_[at(i)]) prices[term.known] -= term.value * duals[i];
  }
  for (std::size_t k = known_.size(); k-- > 0;) {
    prices[k] /= known_[k].coefficient;  // 1 for those that are given
    for (const Term& term : definitions_[k]) prices[term.known] -= term.value * prices[k];
  }
}

void Reduction::Sums::add(std::span<const Term> sum) {
  terms.insert(terms.end(), sum.begin(), sum.end());
  starts.push_back(terms.size());
}

}  // namespace cobre::lp

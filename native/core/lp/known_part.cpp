#include "core/lp/known_part.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace cobre::lp {

namespace {

constexpr StateKind known_kinds[]{StateKind::drawn, StateKind::given};

}  // namespace

KnownStates::KnownStates(const Reduction& columns, const Cuts& cuts, std::vector<KnownState> states,
                         const Realisations& openings)
    : columns(columns),
      cuts(cuts),
      states(std::move(states)),
      openings_(openings),
      drawn_heights_(openings.count) {}

void KnownStates::extend() {
  for (std::size_t k = 0; k < openings_.count; ++k)
    append_heights(openings_.numbers + k * openings_.places, drawn_heights_[k]);
}

void KnownStates::append_heights(const double* realisation, std::vector<double>& heights) const {
  if (!depend_on_draw()) return;
  std::vector<double> values(columns.known().size(), 0.0), x(cuts.layout().width(), 0.0);
  columns.drawn_values(realisation, values.data());
  lay_out(values.data(), x.data());
  const std::size_t first = heights.size();
  std::vector<std::int32_t> which(cuts.count() - first);
  std::iota(which.begin(), which.end(), static_cast<std::int32_t>(first));
  heights.resize(cuts.count());
  cuts.heights(StateKind::drawn, which, x.data(), heights.data() + first);
}

const double* KnownStates::drawn_heights(const double* realisation, std::vector<double>& buffer) const {
  if (!depend_on_draw()) return nullptr;
  const double* const end = openings_.numbers + openings_.count * openings_.places;
  if (!std::less<>()(realisation, openings_.numbers) && std::less<>()(realisation, end))
    return drawn_heights_[static_cast<std::size_t>(realisation - openings_.numbers) / openings_.places]
        .data();
  buffer.clear();
  append_heights(realisation, buffer);
  return buffer.data();
}

void KnownStates::lay_out(const double* values, double* x) const {
  for (const KnownState& state : states) x[state.number] = values[state.known] * state.scale;
}

KnownPart::KnownPart(const KnownStates& states, std::vector<double> costs)
    : states_(states),
      costs_(std::move(costs)),
      values_(costs_.size()),
      given_(costs_.size()),
      drawn_(costs_.size(), 0.0),
      x_(states.cuts.layout().width(), 0.0),
      weights_(x_.size()) {}

void KnownPart::begin(const double* state) {
  states_.columns.given_values(state, given_.data());
  values_ = given_;
  states_.lay_out(given_.data(), x_.data());
  const std::vector<std::int32_t>& active = states_.cuts.active();
  given_heights_.resize(active.size());
  given_heights(active, given_heights_.data());
  heights_ = given_heights_;
  drawn_heights_ = nullptr;
}

bool KnownPart::draw(const double* realisation) {
  states_.columns.drawn_values(realisation, drawn_.data());
  for (std::size_t k = 0; k < values_.size(); ++k) values_[k] = given_[k] + drawn_[k];
  drawn_heights_ = states_.drawn_heights(realisation, buffer_);
  if (drawn_heights_ != nullptr) {
    const std::vector<std::int32_t>& active = states_.cuts.active();
    for (std::size_t i = 0; i < active.size(); ++i)
      heights_[i] = given_heights_[i] + drawn_heights_[static_cast<std::size_t>(active[i])];
  }
  return states_.columns.within_bounds(values_.data());
}

void KnownPart::given_heights(std::span<const std::int32_t> which, double* out) const {
  std::fill(out, out + which.size(), 0.0);
  std::vector<double> part(which.size());
  for (const StateKind kind : known_kinds) {
    if (states_.cuts.layout().width(kind) == 0) continue;
    states_.cuts.heights(kind, which, x_.data(), part.data());
    for (std::size_t i = 0; i < part.size(); ++i) out[i] += part[i];
  }
}

double KnownPart::bounded_value(std::size_t known) const {
  const Known& column = states_.columns.known()[known];
  return std::clamp(values_[known], column.lower, column.upper);
}

double KnownPart::cost() const {
  double cost = 0;
  for (std::size_t k = 0; k < costs_.size(); ++k) cost += costs_[k] * values_[k];
  return cost;
}

double KnownPart::height(std::int32_t cut) const {
  double height = 0;
  given_heights({&cut, 1}, &height);
  return drawn_heights_ == nullptr ? height : height + drawn_heights_[static_cast<std::size_t>(cut)];
}

std::span<const double> KnownPart::prices(std::span<const double> duals, std::span<const std::int32_t> cuts,
                                          double unit) {
  prices_ = costs_;
  std::fill(weights_.begin(), weights_.end(), 0.0);
  const double* const of_cuts = duals.data() + states_.columns.program().rows;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (cuts[i] < 0 || of_cuts[i] == 0) continue;  // a mixture has no states
    for (const StateKind kind : known_kinds) {
      const double* const numbers = states_.cuts.numbers(kind, cuts[i]);
      double* const weights = weights_.data() + states_.cuts.layout().begin(kind);
      for (std::size_t j = 0; j < states_.cuts.layout().width(kind); ++j)
        weights[j] += of_cuts[i] * numbers[j];
    }
  }
  for (const KnownState& state : states_.states)
    prices_[state.known] += weights_[state.number] * (state.scale * unit);
  states_.columns.price(duals.data(), prices_.data());
  return prices_;
}

}  // namespace cobre::lp

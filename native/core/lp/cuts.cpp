#include "core/lp/cuts.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/lp/clones.hpp"

namespace cobre::lp {

namespace {

constexpr std::size_t lanes = 8;

/// The value of each cut where `x` is 1, the state, and zeros.
COBRE_CLONES void evaluate(const double* const* rows, const std::int32_t* which, std::size_t count,
                           const double* x, std::size_t width, double* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const double* cut = rows[which[i]];
    double sums[lanes] = {};
    for (std::size_t j = 0; j < width; j += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += cut[j + lane] * x[j + lane];
    }
    out[i] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
}

}  // namespace

void Cuts::extend(std::span<const std::int32_t> families) {
  std::size_t before = 0;  // cuts that fit into the blocks before this one
  std::size_t next = rows_.size();
  const std::size_t end = next + families.size();
  for (const Block& block : blocks_) {
    for (; next < end && next < before + block.capacity; ++next) {
      rows_.push_back(block.numbers + (next - before) * width_);
      active_.push_back(static_cast<std::int32_t>(next));
    }
    before += block.capacity;
  }
  if (next < end) throw std::length_error("more cuts than there is memory for");
  families_.insert(families_.end(), families.begin(), families.end());
  one_family_ = one_family_ && std::all_of(families.begin(), families.end(), [](auto f) { return f == 0; });
}

void Cuts::violations(const double* state, const double* values, double* out) const {
  thread_local std::vector<double> x;
  x.assign(width_, 0.0);
  x[0] = 1.0;
  std::copy(state, state + states_, x.begin() + 1);
  evaluate(rows_.data(), active_.data(), active_.size(), x.data(), width_, out);
  if (one_family_) {
    for (std::size_t i = 0; i < active_.size(); ++i) out[i] -= values[0];
    return;
  }
  for (std::size_t i = 0; i < active_.size(); ++i) {
    out[i] -= values[families_[static_cast<std::size_t>(active_[i])]];
  }
}

}  // namespace cobre::lp

#include "core/lp/cuts.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/processor.hpp"

namespace cobre::lp {

namespace {

constexpr std::size_t lanes = 8;

/// The products of the first numbers of each cut with those of `x`.
[[gnu::always_inline]] inline void multiply(const double* const* rows, const std::int32_t* which,
                                            std::size_t count, const double* x, std::size_t width,
                                            double* out) {
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

CutLayout::CutLayout(std::span<const StateKind> kinds) : slopes(kinds.size()), begins{} {
  std::size_t next = 1;  // after the intercept
  for (std::size_t kind = 0; kind + 1 < begins.size(); ++kind) {
    for (std::size_t state = 0; state < kinds.size(); ++state) {
      if (kinds[state] == static_cast<StateKind>(kind)) slopes[state] = next++;
    }
    next = (next + lanes - 1) / lanes * lanes;
    begins[kind + 1] = next;
  }
}

void Cuts::extend(std::span<const std::int32_t> families) {
  std::size_t before = 0;  // cuts that fit into the blocks before this one
  std::size_t next = count();
  const std::size_t end = next + families.size();
  for (const Block& block : blocks_) {
    for (; next < end && next < before + block.capacity; ++next) {
      for (std::size_t k = 0; k < rows_.size(); ++k) {
        const std::size_t begin = layout_.begins[k], width = layout_.begins[k + 1] - begin;
        rows_[k].push_back(block.numbers + begin * block.capacity + (next - before) * width);
      }
      active_.push_back(static_cast<std::int32_t>(next));
    }
    before += block.capacity;
  }
  if (next < end) throw std::length_error("more cuts than there is memory for");
  families_.insert(families_.end(), families.begin(), families.end());
  one_family_ = one_family_ && std::all_of(families.begin(), families.end(), [](auto f) { return f == 0; });
}

void Cuts::heights(StateKind kind, std::span<const std::int32_t> which, const double* x, double* out) const {
  vectorised<multiply>(rows_[static_cast<std::size_t>(kind)].data(), which.data(), which.size(),
                       x + layout_.begin(kind), layout_.width(kind), out);
}

void Cuts::violations(const double* x, const double* known, const double* values, double* out) const {
  heights(StateKind::decided, active_, x, out);
  if (one_family_) {
    for (std::size_t i = 0; i < active_.size(); ++i) out[i] = (out[i] + known[i]) - values[0];
    return;
  }
  for (std::size_t i = 0; i < active_.size(); ++i) {
    out[i] = (out[i] + known[i]) - values[families_[static_cast<std::size_t>(active_[i])]];
  }
}

}  // namespace cobre::lp

// The cuts of a node: lower bounds on the value of what follows, linear in the outgoing state.
//
// They live outside the linear programme, in memory that others write and all threads and processes of a
// machine read. A solve carries a few of them and asks here which of the rest it violates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cobre::lp {

/// A cut says: the value of `family` is at least intercept + slopes'x.
struct Cut {
  const double* numbers;  // intercept, then slopes
  int family;
};

/// Numbers per cut: intercept, slopes, and zeros up to a whole number of vectors.
constexpr std::size_t cut_width(int states) {
  constexpr std::size_t lanes = 8;
  return (static_cast<std::size_t>(states) + lanes) / lanes * lanes;
}

class Cuts {
 public:
  explicit Cuts(int states) : states_(static_cast<std::size_t>(states)), width_(cut_width(states)) {}

  /// Memory for further cuts, each `cut_width` numbers; must outlive this.
  void add_block(const double* numbers, std::size_t capacity) { blocks_.push_back({numbers, capacity}); }
  /// Make further cuts of that memory usable, one per family given; they become active.
  void extend(std::span<const std::int32_t> families);
  /// Look only at these from now on, in ascending order.
  void activate(std::vector<std::int32_t> active) { active_ = std::move(active); }

  [[nodiscard]] std::size_t count() const noexcept { return families_.size(); }
  [[nodiscard]] const std::vector<std::int32_t>& active() const noexcept { return active_; }
  [[nodiscard]] Cut operator[](std::size_t cut) const { return {rows_[cut], families_[cut]}; }

  /// By how much each active cut is above `values[family]` at `state`, in the order of `active()`.
  void violations(const double* state, const double* values, double* out) const;

 private:
  struct Block {
    const double* numbers;
    std::size_t capacity;
  };
  std::size_t states_, width_;
  bool one_family_ = true;
  std::vector<Block> blocks_;
  std::vector<const double*> rows_;
  std::vector<std::int32_t> families_;
  std::vector<std::int32_t> active_;
};

}  // namespace cobre::lp

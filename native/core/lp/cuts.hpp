// The cuts of a node: lower bounds on the value of what follows, linear in the outgoing state.
//
// They live outside the linear programme, in memory that others write and all threads and processes of a
// machine read. A solve carries a few of them and asks here which of the rest it violates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cobre::lp {

/// The numbers of a cut whose states are all of one kind: intercept, slopes, and zeros up to a whole number
/// of vectors.
constexpr std::size_t cut_width(int states) {
  constexpr std::size_t lanes = 8;
  return (static_cast<std::size_t>(states) + lanes) / lanes * lanes;
}

/// How an outgoing state variable comes about: the solver decides it, or it is known, with or without the
/// realisation; or it does not leave the node, and counts as 0.
enum class StateKind : std::uint8_t { decided, drawn, given, absent };

/// The order of a cut's numbers: the intercept, then the slopes by kind of state, each kind with zeros up to
/// a whole number of vectors. In memory a block of cuts has one matrix per kind, a cut in each row, because a
/// search reads one kind only: it takes a quarter of the time where the numbers of all cuts are neighbours.
struct CutLayout {
  explicit CutLayout(std::span<const StateKind> kinds);
  std::vector<std::size_t> slopes;    // by state; the intercept is number 0
  std::array<std::size_t, 5> begins;  // of each kind, and the end
  [[nodiscard]] std::size_t begin(StateKind kind) const { return begins[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::size_t end(StateKind kind) const { return begins[static_cast<std::size_t>(kind) + 1]; }
  [[nodiscard]] std::size_t width(StateKind kind) const { return end(kind) - begin(kind); }
  [[nodiscard]] std::size_t width() const { return begins.back(); }
};

/// A cut says: the value of its family is at least intercept + slopes'x.
class Cuts {
 public:
  explicit Cuts(CutLayout layout) : layout_(std::move(layout)) {}

  [[nodiscard]] const CutLayout& layout() const noexcept { return layout_; }

  /// Memory for further cuts, each `layout().width()` numbers; must outlive this.
  void add_block(const double* numbers, std::size_t capacity) { blocks_.push_back({numbers, capacity}); }
  /// Make further cuts of that memory usable, one per family given; they become active.
  void extend(std::span<const std::int32_t> families);
  /// Look only at these from now on, in ascending order.
  void activate(std::vector<std::int32_t> active) { active_ = std::move(active); }

  [[nodiscard]] std::size_t count() const noexcept { return families_.size(); }
  [[nodiscard]] const std::vector<std::int32_t>& active() const noexcept { return active_; }
  [[nodiscard]] int family(std::int32_t cut) const { return families_[static_cast<std::size_t>(cut)]; }
  /// The numbers of a cut that belong to a kind of state.
  [[nodiscard]] const double* numbers(StateKind kind, std::int32_t cut) const {
    return rows_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(cut)];
  }

  /// The products of these numbers of some cuts with those of `x`, a state in the order of a cut's numbers.
  void heights(StateKind kind, std::span<const std::int32_t> which, const double* x, double* out) const;
  /// By how much each active cut is above `values[family]`, in the order of `active()`. What known states
  /// contribute to each is given; of `x` the decided ones are read.
  void violations(const double* x, const double* known, const double* values, double* out) const;

 private:
  struct Block {
    const double* numbers;
    std::size_t capacity;
  };
  CutLayout layout_;
  bool one_family_ = true;
  std::vector<Block> blocks_;
  std::array<std::vector<const double*>, 4> rows_;  // by kind and cut
  std::vector<std::int32_t> families_;
  std::vector<std::int32_t> active_;
};

}  // namespace cobre::lp

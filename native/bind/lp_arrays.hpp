// Arrays of NumPy as arguments and results of the bindings of `lp`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

namespace cobre::bind {

namespace nb = nanobind;

template <class T, std::size_t dimensions>
using In = nb::ndarray<const T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu, nb::numpy>;
template <class T, std::size_t dimensions>
using InOut = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu, nb::numpy>;
using Floats = In<double, 1>;
using Ints = In<std::int32_t, 1>;
template <class T, std::size_t dimensions>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>>;

template <class T>
std::span<const T> view(const In<T, 1>& array) {
  return {array.data(), array.size()};
}

template <class T>
std::vector<T> copy(const In<T, 1>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class Array, class... Sizes>
bool has_shape(const Array& array, Sizes... sizes) {
  std::size_t axis = 0;
  return ((array.shape(axis++) == static_cast<std::size_t>(sizes)) && ...);
}

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

/// An array of zeros that belongs to Python.
template <class T, std::size_t dimensions, class... Sizes>
Out<T, dimensions> new_array(Sizes... sizes) {
  const std::array<std::size_t, dimensions> shape{static_cast<std::size_t>(sizes)...};
  const std::size_t size = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  T* const numbers = new T[size]();
  nb::capsule owner(numbers, [](void* data) noexcept { delete[] static_cast<T*>(data); });
  return {numbers, dimensions, shape.data(), owner};
}

inline Out<std::int32_t, 1> to_numpy(const std::vector<std::int32_t>& values) {
  Out<std::int32_t, 1> result = new_array<std::int32_t, 1>(values.size());
  std::copy(values.begin(), values.end(), result.data());
  return result;
}

}  // namespace cobre::bind

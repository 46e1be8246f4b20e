#pragma once

#include <array>
#include <utility>

#include "engines/cuda/resident/device_layout.cuh"
#include "engines/cuda/resident/kernel.cuh"

namespace spdnn::cuda::resident {

/// The kernels of a shape. Each takes several seconds to compile, so there is one source file per type of stored
/// activations.
template <ResidentShape kShape>
constexpr Instance instance() {
  Instance made{.shape = kShape,
                .even = {.uniform = resident_kernel<Config<kShape, LayoutKind{}>>,
                         .values = resident_kernel<Config<kShape, LayoutKind{.values = true}>>},
                .uneven = {}};
  if constexpr (kShape.also_uneven)
    made.uneven = {.uniform = resident_kernel<Config<kShape, LayoutKind{.uneven = true}>>,
                   .values = resident_kernel<Config<kShape, LayoutKind{.values = true, .uneven = true}>>};
  return made;
}

/// The kernels of all shapes of a table.
template <const auto& kTable, std::size_t... kNumbers>
constexpr std::array<Instance, sizeof...(kNumbers)> instances(std::index_sequence<kNumbers...>) {
  return {instance<kTable.all[kNumbers]>()...};
}
template <const auto& kTable>
inline constexpr auto kInstances = instances<kTable>(std::make_index_sequence<kTable.all.size()>());

}  // namespace spdnn::cuda::resident

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "program/kernel.hpp"
#include "program/target.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/types.hpp"

// The declaration of a line of src/engines/kernels.def.

/// The declaration of the one function that a family of kernels consists of, in namespace spdnn.
#define SPDNN_DECLARE_KERNELS(name, ...) program::FamilyKernels kernels_##name(Precision precision);

/// An element of a std::vector<program::Family>. A Use may follow the description.
#define SPDNN_LIST_KERNELS(name, device, zeros, description, ...) \
  {#name, Device::device, program::Zeros::zeros, description, kernels_##name __VA_OPT__(, program::Use::) __VA_ARGS__},

namespace spdnn::program {

/// A family's kernels for a precision on this machine; those for a device, whether or not it can be used.
struct FamilyKernels {
  Kernels kernels{};
  std::string why_not{};                                    ///< where there are none
  std::shared_ptr<Target> (*target)(int device) = nullptr;  ///< if the kernels run on a device
};

enum class Zeros { multiplied, skipped };

/// The purpose of kernels: programs, or measurements that compare these with others.
enum class Use { programs, comparisons };

/// Kernels that are offered together: a folder.
struct Family {
  std::string_view name;
  Device device;
  Zeros zeros;  ///< of weights: whether any kernel leaves them out
  std::string_view description;
  FamilyKernels (*kernels)(Precision precision);
  Use use = Use::programs;
};

}  // namespace spdnn::program

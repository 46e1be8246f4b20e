// toy_relu: the smallest possible kernel, and the example of src/program/README.md for adding a kernel: this file, and
// one line in a list.

#include <algorithm>

#include "program/family.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(toy_relu)

namespace {

std::vector<program::Offer> toy_offers(const program::Request& request, const Activation& activation) {
  if (activation.kind != Activation::Kind::relu) return {};
  program::Offer offer;
  offer.inputs = {program::kRows};
  offer.output = program::kRows;
  offer.bind = [count = program::elements_of(program::kRows, request.output_shape())] {
    return program::bound([=](const program::Operands& at) {
      std::transform(at.floats(0), at.floats(0) + count, at.results(), [](float x) { return std::max(x, 0.F); });
    });
  };
  return {offer};
}

}  // namespace

program::FamilyKernels kernels_toy_relu(Precision /*precision*/) {
  static const program::OperationKernel kernel("toy_relu", toy_offers);
  return {.kernels = {&kernel}};
}

}  // namespace spdnn

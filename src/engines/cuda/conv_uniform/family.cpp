// The family conv_uniform: convolutions whose filters have equally many entries, to compare others with. All numbers of
// images of a lane are timed when an offer is asked for.

#include "program/family.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "engines/cuda/conv_direct/target.hpp"
#include "engines/cuda/conv_direct/weighted.hpp"
#include "engines/cuda/conv_uniform/uniform.hpp"
#include "engines/cuda/runtime/check.hpp"
#include "program/operation_kernel.hpp"
#include "program/trial.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_uniform)

namespace cuda {

namespace {

double measured_seconds(const program::Request& request, const program::Offer& offer) {
  constexpr Index kRuns = 3;
  int device = 0;
  check(cudaGetDevice(&device));
  const auto target = target_of(device);
  const auto fill = [](std::byte* to, const program::Layout& layout, const Shape& shape) {
    std::memset(to, 0, program::bytes_of(layout, shape));
  };
  program::Trial trial(request, offer, fill, target.get());
  trial.seconds(1);
  const std::vector<double> seconds = trial.seconds(kRuns);
  return *std::min_element(seconds.begin(), seconds.end());
}

template <bool kHalf>
std::vector<program::Offer> uniform_offers(const program::Request& request, const Convolution& convolution) try {
  std::vector<program::Offer> offers;
  std::vector<std::string> times;
  for (const Index images : kSubBatches)
    for (program::Offer& offer : convolution_offers_in({.images = images, .equal = true, .half = kHalf},
                                                       convolve_uniformly, request, convolution)) {
      if (!offer.takes()) return program::only(std::move(offer));
      offer.seconds = measured_seconds(request, offer);
      offer.detail = fmt::format("subBatchSize {}, {}", images, offer.detail);
      times.push_back(fmt::format("{}: {:.4f} ms", images, 1e3 * offer.seconds));
      offers.push_back(std::move(offer));
    }
  for (program::Offer& offer : offers) offer.detail += fmt::format("; measured {}", fmt::join(times, ", "));
  if (offers.empty())
    return program::only(
        {.why_not = "groups have too few filters, or not even one channel of a tile fits into shared memory"});
  return offers;
} catch (const DeviceError& error) {
  return program::only({.why_not = error.what()});
}

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_uniform(Precision precision) {
  static const program::OperationKernel kernel("conv_uniform", cuda::uniform_offers<false>);
  static const program::OperationKernel half("conv_uniform", cuda::uniform_offers<true>);
  if (precision == Precision::fp32) return {.kernels = {&kernel}};
  if (precision == Precision::fp16) return {.kernels = {&half}};
  return {.why_not = fmt::format("conv_uniform does not compute in {}", to_string(precision))};
}

}  // namespace spdnn

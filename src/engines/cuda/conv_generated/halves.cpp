#include "engines/cuda/conv_generated/halves.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_direct/taps.hpp"

namespace spdnn::cuda {

namespace {

using program::Change;
using program::kImages32;
using program::Offer;
using program::Operands;

/// Halves are changed to images32 and back; other layouts by way of that.
class HalfChanges final : public program::Kernel {
 public:
  std::string_view name() const override { return "halves"; }

  Offer change(const Change& change) const override {
    const bool to_halves = change.to == kHalves;
    if (to_halves == (change.from == kHalves)) return {.why_not = "changes to halves and back alone"};
    const auto blocks = blocks_of(kImages32, change.shape);
    const auto elements = static_cast<std::size_t>(elements_of_image(change.shape));
    const std::size_t bytes = bytes_of(kImages32, change.shape);
    const double seconds = seconds_on_device(static_cast<double>(bytes + bytes_of(kHalves, change.shape)));
    const auto convert = [=](const std::byte* from, std::byte* to) {
      if (to_halves)
        images32_to_halves(reinterpret_cast<const float*>(from), blocks, elements, to, cudaStreamPerThread);
      else
        halves_to_images32(from, blocks, elements, reinterpret_cast<float*>(to), cudaStreamPerThread);
    };
    const program::Layout& other = to_halves ? change.from : change.to;
    if (other == kImages32) {
      Offer offer{.seconds = seconds};
      offer.bind = [=] { return program::bound([=](const Operands& at) { convert(at.inputs[0], at.output); }); };
      return offer;
    }
    Change rest = change;
    (to_halves ? rest.to : rest.from) = kImages32;
    Offer offer = changes_kernel().change(rest);
    if (!offer.takes()) return offer;
    offer.scratch += bytes;  // a multiple of 128
    offer.scratch_on_device = true;
    offer.seconds += seconds;
    offer.bind = [=, bind = offer.bind] {
      return program::bound([=, inner = std::shared_ptr<program::Bound>(bind())](const Operands& at) {
        Operands of_rest = at;
        of_rest.scratch += bytes;
        if (to_halves)
          of_rest.output = at.scratch;
        else
          of_rest.inputs = {at.scratch};
        inner->place(of_rest);
        if (!to_halves) convert(at.inputs[0], at.scratch);
        inner->run();
        if (to_halves) convert(at.scratch, at.output);
      });
    };
    return offer;
  }
};

bool is_beyond_halves(float number) { return !std::isfinite(float_of_f16(nearest_f16(number))); }

}  // namespace

bool fits_halves(const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  for (Index filter = 0; filter < weights.rows; ++filter)
    if (weights.degree(filter) > kMostTermsInHalves) return false;
  for (Offset i = 0; i < weights.entries(); ++i)
    if (is_beyond_halves(weights.entry_value(i))) return false;
  return std::none_of(convolution.bias.begin(), convolution.bias.end(), is_beyond_halves);
}

std::vector<Offer> half_offers_by_taps(const program::Request& request, const Convolution& convolution) {
  Offer offer = tap_offer(request, convolution, kHalves, convolve_halves_by_taps);
  offer.terms_in_fp16 = program::kAllTerms;
  return {std::move(offer)};
}

const program::Kernel& half_changes_kernel() {
  static const HalfChanges kernel;
  return kernel;
}

}  // namespace spdnn::cuda

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "program/epilogue.hpp"
#include "program/kernel.hpp"

namespace spdnn {

/// The offer of a convolution of row-major images on tiles, with all fused nodes: everything except its detail and
/// the seconds until `finish`. `form` and `bytes` describe packed Filters; scratch_size() and convolve() are of the
/// tiling's namespace.
template <class Filters, class Tiling, class Kernels>
program::Offer offer_on_tiles(const program::Request& request, const Convolution& convolution,
                              const std::shared_ptr<const Tiling>& tiling, const Kernels& kernels, std::string form,
                              std::size_t bytes) {
  program::Offer offer;
  offer.fused = true;
  offer.inputs.assign(request.inputs.size(), program::kRows);
  offer.scratch = scratch_size(*tiling, request.threads) * sizeof(float);
  offer.constants.push_back({0, std::move(form), bytes, [tiling, &convolution](std::byte* to) {
                               Filters::pack(*tiling, convolution.weights, convolution.bias, to);
                             }});
  const program::Epilogue epilogue(request);
  offer.seconds = epilogue.finish_seconds(Tiling::kAdds, elements(request.output_shape()).value(), request.threads);
  offer.bind = [tiling, &kernels, threads = request.threads, epilogue] {
    return program::bound([=, &kernels](const program::Operands& at) {
      convolve(*tiling, kernels, Filters(*tiling, at.constants[0]), threads, at.floats(0),
               reinterpret_cast<float*>(at.scratch), at.results(), epilogue.ending(at, Tiling::kAdds));
    });
  };
  return offer;
}

}  // namespace spdnn

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "program/epilogue.hpp"
#include "program/kernel.hpp"

namespace spdnn {

/// The offer of a convolution of row-major images on tiles, with all fused nodes: everything except its detail and
/// seconds. `form` and `bytes` describe packed Filters; scratch_size() and convolve() are of the tiling's namespace.
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
  offer.bind = [tiling, &kernels, threads = request.threads, epilogue = program::Epilogue(request)] {
    return program::bound([=, &kernels](const program::Operands& at) {
      convolve(*tiling, kernels, Filters(*tiling, at.constants[0]), threads, at.floats(0),
               reinterpret_cast<float*>(at.scratch), at.results(), epilogue.ending(at));
    });
  };
  return offer;
}

}  // namespace spdnn

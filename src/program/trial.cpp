#include "program/trial.hpp"

#include <algorithm>
#include <cstdint>

namespace spdnn::program {

Trial::Trial(const Request& request, const Offer& offer) : bound_(offer.bind()) {
  Operands at;
  for (std::size_t i = 0; i < offer.inputs.size(); ++i) {
    const std::size_t bytes = bytes_of(offer.inputs[i], request.inputs[i].shape);
    std::byte* const input = memory_of(bytes);
    constexpr std::uint16_t kHalf = 0x3f00;  // twice, it is an fp32 number just above 1/2
    std::fill_n(reinterpret_cast<std::uint16_t*>(input), bytes / sizeof(kHalf), kHalf);
    at.inputs.push_back(input);
  }
  at.output = memory_of(bytes_of(offer.output, request.output_shape()));
  if (offer.scratch > 0) at.scratch = memory_of(offer.scratch);
  for (const Constant& constant : offer.constants) {
    std::byte* const to = memory_of(constant.bytes);
    constant.fill(to);
    at.constants.push_back(to);
  }
  bound_->place(at);
}

std::byte* Trial::memory_of(std::size_t bytes) {
  memory_.emplace_back(bytes);
  return memory_.back().data();
}

}  // namespace spdnn::program

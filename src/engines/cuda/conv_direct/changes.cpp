// The kernel that changes between rows in the host's memory and images32.

#include "engines/cuda/conv_direct/images32.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

using program::Change;
using program::Offer;
using program::Operands;

/// Predicted seconds of copying bytes between pageable host memory and the device.
double seconds_of_copy(double bytes) { return 1e-5 + bytes / 1e10; }

class Changes final : public program::Kernel {
 public:
  std::string_view name() const override { return "images32"; }

  Offer change(const Change& change) const override {
    const bool to_device = change.from == program::kRows && change.to == program::kImages32;
    const bool to_host = change.from == program::kImages32 && change.to == program::kRows;
    if (!to_device && !to_host) return {.why_not = "changes between rows and images32 alone"};
    const auto images = static_cast<std::size_t>(change.shape.front());
    const auto elements = static_cast<std::size_t>(elements_of_image(change.shape));
    const std::size_t bytes = images * elements * sizeof(float);
    Offer offer{.scratch = bytes, .scratch_on_device = true};
    offer.seconds = seconds_of_copy(static_cast<double>(bytes));
    offer.bind = [=] {
      return program::bound([=](const Operands& at) {
        auto* const rows = reinterpret_cast<float*>(at.scratch);
        if (to_device) {
          check(cudaMemcpyAsync(rows, at.inputs[0], bytes, cudaMemcpyHostToDevice, cudaStreamPerThread));
          rows_to_images32(rows, images, elements, at.results(), cudaStreamPerThread);
        } else {
          images32_to_rows(at.floats(0), images, elements, rows, cudaStreamPerThread);
          check(cudaMemcpyAsync(at.output, rows, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread));
          check(cudaStreamSynchronize(cudaStreamPerThread));
        }
      });
    };
    return offer;
  }
};

}  // namespace

const program::Kernel& changes_kernel() {
  static const Changes kernel;
  return kernel;
}

}  // namespace spdnn::cuda

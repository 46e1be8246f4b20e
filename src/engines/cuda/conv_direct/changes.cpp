// The kernel that changes between rows, of the host or of the device, and images32.

#include <cuda_runtime_api.h>

#include "engines/cuda/conv_direct/copies.hpp"
#include "engines/cuda/conv_direct/images32.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"

namespace spdnn::cuda {

namespace {

using program::Change;
using program::kDeviceRows;
using program::kRows;
using program::Layout;
using program::Offer;
using program::Operands;

/// Predicted seconds of copying bytes between pageable host memory and the device.
double seconds_of_copy(double bytes) { return 1e-5 + bytes / 1e10; }

class Changes final : public program::Kernel {
 public:
  std::string_view name() const override { return "images32"; }

  Offer change(const Change& change) const override {
    if (change.from != change.to && are_rows(change.from) && are_rows(change.to)) return copy(change);
    const bool to_blocks = change.to == program::kImages32;
    const Layout& rows = to_blocks ? change.from : change.to;
    const bool takes = (to_blocks || change.from == program::kImages32) && are_rows(rows);
    if (!takes) return {.why_not = "changes between rows and images32 alone"};
    const auto images = static_cast<std::size_t>(change.shape.front());
    const auto elements = static_cast<std::size_t>(elements_of_image(change.shape));
    const std::size_t bytes = images * elements * sizeof(float);
    const bool copies = rows == kRows;
    Offer offer{.scratch = copies ? bytes : 0, .scratch_on_device = true};
    offer.seconds =
        copies ? seconds_of_copy(static_cast<double>(bytes)) : seconds_on_device(2 * static_cast<double>(bytes));
    offer.bind = [=] {
      return program::bound([=](const Operands& at) {
        auto* const scratch = reinterpret_cast<float*>(at.scratch);
        if (to_blocks) {
          if (copies) copy_to_device(scratch, at.inputs[0], bytes);
          rows_to_images32(copies ? scratch : at.floats(0), images, elements, at.results(), cudaStreamPerThread);
        } else {
          images32_to_rows(at.floats(0), images, elements, copies ? scratch : at.results(), cudaStreamPerThread);
          if (copies) copy_to_host(at.output, scratch, bytes);
        }
      });
    };
    return offer;
  }

 private:
  static bool are_rows(const Layout& layout) { return layout == kRows || layout == kDeviceRows; }

  /// Between rows of the host and of the device.
  static Offer copy(const Change& change) {
    const std::size_t bytes = bytes_of(kRows, change.shape);
    const bool to_device = change.to == kDeviceRows;
    Offer offer{.seconds = seconds_of_copy(static_cast<double>(bytes))};
    offer.bind = [=] {
      return program::bound([=](const Operands& at) {
        to_device ? copy_to_device(at.output, at.inputs[0], bytes) : copy_to_host(at.output, at.inputs[0], bytes);
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

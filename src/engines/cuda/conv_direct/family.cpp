// The family conv_direct: kernels for models on a GPU, on blocks of 32 images.

#include "program/family.hpp"

#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_direct/target.hpp"
#include "engines/cuda/runtime/device_info.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_direct)

namespace cuda {

bool has_images(const program::Request& request, std::size_t input) {
  const Shape& shape = request.inputs[input].shape;
  const Shape output = request.output_shape();
  return !request.model.values[request.inputs[input].value].constant && !shape.empty() && !output.empty() &&
         shape.front() == output.front();
}

double seconds_on_device(double bytes, double multiply_adds) {
  constexpr double kLaunch = 3e-6;
  constexpr double kBytesPerSecond = 2e12;
  constexpr double kMultiplyAddsPerSecond = 5e12;  // of one read from shared memory each
  return kLaunch + bytes / kBytesPerSecond + multiply_adds / kMultiplyAddsPerSecond;
}

Extent elements_of_image(const Shape& shape) {
  Shape image = shape;
  image.front() = 1;
  return static_cast<Extent>(elements(image).value());
}

}  // namespace cuda

program::FamilyKernels kernels_conv_direct(Precision /*precision*/) {
  std::string why_not;
  if (!cuda::cuda_available(&why_not, 0)) return {.why_not = why_not};
  return {.kernels = {&cuda::changes_kernel(), &cuda::weighted_kernel(), &cuda::functions_kernel()},
          .target = cuda::target_of};
}

}  // namespace spdnn

// The family conv_direct: kernels for models on a GPU.

#include "program/family.hpp"

#include <functional>
#include <utility>

#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_direct/target.hpp"
#include "program/operation_kernel.hpp"

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
  constexpr double kMultiplyAddsPerSecond = 6e12;  // of one read from shared memory each
  return kLaunch + bytes / kBytesPerSecond + multiply_adds / kMultiplyAddsPerSecond;
}

program::Offer element_offer(const program::Request& request, const program::Layout& layout,
                             std::function<void(const program::Operands&)> run, double multiply_adds) {
  auto bytes = static_cast<double>(bytes_of(layout, request.output_shape()));
  for (std::size_t i = 0; i < request.own_inputs(); ++i)
    if (has_images(request, i)) bytes += static_cast<double>(bytes_of(layout, request.inputs[i].shape));
  program::Offer offer;
  offer.inputs.assign(request.own_inputs(), layout);
  offer.output = layout;
  offer.fused = request.step.fused.empty();
  offer.seconds = seconds_on_device(bytes, multiply_adds);
  offer.bind = [run = std::move(run)] { return program::bound(run); };
  return offer;
}

Extent elements_of_image(const Shape& shape) {
  Shape image = shape;
  image.front() = 1;
  return static_cast<Extent>(elements(image).value());
}

}  // namespace cuda

/// In fp16 convolutions alone, for images32 of fp16.
program::FamilyKernels kernels_conv_direct(Precision precision) {
  static const program::OperationKernel half("conv_direct", cuda::half_offers);
  if (precision == Precision::fp16) return {.kernels = {&half}, .target = cuda::target_of};
  static const program::OperationKernel kernels[] = {
      {"conv_direct", cuda::convolution_offers}, {"conv_direct", cuda::linear_offers},
      {"elements", cuda::activation_offers},     {"elements", cuda::elementwise_offers},
      {"elements", cuda::concat_offers},         {"elements", cuda::pool_offers},
      {"elements", cuda::global_pool_offers},    {"elements", cuda::pad_offers},
      {"elements", cuda::transpose_offers},      {"elements", cuda::resize_offers},
      {"elements", cuda::batch_norm_offers},     {"elements", cuda::softmax_offers},
      {"elements", cuda::reduce_offers},         {"elements", cuda::product_offers}};
  program::FamilyKernels family{.kernels = program::all_of(kernels), .target = cuda::target_of};
  family.kernels.push_back(&cuda::changes_kernel());
  return family;
}

}  // namespace spdnn

#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/runtime/check.hpp"

namespace spdnn::cuda {

namespace {

__global__ void __launch_bounds__(kElementThreads)
    apply_kernel(const float* x, std::size_t elements, const __grid_constant__ Functions functions, float* y) {
  for_each_element(elements, [&](std::size_t i) {
    const std::size_t place = i * kLanes + threadIdx.x % kLanes;
    y[place] = apply(functions, x[place], place);
  });
}

__global__ void __launch_bounds__(kElementThreads)
    slopes_kernel(const float* x, std::size_t elements, std::size_t channels, std::size_t plane, const float* slopes,
                  float* y) {
  for_each_element(elements, [&](std::size_t i) {
    const std::size_t place = i * kLanes + threadIdx.x % kLanes;
    const float value = x[place];
    y[place] = value < 0 ? slopes[i / plane % channels] * value : value;
  });
}

__global__ void __launch_bounds__(kElementThreads)
    library_kernel(const float* x, std::size_t elements, ElementFunction function, float alpha, float* y) {
  for_each_element(elements, [&](std::size_t i) {
    const std::size_t place = i * kLanes + threadIdx.x % kLanes;
    y[place] = library_function(function, alpha, x[place]);
  });
}

__device__ float combined(Combination combination, float a, float b) {
  switch (combination) {
    case Combination::add:
      return a + b;
    case Combination::subtract:
      return a - b;
    case Combination::multiply:
      return a * b;
    case Combination::divide:
      return a / b;
    case Combination::maximum:
      return fmaxf(a, b);
    case Combination::power:
      return powf(a, b);
    default:
      return fminf(a, b);
  }
}

__global__ void __launch_bounds__(kElementThreads)
    combine_kernel(const float* a, const float* b, std::size_t blocks, std::size_t elements,
                   const __grid_constant__ Broadcast broadcast, Combination combination, float* y) {
  const Index lane = threadIdx.x % kLanes;
  for_each_element(blocks * elements, [&](std::size_t i) {
    std::size_t places[2] = {0, 0};
    auto rest = static_cast<Index>(i % elements);
    for (Index axis = broadcast.axes; axis-- > 0;) {
      const Index at = rest % broadcast.extents[axis];
      rest /= broadcast.extents[axis];
      for (Index k = 0; k < 2; ++k) places[k] += std::size_t{at} * broadcast.steps[k][axis];
    }
    const auto operand = [&](const float* from, Index k) {
      return broadcast.has_images[k] ? from[(i / elements * broadcast.elements[k] + places[k]) * kLanes + lane]
                                     : from[places[k]];
    };
    y[i * kLanes + lane] = combined(combination, operand(a, 0), operand(b, 1));
  });
}

__global__ void __launch_bounds__(kElementThreads)
    join_kernel(const float* x, std::size_t elements, std::size_t own, std::size_t all, std::size_t first, float* y) {
  const Index lane = threadIdx.x % kLanes;
  for_each_element(elements,
                   [&](std::size_t i) { y[(i / own * all + first + i % own) * kLanes + lane] = x[i * kLanes + lane]; });
}

__global__ void __launch_bounds__(kElementThreads)
    pool_kernel(const float* x, std::size_t planes, const __grid_constant__ Pooling pooling, float* y) {
  const Index lane = threadIdx.x % kLanes;
  const Index out_plane = pooling.out[0] * pooling.out[1];
  for_each_element(planes * out_plane, [&](std::size_t i) {
    const float* from = x + i / out_plane * pooling.in[0] * pooling.in[1] * kLanes + lane;
    const auto pixel = static_cast<Index>(i % out_plane);
    const Index at[2] = {pixel / pooling.out[1], pixel % pooling.out[1]};
    float value = pooling.maximum ? -INFINITY : 0.0F;
    Index places = 0;
    for (Index r = 0; r < pooling.kernel[0]; ++r)
      for (Index s = 0; s < pooling.kernel[1]; ++s) {
        const Index row = at[0] * pooling.stride[0] + r * pooling.dilation[0];     // in the padded image
        const Index column = at[1] * pooling.stride[1] + s * pooling.dilation[1];  // likewise
        const bool padded = row < pooling.pad_begin[0] + pooling.in[0] + pooling.pad_end[0] &&
                            column < pooling.pad_begin[1] + pooling.in[1] + pooling.pad_end[1];
        const bool exists = row >= pooling.pad_begin[0] && row < pooling.pad_begin[0] + pooling.in[0] &&
                            column >= pooling.pad_begin[1] && column < pooling.pad_begin[1] + pooling.in[1];
        places += exists || (pooling.count_padding && padded) ? 1 : 0;
        if (!exists) continue;
        const float one =
            from[((row - pooling.pad_begin[0]) * std::size_t{pooling.in[1]} + column - pooling.pad_begin[1]) * kLanes];
        value = !pooling.maximum ? value + one : one > value || isnan(one) ? one : value;
      }
    y[i * kLanes + lane] = pooling.maximum ? value : value / static_cast<float>(places);
  });
}

}  // namespace

void apply_functions(const float* x, std::size_t count, const Functions& functions, float* y, cudaStream_t stream) {
  const std::size_t elements = count / kLanes;
  apply_kernel<<<element_blocks(elements), kElementThreads, 0, stream>>>(x, elements, functions, y);
  check_launch();
}

void apply_library_function(const float* x, std::size_t count, ElementFunction function, float alpha, float* y,
                            cudaStream_t stream) {
  const std::size_t elements = count / kLanes;
  library_kernel<<<element_blocks(elements), kElementThreads, 0, stream>>>(x, elements, function, alpha, y);
  check_launch();
}

void apply_slopes(const float* x, std::size_t blocks, std::size_t channels, std::size_t plane, const float* slopes,
                  float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * channels * plane;
  slopes_kernel<<<element_blocks(elements), kElementThreads, 0, stream>>>(x, elements, channels, plane, slopes, y);
  check_launch();
}

void combine(const float* a, const float* b, std::size_t blocks, const Broadcast& broadcast, Combination combination,
             float* y, cudaStream_t stream) {
  std::size_t elements = 1;
  for (Index axis = 0; axis < broadcast.axes; ++axis) elements *= broadcast.extents[axis];
  combine_kernel<<<element_blocks(blocks * elements), kElementThreads, 0, stream>>>(a, b, blocks, elements, broadcast,
                                                                                    combination, y);
  check_launch();
}

void join(const float* x, std::size_t blocks, std::size_t outer, std::size_t own, std::size_t all, std::size_t first,
          float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * outer * own;
  join_kernel<<<element_blocks(elements), kElementThreads, 0, stream>>>(x, elements, own, all, first, y);
  check_launch();
}

void pool(const float* x, std::size_t planes, const Pooling& pooling, float* y, cudaStream_t stream) {
  pool_kernel<<<element_blocks(planes * pooling.out[0] * pooling.out[1]), kElementThreads, 0, stream>>>(x, planes,
                                                                                                        pooling, y);
  check_launch();
}

}  // namespace spdnn::cuda

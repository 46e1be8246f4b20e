#include "engines/cuda/conv_direct/elements.cuh"
#include "engines/cuda/conv_direct/functions.cuh"
#include "engines/cuda/conv_direct/pools.cuh"

namespace spdnn::cuda {

namespace {

__global__ void __launch_bounds__(kElementThreads)
    apply_kernel(const float* x, std::size_t count, const __grid_constant__ Functions functions, float* y) {
  for_each_element(count, 1, [&](std::size_t i, Index) { y[i] = apply(functions, x[i], i); });
}

__global__ void __launch_bounds__(kElementThreads)
    slopes_kernel(const float* x, std::size_t elements, Index together, std::size_t channels, std::size_t plane,
                  const float* slopes, float* y) {
  for_each_element(elements, together, [&](std::size_t i, Index lane) {
    const std::size_t place = i * together + lane;
    const float value = x[place];
    y[place] = value < 0 ? slopes[i / plane % channels] * value : value;
  });
}

__global__ void __launch_bounds__(kElementThreads)
    library_kernel(const float* x, std::size_t count, ElementFunction function, float alpha, float* y) {
  for_each_element(count, 1, [&](std::size_t i, Index) { y[i] = library_function(function, alpha, x[i]); });
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
    combine_kernel(const float* a, const float* b, std::size_t blocks, Index together, std::size_t elements,
                   const __grid_constant__ Broadcast broadcast, Combination combination, float* y) {
  for_each_element(blocks * elements, together, [&](std::size_t i, Index lane) {
    std::size_t places[2] = {0, 0};
    auto rest = static_cast<Index>(i % elements);
    for (Index axis = broadcast.axes; axis-- > 0;) {
      const Index at = rest % broadcast.extents[axis];
      rest /= broadcast.extents[axis];
      for (Index k = 0; k < 2; ++k) places[k] += std::size_t{at} * broadcast.steps[k][axis];
    }
    const auto operand = [&](const float* from, Index k) {
      return broadcast.has_images[k] ? from[(i / elements * broadcast.elements[k] + places[k]) * together + lane]
                                     : from[places[k]];
    };
    y[i * together + lane] = combined(combination, operand(a, 0), operand(b, 1));
  });
}

__global__ void __launch_bounds__(kElementThreads)
    join_kernel(const float* x, std::size_t elements, Index together, std::size_t own, std::size_t all,
                std::size_t first, float* y) {
  for_each_element(elements, together, [&](std::size_t i, Index lane) {
    y[(i / own * all + first + i % own) * together + lane] = x[i * together + lane];
  });
}

template <class Numbers>
void launch_pool(const void* x, std::size_t planes, Index together, const Pooling& pooling, void* y,
                 cudaStream_t stream) {
  const Index groups = together / Numbers::kNumbers;
  launch_overlapped(pool_kernel<Numbers>, element_blocks(planes * pooling.out[0] * pooling.out[1], groups),
                    kElementThreads, 0, stream, static_cast<const Numbers*>(x), planes, groups, pooling,
                    static_cast<Numbers*>(y));
}

}  // namespace

void apply_functions(const float* x, std::size_t count, const Functions& functions, float* y, cudaStream_t stream) {
  launch_overlapped(apply_kernel, element_blocks(count, 1), kElementThreads, 0, stream, x, count, functions, y);
}

void apply_library_function(const float* x, std::size_t count, ElementFunction function, float alpha, float* y,
                            cudaStream_t stream) {
  launch_overlapped(library_kernel, element_blocks(count, 1), kElementThreads, 0, stream, x, count, function, alpha, y);
}

void apply_slopes(const float* x, std::size_t blocks, Index together, std::size_t channels, std::size_t plane,
                  const float* slopes, float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * channels * plane;
  launch_overlapped(slopes_kernel, element_blocks(elements, together), kElementThreads, 0, stream, x, elements,
                    together, channels, plane, slopes, y);
}

void combine(const float* a, const float* b, std::size_t blocks, Index together, const Broadcast& broadcast,
             Combination combination, float* y, cudaStream_t stream) {
  std::size_t elements = 1;
  for (Index axis = 0; axis < broadcast.axes; ++axis) elements *= broadcast.extents[axis];
  launch_overlapped(combine_kernel, element_blocks(blocks * elements, together), kElementThreads, 0, stream, a, b,
                    blocks, together, elements, broadcast, combination, y);
}

void join(const float* x, std::size_t blocks, Index together, std::size_t outer, std::size_t own, std::size_t all,
          std::size_t first, float* y, cudaStream_t stream) {
  const std::size_t elements = blocks * outer * own;
  launch_overlapped(join_kernel, element_blocks(elements, together), kElementThreads, 0, stream, x, elements, together,
                    own, all, first, y);
}

void pool(const float* x, std::size_t planes, Index together, const Pooling& pooling, float* y, cudaStream_t stream) {
  const auto covers = [&](int axis) {
    return pooling.out[axis] == 1 && pooling.kernel[axis] == pooling.in[axis] && pooling.pad[axis] == 0;
  };
  if (together > 1) return launch_pool<FloatsOfPlace>(x, planes, together, pooling, y, stream);
  if (!covers(0) || !covers(1) || pooling.dilation[0] != 1 || pooling.dilation[1] != 1)
    return launch_pool<FloatOfPlace>(x, planes, together, pooling, y, stream);
  launch_overlapped(pool_planes_kernel, element_blocks(planes, kLanes), kElementThreads, 0, stream, x, planes,
                    pooling.in[0] * pooling.in[1], pooling.maximum, y);
}

void pool_halves(const std::byte* x, std::size_t planes, const Pooling& pooling, std::byte* y, cudaStream_t stream) {
  launch_pool<HalvesOfPlace>(x, planes, 2 * kLanes, pooling, y, stream);
}

}  // namespace spdnn::cuda

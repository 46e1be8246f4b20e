#pragma once

// Convolutions in which each output pixel reads the input pixel of its own place. A lane has four neighbouring pixels,
// so that each read and each store has 16 bytes.

#include <type_traits>

#include "engines/cuda/conv_pixels/sums.cuh"

namespace spdnn::cuda {

class QuadSums : public PixelSums<1, 4> {
 public:
  __device__ QuadSums(const PixelArgs& args, Index first_pixel) {
    const PixelShape& shape = args.shape;
    const Index number = first_pixel + threadIdx.x % kPixelLanes * kPixels;
    exists_[0] = number < shape.pixels();
    const Index pixel = exists_[0] ? number : 0;
    const Index image = shape.images == 1 ? 0 : pixel / shape.plane();
    const Index within = pixel - image * shape.plane();
    from_ = args.x + image * shape.channels * shape.plane() + within;
    to_[0] = image * shape.filters * shape.plane() + within;
  }

  __device__ void add(const Entry* entry, const Entry* end) {
    constexpr Index kAhead = 4;
    add_products<kAhead>(entry, end, [this](const Entry& of, Four& values) { read(from_ + of.place, values); });
  }

  __device__ void prefetch(const PixelArgs& args, const PixelBundle<1>& bundle) const {
    if (!exists(bundle)) return;
    for (Index i = 0; i < args.functions.count; ++i)
      if (args.functions.all[i].kind == Function::Kind::addition)
        prefetch_to_l1(args.functions.all[i].other + place(args, bundle));
  }

  __device__ void store(const PixelArgs& args, const PixelBundle<1>& bundle) {
    if (!exists(bundle)) return;
    const Index to = place(args, bundle);
    Four& sums = sums_[0];
    for (float& sum : sums) sum += bundle.bias[0];
    with_functions(args.functions, [&](const auto& function) {
      if constexpr (std::is_same_v<std::decay_t<decltype(function)>, Addition>) {
        Four other;
        read(function.other + to, other);
        for (Index p = 0; p < kPixels; ++p) sums[p] += other[p];
      } else {
        for (float& sum : sums) sum = function(sum, to);
      }
    });
    *reinterpret_cast<float4*>(args.y + to) = {sums[0], sums[1], sums[2], sums[3]};
  }

 private:
  using Four = float[kPixels];

  __device__ bool exists(const PixelBundle<1>& bundle) const { return exists_[0] && bundle.filters[0] != kNobody; }
  __device__ Index place(const PixelArgs& args, const PixelBundle<1>& bundle) const {
    return to_[0] + bundle.filters[0] * args.shape.plane();
  }
  __device__ static void read(const float* from, Four& to) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }

  const float* from_;
};

}  // namespace spdnn::cuda

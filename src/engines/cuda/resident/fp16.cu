// The tile shapes of the `resident` engine with activations stored as halves: twice the images of fp32 in as much
// shared memory. Sums and biases stay fp32, so a thread's finished outputs, halves too, take the registers that fp32
// ones take.

#include <array>

#include "engines/cuda/resident/instances.cuh"

namespace spdnn::cuda::resident {

namespace {

/// <images, images a thread, threads, rounds, blocks, chunks ahead>. A tile has at most 32 images, so that the smaller
/// networks have two blocks a multiprocessor where fp32 has one.
constexpr std::array kShapes = {
    instance<__half, 32, 16, 256, 2, 2, 2>(),  //
    instance<__half, 32, 16, 256, 8, 2, 1>(),  //
    instance<__half, 32, 16, 512, 8, 1, 1>(),  //
    instance<__half, 16, 16, 512, 8, 1, 1>(),  //
    instance<__half, 8, 8, 512, 16, 1, 2>(),   //
    instance<__half, 4, 4, 1024, 16, 1, 2>(),  //
    instance<__half, 16, 8, 512, 4, 1, 2>(),   // small tiles
};
constexpr std::size_t kLargeTiles = 6;

}  // namespace

Shapes shapes_fp16() { return {kShapes, kLargeTiles}; }

}  // namespace spdnn::cuda::resident

// The tile shapes of the `resident` engine with activations stored as fp32.

#include <array>

#include "engines/cuda/resident/instances.cuh"

namespace spdnn::cuda::resident {

namespace {

/// <images, images a thread, threads, rounds, blocks, chunks ahead, uneven layouts too>. Several small blocks to a
/// multiprocessor for small networks, then ever fewer images as networks get wider.
constexpr std::array kShapes = {
    instance<float, 32, 16, 128, 1, 4, 2>(),        //
    instance<float, 32, 16, 256, 1, 2, 2>(),        //
    instance<float, 32, 16, 256, 2, 2, 2>(),        //
    instance<float, 32, 16, 512, 4, 1, 1, true>(),  //
    instance<float, 16, 8, 512, 8, 1, 1, true>(),   //
    instance<float, 8, 8, 512, 8, 1, 1, true>(),    //
    instance<float, 4, 4, 512, 16, 1, 2, true>(),   //
    instance<float, 2, 2, 1024, 16, 1, 2, true>(),  //
    instance<float, 8, 8, 64, 1, 8, 4>(),           // from here on: small tiles
    instance<float, 8, 8, 256, 1, 2, 4>(),          //
    instance<float, 16, 8, 512, 4, 1, 2>(),
};
constexpr std::size_t kLargeTiles = 8;

}  // namespace

Shapes shapes_fp32() { return {kShapes, kLargeTiles}; }

}  // namespace spdnn::cuda::resident

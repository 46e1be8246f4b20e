// The kernels of the `resident` engine with activations stored as halves.

#include "engines/cuda/resident/instances.cuh"

namespace spdnn::cuda::resident {

Shapes shapes_fp16() { return {kInstances<kFp16Shapes>, kFp16Shapes.kLargeTiles}; }

}  // namespace spdnn::cuda::resident

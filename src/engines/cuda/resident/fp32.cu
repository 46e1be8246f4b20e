// The kernels of the `resident` engine with activations stored as fp32.

#include "engines/cuda/resident/instances.cuh"

namespace spdnn::cuda::resident {

Shapes shapes_fp32() { return {kInstances<kFp32Shapes>, kFp32Shapes.kLargeTiles}; }

}  // namespace spdnn::cuda::resident

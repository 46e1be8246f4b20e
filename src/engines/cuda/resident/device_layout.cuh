#pragma once

// A plan on the device, laid out for one of the tile shapes for which the `resident` engine has kernels; and the table
// of these.

#include <span>
#include <vector>

#include "engines/cuda/resident/shapes.hpp"
#include "engines/cuda/resident/view.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda::resident {

using Kernel = void (*)(LayoutView, BatchView, LaunchWindow);

struct Kernels {
  Kernel uniform = nullptr;  ///< every layer has one weight
  Kernel values = nullptr;   ///< every term has its own
};

/// A tile shape with kernels.
struct Instance {
  ResidentShape shape;
  Kernels even;
  Kernels uneven;  ///< for uneven layouts; null where there are none
};

/// First the shapes of `large` tiles, of which a plan uses the first that fits; then those of small ones.
struct Shapes {
  std::span<const Instance> all;
  std::size_t large;
};
Shapes shapes_fp32();
Shapes shapes_fp16();
inline Shapes shapes_for(Precision precision) { return precision == Precision::fp16 ? shapes_fp16() : shapes_fp32(); }

/// Whether a plan's activations, and with `from_bits` its images as bits, fit the shape's tiles on the device.
bool fits_as(const Plan& plan, const Instance& instance, const cudaDeviceProp& device, bool from_bits);
/// The plan's shape of large tiles; null if none fits.
const Instance* choose_large_tiles(const Plan& plan, const Shapes& shapes, const cudaDeviceProp& device,
                                   bool from_bits);
/// The plan's shape of small tiles, which keep all multiprocessors busy when few images are left; null if none fits.
const Instance* choose_small_tiles(const Plan& plan, const Shapes& shapes, const Instance& large,
                                   const cudaDeviceProp& device, bool from_bits);

/// A layout on the device, and its launch parameters.
class DeviceLayout {
 public:
  DeviceLayout(const Plan& plan, const Instance& instance, bool from_bits, const cudaDeviceProp& device,
               cudaStream_t stream);

  const TileShape& tile() const { return shape_.tile; }
  /// Bytes that blocks read from shared memory per image in the layers up to `layer`.
  double read_bytes(Index layer) const { return static_cast<double>(reads_[layer]) * tile().activation_bytes; }

  void launch(const BatchView& batch, const LaunchWindow& window, cudaStream_t stream) const;

 private:
  void upload(const ResidentLayout& layout, const Plan& plan, cudaStream_t stream);
  void prepare_launch(const cudaDeviceProp& device);

  ResidentShape shape_;
  DeviceBuffer<std::uint32_t> chunk_stream_;
  DeviceBuffer<Offset> starts_;
  DeviceBuffer<Index> rounds_;
  DeviceBuffer<Index> splits_;
  DeviceBuffer<std::uint32_t> targets_;
  DeviceBuffer<float> biases_;
  DeviceBuffer<std::uint16_t> replicas_;
  DeviceBuffer<LayerInfo> layers_;
  LayoutView view_{};
  Kernel kernel_ = nullptr;
  std::size_t shared_bytes_ = 0;
  unsigned grid_ = 0;
  std::vector<Offset> reads_;
};

}  // namespace spdnn::cuda::resident

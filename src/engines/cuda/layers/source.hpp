#pragma once

#include <array>
#include <future>
#include <optional>
#include <vector>

#include "core/types/read_ahead.hpp"
#include "engines/cuda/layers/packing.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/engine.hpp"

namespace spdnn::cuda {

/// Additional device data of an engine for each layer, made while the layer is in host memory.
class LayerCompanion {
 public:
  LayerCompanion() = default;
  virtual ~LayerCompanion() = default;
  LayerCompanion(const LayerCompanion&) = delete;
  LayerCompanion& operator=(const LayerCompanion&) = delete;

  /// Layer k will be resident. The source's constructor calls this for all layers in order.
  virtual void add(const Layer& layer) = 0;
  /// The layer is streamed through buffer `slot` of two: its additional data may be copied on `stream`, into a buffer
  /// that no earlier work uses, from host memory that no earlier copy reads. Called by a thread of the source, not
  /// while the engine works on that slot.
  virtual void fetch(const Layer& layer, std::size_t slot, cudaStream_t stream) = 0;
};

/// The plan's layers on the device. If they fit into half of the memory budget, all are resident from construction on;
/// otherwise they are streamed through two buffers, the copy of the next layer overlapping the work on this one.
/// Engines that run layer by layer need not distinguish these cases, nor layers in host memory from layers of a file,
/// which is read while earlier layers are copied and computed.
class LayerSource {
 public:
  /// `plan` and `companion` must outlive the source. Enqueues the upload of a resident plan on `stream`.
  LayerSource(const Plan& plan, LayerFormat format, const EngineOptions& options, cudaStream_t stream,
              LayerCompanion* companion = nullptr);
  ~LayerSource();
  LayerSource(const LayerSource&) = delete;
  LayerSource& operator=(const LayerSource&) = delete;

  /// Layer k for work that the caller enqueues on its stream from now on; streamed layers stay valid for work enqueued
  /// before the next call. Cheapest in ascending order, then again from 0.
  DeviceLayer layer(Index k);

  bool resident() const { return resident_; }
  /// The buffer of the layer last requested, if layers are streamed.
  std::size_t slot() const { return current_; }

  /// Whether the plan would be resident, and the device memory that it takes in either case.
  static bool fits(const Plan& plan, LayerFormat format, const EngineOptions& options);
  static std::size_t device_bytes(const Plan& plan, LayerFormat format, const EngineOptions& options);

 private:
  struct Slot {  ///< one of the two buffers of streamed layers
    DeviceBuffer<std::byte> device;
    PinnedBuffer<std::byte> staging;
    Event copied;    ///< the layer is on the device; the staging buffer is free
    Event released;  ///< work on the earlier layer is done
    std::optional<Index> layer;
  };

  void upload_all();
  void fetch(Index k, std::size_t slot);

  const Plan& plan_;
  LayerFormat format_;
  int device_;
  cudaStream_t stream_;
  LayerCompanion* companion_;
  bool resident_;
  std::optional<ReadAhead> read_ahead_;  ///< none once all layers are resident
  DeviceBuffer<std::byte> memory_;
  std::vector<DeviceLayer> layers_;

  Stream copy_stream_;
  std::array<Slot, 2> slots_;
  std::size_t current_ = 0;  ///< the slot last handed out
  std::future<void> next_;   ///< fetch of the layer after it, into the other slot
};

}  // namespace spdnn::cuda

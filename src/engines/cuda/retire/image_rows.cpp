#include "engines/cuda/retire/image_rows.hpp"

#include <new>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "core/types/counted_csr.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/device_info.hpp"
#include "engines/cuda/runtime/handle.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "engines/cuda/runtime/staging.hpp"

namespace spdnn::cuda {

namespace {

class CopiedRows final : public ActivationsCopy {
 public:
  CopiedRows(ImageRows rows, int device)
      : rows_(std::move(rows)), device_(device), stream_(make_stream()), data_(rows_.floats(), stream_) {
    check(cudaStreamSynchronize(stream_));
  }

  float* data() const { return data_.data(); }
  /// Copies then read the rows as `stream` has written them up to this call.
  void wait_for(cudaStream_t stream) const {
    const Event written = make_event();
    check(cudaEventRecord(written, stream));
    check(cudaStreamWaitEvent(stream_, written));
  }

  CsrMatrix read(std::size_t most) const override {
    if (rows_.bytes() > most) throw std::bad_alloc();
    check(cudaSetDevice(device_));  // this may be a separate thread
    const std::shared_ptr<float[]> active = allocate<float>(rows_.floats());
    Staging().fetch(active.get(), data_.data(), rows_.bytes(), stream_);
    return rows_.csr(active.get(), most - rows_.bytes());
  }

 private:
  ImageRows rows_;
  int device_;
  Stream stream_;
  DeviceBuffer<float> data_;
};

bool has_room(std::size_t bytes, const EngineOptions& options) {
  return bytes <= memory_budget(options) &&
         (options.device_memory == 0 || pool_use().used + bytes <= options.device_memory);
}

}  // namespace

CsrMatrix ImageRows::csr(const float* active, std::size_t most) const {
  const auto row_of = [&](Index image) -> const float* {
    const Index row = of_image_[image];
    if (row == kZeros) return nullptr;
    return row == kAtCap ? at_cap_.data() : active + row * stride_;
  };
  return csr_of_rows(images(), width_, row_of, most);
}

std::unique_ptr<ActivationsCopy> copy_rows(ImageRows rows, const EngineOptions& options, cudaStream_t stream,
                                           const std::function<void(float* to)>& copy) {
  if (!has_room(rows.bytes(), options)) return nullptr;
  try {
    auto copied = std::make_unique<CopiedRows>(std::move(rows), options.device);
    copy(copied->data());
    copied->wait_for(stream);
    return copied;
  } catch (const OutOfMemory&) {
    return nullptr;
  }
}

}  // namespace spdnn::cuda

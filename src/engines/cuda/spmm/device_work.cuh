#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/threads/parallel.hpp"
#include "engines/cuda/layers/source.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/spmm/engine.hpp"
#include "engines/cuda/spmm/kernels.cuh"

namespace spdnn::cuda::spmm {

/// The work items on the device: of all layers or, if they are streamed, of the two in memory.
class DeviceWork final : public LayerCompanion {
 public:
  DeviceWork(const Plan& plan, ShareOut share_out, cudaStream_t stream)
      : plan_(plan), share_out_(std::move(share_out)), most_(most_work(plan, share_out_.cut_at)), stream_(stream) {}

  void add(const Layer& layer) override {
    if (lists_.empty() && !plan_.streamed) make_lists();
    const WorkList list = plan_.streamed ? share_out_.list(layer.weights) : std::move(lists_[resident_.size()]);
    Resident& resident = resident_.emplace_back();
    resident.work = counts(layer, list);
    resident.by_row = list.items.empty();
    resident.first_item = all_.items.size();
    resident.first_cut = all_.cuts.size();
    resident.first_shared = all_.shared.size();
    all_.items.insert(all_.items.end(), list.items.begin(), list.items.end());
    all_.cuts.insert(all_.cuts.end(), list.cuts.begin(), list.cuts.end());
    all_.shared.insert(all_.shared.end(), list.shared.begin(), list.shared.end());
    all_.pieces = std::max(all_.pieces, list.pieces);
  }

  void fetch(const Layer& layer, std::size_t slot, cudaStream_t stream) override {
    const WorkList list = share_out_.list(layer.weights);
    Slot& to = slots_[slot];
    to.work = counts(layer, list);
    to.work.items = to.items.copy(list.items, stream);
    to.work.cuts = to.cuts.copy(list.cuts, stream);
    to.work.shared = to.shared.copy(list.shared, stream);
  }

  /// Called once the source has been made: uploads the work of resident layers, or makes room for that of streamed
  /// ones.
  void allocate(bool resident) {
    if (resident) {
      most_.pieces = all_.pieces;
      items_ = DeviceBuffer<WorkItem>(all_.items.size(), stream_);
      cuts_ = DeviceBuffer<CutRow>(all_.cuts.size(), stream_);
      upload(items_, all_.items);
      shared_ = DeviceBuffer<SharedRows>(all_.shared.size(), stream_);
      upload(cuts_, all_.cuts);
      upload(shared_, all_.shared);
      for (Resident& one : resident_) {
        if (!one.by_row) one.work.items = items_.data() + one.first_item;
        one.work.cuts = cuts_.data() + one.first_cut;
        if (share_out_.shared) one.work.shared = shared_.data() + one.first_shared;
      }
      all_ = {};
    } else {
      const std::size_t most_shared = share_out_.shared ? plan_.max_outputs() : 0;
      for (Slot& slot : slots_) slot = {{most_.items, stream_}, {most_.cuts, stream_}, {most_shared, stream_}, {}};
    }
    check(cudaStreamSynchronize(stream_));
  }

  /// The work of the source's most recent layer, number `layer`.
  const Work& of(Index layer, const LayerSource& source) const {
    return source.resident() ? resident_[layer].work : slots_[source.slot()].work;
  }
  std::size_t most_pieces() const { return most_.pieces; }

 private:
  struct Resident {
    Work work;
    bool by_row = false;
    std::size_t first_item = 0;
    std::size_t first_cut = 0;
    std::size_t first_shared = 0;
  };
  /// An array that is copied again and again.
  template <class T>
  struct Copied {
    Copied() = default;
    Copied(std::size_t most, cudaStream_t stream) : device(most, stream), host(most) {}
    const T* copy(const std::vector<T>& from, cudaStream_t stream) {
      if (from.empty()) return nullptr;
      std::copy(from.begin(), from.end(), host.data());
      check(cudaMemcpyAsync(device.data(), host.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream));
      return device.data();
    }
    DeviceBuffer<T> device;
    PinnedBuffer<T> host;
  };
  struct Slot {
    Copied<WorkItem> items;
    Copied<CutRow> cuts;
    Copied<SharedRows> shared;
    Work work;
  };

  /// Makes the lists of all layers in parallel.
  void make_lists() {
    lists_.resize(plan_.depth());
    parallel_for(lists_.size(), [&](std::size_t k) { lists_[k] = share_out_.list(plan_.layers[k].weights); });
  }

  static Work counts(const Layer& layer, const WorkList& list) {
    const std::size_t items = list.shared.empty() ? list.items.size() : list.shared.size();
    return {.items = nullptr,
            .rows_each = 1,
            .item_count = items == 0 ? layer.outputs() : narrow<Index>(items),
            .cuts = nullptr,
            .cut_count = narrow<Index>(list.cuts.size()),
            .pieces = list.pieces,
            .shared = nullptr};
  }

  template <class T>
  void upload(DeviceBuffer<T>& to, const std::vector<T>& from) const {
    if (from.empty()) return;
    check(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream_));
  }

  const Plan& plan_;
  ShareOut share_out_;
  WorkSize most_;  ///< of any layer, at most
  cudaStream_t stream_;
  std::vector<WorkList> lists_;  ///< of resident layers, until they are added
  WorkList all_;                 ///< of resident layers, until they are uploaded
  std::vector<Resident> resident_;
  DeviceBuffer<WorkItem> items_;
  DeviceBuffer<CutRow> cuts_;
  DeviceBuffer<SharedRows> shared_;
  std::array<Slot, 2> slots_;
};

}  // namespace spdnn::cuda::spmm

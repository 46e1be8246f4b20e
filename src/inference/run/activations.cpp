#include "inference/run/activations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/counted_csr.hpp"
#include "engines/devices.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The given output neurons of each stored neuron, ascending.
class Readers {
 public:
  Readers(const Array<Index>& expansion, Index stored) : begin_(std::size_t{stored} + 1, 0) {
    for (const Index from : expansion)
      if (from < stored) ++begin_[std::size_t{from} + 1];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    given_.resize(begin_.back());
    std::vector<Offset> next(begin_.begin(), begin_.end() - 1);
    for (std::size_t neuron = 0; neuron < expansion.size(); ++neuron)
      if (expansion[neuron] < stored) given_[next[expansion[neuron]]++] = static_cast<Index>(neuron);
  }
  std::span<const Index> of(Index stored) const {
    return std::span(given_).subspan(begin_[stored], begin_[stored + 1] - begin_[stored]);
  }

 private:
  std::vector<Offset> begin_;
  std::vector<Index> given_;
};

/// Rows are filled in parallel.
template <class Work>
void for_rows(Index rows, const Work& work) {
  parallel_ranges(rows, static_cast<std::size_t>(host_threads()), [&](auto, std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) work(static_cast<Index>(row));
  });
}

}  // namespace

CsrMatrix stored_activations(InspectableEngine& engine, Index images, Index neurons, std::size_t most) {
  if (std::optional<CsrMatrix> sparse = engine.sparse_activations(most)) return *std::move(sparse);
  const std::size_t dense_bytes = sizeof(double) * images * std::size_t{neurons};
  if (dense_bytes > most) throw std::bad_alloc();
  const std::vector<double> dense = engine.activations();
  const auto row = [&](Index image) { return dense.data() + std::size_t{image} * neurons; };
  return csr_of_rows(images, neurons, row, most - dense_bytes);
}

CsrMatrix given_activations(const CsrMatrix& stored, const Plan& plan) {
  if (plan.depth() == 0 || plan.expansion.back().empty()) return stored;
  const Array<Index>& expansion = plan.expansion.back();
  const Readers readers(expansion, stored.cols);
  CountedCsr csr(stored.rows, static_cast<Index>(expansion.size()));
  for_rows(stored.rows, [&](Index image) {
    for (const Index neuron : stored.row(image)) csr.count(image) += readers.of(neuron).size();
  });
  csr.make_room();
  for_rows(stored.rows, [&](Index image) {
    std::vector<std::pair<Index, float>> row;
    for (Offset k = stored.offsets[image]; k < stored.offsets[image + 1]; ++k)
      for (const Index given : readers.of(stored.indices[k])) row.emplace_back(given, stored.entry_value(k));
    std::sort(row.begin(), row.end());
    Offset entry = csr.begin(image);
    for (const auto& [given, value] : row) csr.put(entry++, given, value);
  });
  return csr.matrix();
}

CsrMatrix join_rows(const std::vector<CsrMatrix>& parts, const std::vector<std::vector<Index>>& places) {
  if (parts.size() == 1 && places.empty()) return parts.front();
  Index rows = 0;
  Index cols = 0;
  std::vector<Index> first;  // row of each matrix, without places
  for (const CsrMatrix& part : parts) {
    first.push_back(rows);
    rows += part.rows;
    cols = std::max(cols, part.cols);
  }
  CountedCsr csr(rows, cols);
  const auto place = [&](std::size_t m, Index row) { return places.empty() ? first[m] + row : places[m][row]; };
  for (std::size_t m = 0; m < parts.size(); ++m)
    for (Index row = 0; row < parts[m].rows; ++row) csr.count(place(m, row)) = parts[m].degree(row);
  csr.make_room();
  for (std::size_t m = 0; m < parts.size(); ++m)
    for_rows(parts[m].rows, [&, &part = parts[m]](Index row) {
      Offset entry = csr.begin(place(m, row));
      for (Offset k = part.offsets[row]; k < part.offsets[row + 1]; ++k)
        csr.put(entry++, part.indices[k], part.entry_value(k));
    });
  return csr.matrix();
}

void require_exact_activations(const Passes& passes) {
  if (passes.merge)
    throw UsageError("activations", "the pass merge changes their rounding; expected all, or passes without merge");
}

CsrMatrix final_activations(Engine& engine, const Plan& plan, const ImageSet& batch, const EngineOptions& options) {
  if (plan.depth() == 0) return batch.to_csr();
  auto* const inspectable = dynamic_cast<InspectableEngine*>(&engine);
  if (inspectable == nullptr) throw UsageError("activations", "the chosen engine does not provide them");
  const std::size_t room = memory_budget(Device::cpu, {.sharers = options.sharers});
  try {
    return stored_activations(*inspectable, batch.images(), plan.outputs(plan.depth() - 1), room);
  } catch (const std::bad_alloc&) {
    throw DeviceError(
        fmt::format("the final activations of {} images take more than the {} available; a smaller batch takes less",
                    batch.images(), bytes_text(room)));
  }
}

}  // namespace spdnn

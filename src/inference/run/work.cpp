#include "inference/run/work.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/threads/parallel_rows.hpp"
#include "core/types/counted_csr.hpp"

namespace spdnn {

namespace {

/// The layers of a stream from one on.
class LaterLayers final : public LayerStream {
 public:
  LaterLayers(std::shared_ptr<const LayerStream> all, Index first)
      : LayerStream({all->shapes().begin() + first, all->shapes().end()}), all_(std::move(all)), first_(first) {}

  Layer read(Index k) const override { return all_->read(first_ + k); }
  std::uint64_t bytes_read() const override { return all_->bytes_read(); }

 private:
  std::shared_ptr<const LayerStream> all_;
  Index first_;
};

StreamedLayers layers_from(const StreamedLayers& all, Index layer) {
  StreamedLayers rest = all;
  rest.stream = std::make_shared<const LaterLayers>(all.stream, layer);
  rest.bounds.erase(rest.bounds.begin(), rest.bounds.begin() + layer);
  return rest;
}

}  // namespace

std::size_t image_bytes(const std::vector<Work>& pieces) {
  std::size_t bytes = 0;
  for (const Work& piece : pieces)
    bytes += piece.images.bytes() / static_cast<std::size_t>(piece.batches ? piece.batches->sharers() : 1);
  return bytes;
}

ImageSet images_of_all(const std::vector<const Work*>& pieces) {
  if (pieces.size() == 1) return pieces[0]->images;
  std::vector<CsrMatrix> parts;
  Index rows = 0;
  Index neurons = 0;
  for (const Work* const piece : pieces) {
    parts.push_back(piece->images.to_csr());
    rows += parts.back().rows;
    neurons = std::max(neurons, parts.back().cols);
  }
  CountedCsr all(rows, neurons);
  Index first = 0;
  for (const CsrMatrix& part : parts)
    for (Index row = 0; row < part.rows; ++row) all.count(first++) = part.degree(row);
  all.make_room();
  first = 0;
  for (const CsrMatrix& part : parts) {
    for_row_ranges(part, [&](Index begin, Index end) {
      Offset entry = all.begin(first + begin);
      for (Offset k = part.offsets[begin]; k < part.offsets[end]; ++k)
        all.put(entry++, part.indices[k], part.entry_value(k));
    });
    first += part.rows;
  }
  return {all.matrix()};
}

Plan plan_from(const Plan& plan, Index layer) {
  if (layer == 0) return plan;
  if (plan.fallback) throw std::logic_error("plan_from: a plan with merge is run from the first layer on");
  Plan rest = plan;
  if (plan.streamed)
    rest.streamed = std::make_shared<const StreamedLayers>(layers_from(*plan.streamed, layer));
  else
    rest.layers.erase(rest.layers.begin(), rest.layers.begin() + layer);
  rest.expansion.erase(rest.expansion.begin(), rest.expansion.begin() + layer);
  for (Index* from : {&rest.certificates.dead_from, &rest.certificates.saturated_from}) *from -= std::min(*from, layer);
  return rest;
}

}  // namespace spdnn

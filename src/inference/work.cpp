#include "inference/work.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

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

ImageSet images_of_all(const std::vector<const Work*>& pieces) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  Index neurons = 0;
  for (const Work* const piece : pieces) {
    const CsrMatrix csr = piece->images.to_csr();
    neurons = std::max(neurons, csr.cols);
    for (Index row = 0; row < csr.rows; ++row) offsets.push_back(offsets.back() + csr.degree(row));
    indices.insert(indices.end(), csr.indices.begin(), csr.indices.end());
    for (Offset k = 0; k < csr.entries(); ++k) values.push_back(csr.entry_value(k));
  }
  const auto rows = static_cast<Index>(offsets.size() - 1);
  return {make_csr(rows, neurons, std::move(offsets), std::move(indices), std::move(values))};
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

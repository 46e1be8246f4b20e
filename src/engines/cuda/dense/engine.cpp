#include "engines/cuda/dense/engine.hpp"

#include <cuda_fp16.h>

#include <algorithm>
#include <utility>

#include "engines/cuda/runtime/device.hpp"

namespace spdnn::cuda {

template <class Stored>
DenseEngine<Stored>::DenseEngine(Plan plan, const EngineOptions& options, LayerFormat format, MakeProduct make)
    : plan_(std::move(plan)),
      stream_(stream_on(options)),
      activation_(activation_of(plan_, options.may_overflow)),
      layers_(plan_, format, options, stream_),
      product_(make(plan_, options, stream_)),
      rows_(plan_, options.may_overflow, stream_) {}

template <class Stored>
void DenseEngine<Stored>::load(const ImageSet& images) {
  images_.load(images, stream_);
  const std::size_t size = std::size_t{images.images()} * std::max(plan_.max_width(), images.neurons());
  y_.reserve(size, stream_);
  z_.reserve(size, stream_);
  rows_.load(images.images());
  if (!tuned_ && plan_.depth() > 0 && images.images() > 0) tune();
  reset();
}

/// On the layer with most edges, which is usually typical.
template <class Stored>
void DenseEngine<Stored>::tune() {
  Index largest = 0;
  for (Index k = 1; k < plan_.depth(); ++k)
    if (plan_.shape(k).edges > plan_.shape(largest).edges) largest = k;
  const DeviceLayer layer = layers_.layer(largest);
  check(cudaMemsetAsync(y_.data(), 0, y_.bytes(), stream_));
  if (layer.edges > 0) product_->tune(layer, images_.images(), y_.data(), z_.data());
  tuned_ = true;
}

template <class Stored>
void DenseEngine<Stored>::reset() {
  rows_.reset();
  width_ = images_.neurons();
  images_.expand(product_->layout(), 0, images_.images(), y_.data(), stream_);
  flag_rows(product_->layout(), y_.data(), images_.images(), width_, activation_.cap, rows_.flags(), stream_);
  rows_.retire(0);
  if (rows_.may_retire(0)) drop_retired();
  check(cudaStreamSynchronize(stream_));  // trials begin with an idle device
}

template <class Stored>
Index DenseEngine<Stored>::advance(Index first, Index until) {
  for (Index number = first; number < until; ++number) run_layer(number);
  return until;
}

template <class Stored>
void DenseEngine<Stored>::run_layer(Index number) {
  width_ = plan_.outputs(number);
  if (rows_.rows() == 0) return;
  const DeviceLayer layer = layers_.layer(number);
  if (layer.edges > 0)
    product_->multiply(layer, rows_.rows(), y_.data(), z_.data());
  else
    check(cudaMemsetAsync(z_.data(), 0, std::size_t{rows_.rows()} * width_ * sizeof(Stored), stream_));
  activate(product_->layout(), z_.data(), z_.data(), rows_.rows(), layer, activation_, error_bound_of(plan_, number),
           rows_.flags(), stream_);
  std::swap(y_, z_);
  rows_.retire(number + 1);
  if (rows_.looks_for_duplicates(number + 1)) retire_duplicates();
  if (rows_.may_retire(number + 1)) drop_retired();
}

template <class Stored>
void DenseEngine<Stored>::retire_duplicates() {
  const Layout layout = product_->layout();
  const Index rows = rows_.rows();
  rows_.retire_duplicates([&](std::uint64_t* hashes) { hash_images(layout, y_.data(), rows, width_, hashes, stream_); },
                          [&](Index* heads) { compare_images(layout, y_.data(), rows, width_, heads, stream_); });
}

template <class Stored>
void DenseEngine<Stored>::drop_retired() {
  const std::optional<Index> kept = rows_.rows_worth_moving();
  if (!kept) return;
  gather_images(product_->layout(), y_.data(), rows_.rows(), rows_.kept(), *kept, width_, z_.data(), stream_);
  std::swap(y_, z_);
  rows_.compact(*kept);
}

template <class Stored>
std::vector<double> DenseEngine<Stored>::activations() {
  const Index rows = rows_.rows();
  std::vector<Stored> stored(std::size_t{rows} * width_);
  if (!stored.empty())
    check(cudaMemcpyAsync(stored.data(), y_.data(), stored.size() * sizeof(Stored), cudaMemcpyDeviceToHost, stream_));
  check(cudaStreamSynchronize(stream_));
  std::vector<double> active(stored.size());
  const bool by_image = product_->layout() == Layout::by_image;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t neuron = 0; neuron < width_; ++neuron)
      active[row * width_ + neuron] =
          static_cast<float>(stored[by_image ? row * width_ + neuron : neuron * rows + row]);
  return rows_.fill_retired(width_, active);
}

template <class Stored>
std::size_t DenseEngine<Stored>::device_bytes(const Plan& plan, LayerFormat format, const EngineOptions& options,
                                              Index images) {
  return 2 * std::size_t{images} * plan.max_width() * sizeof(Stored) + ActiveRows::device_bytes(plan, images) +
         DeviceImages::device_bytes(plan, images) + LayerSource::device_bytes(plan, format, options);
}

template class DenseEngine<float>;
template class DenseEngine<__half>;

}  // namespace spdnn::cuda

#include "engines/cuda/retire/offered_duplicates.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace spdnn::cuda {

namespace {

std::uint32_t row_mask_for(Index images) { return std::bit_ceil(std::max(images, Index{1})) - 1; }

/// Behind layers zero_layers and on, rows of zeros are retired at once.
Index zero_layers_of(const Plan& plan) {
  return plan.passes.dead ? std::max(plan.certificates.dead_from, 1U) - 1 : plan.depth();
}

Index zero_words_for(Index images) { return images / 32 + 1; }

}  // namespace

void DuplicateBuffers::reserve(const Plan& plan, Index images, Index sides, cudaStream_t stream) {
  on_ = plan.passes.identical;
  if (!on_) return;
  sides_ = sides;
  row_mask_ = row_mask_for(images);
  zero_layers_ = zero_layers_of(plan);
  zero_words_ = zero_words_for(images);
  for (Index side = 0; side < sides; ++side) hashes_[side].reserve(images, stream);
  list_.reserve(std::max(images, Index{1}), stream);
  endings_.reserve(images, stream);
}

DuplicateSearch DuplicateBuffers::view(std::byte* cleared, unsigned long long* listed, Index* duplicates) const {
  if (!on_) return {};
  auto* const table = reinterpret_cast<unsigned long long*>(cleared);
  auto* const other = reinterpret_cast<unsigned long long*>(cleared + (sides_ - 1) * table_bytes());
  return {{table, other},  {hashes_[0].data(), hashes_[sides_ - 1].data()},
          row_mask_,       list_.data(),
          listed,          duplicates,
          endings_.data(), reinterpret_cast<std::uint32_t*>(cleared + sides_ * table_bytes()),
          zero_layers_,    zero_words_};
}

void DuplicateBuffers::fill(Index entries, Index width, std::vector<double>& rows, cudaStream_t stream) const {
  if (!on_ || entries == 0) return;
  std::vector<Duplicate> list(entries);
  check(cudaMemcpyAsync(list.data(), list_.data(), entries * sizeof(Duplicate), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  std::map<Index, Index> owners;
  for (const Duplicate& duplicate : list)
    if (duplicate.image != kNoImage) owners[duplicate.image] = duplicate.duplicate_of;
  for (auto [image, owner] : owners) {
    for (auto found = owners.find(owner); found != owners.end(); found = owners.find(owner)) owner = found->second;
    std::copy_n(rows.begin() + std::size_t{owner} * width, width, rows.begin() + std::size_t{image} * width);
  }
}

std::size_t DuplicateBuffers::device_bytes(const Plan& plan, Index images, Index sides) {
  if (!plan.passes.identical) return 0;
  const std::size_t row_bytes = sizeof(std::uint32_t) + 4 * sizeof(unsigned long long);
  const std::size_t zero_at = std::size_t{zero_layers_of(plan)} * zero_words_for(images) * sizeof(std::uint32_t);
  return sides * (images + std::size_t{1}) * row_bytes + images * (sizeof(Duplicate) + sizeof(Ending)) + zero_at;
}

}  // namespace spdnn::cuda

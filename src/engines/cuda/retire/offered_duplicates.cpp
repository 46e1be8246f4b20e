#include "engines/cuda/retire/offered_duplicates.hpp"

#include <algorithm>
#include <vector>

namespace spdnn::cuda {

void DuplicateBuffers::reserve(const Plan& plan, Index images, Index sides, cudaStream_t stream) {
  on_ = plan.passes.identical;
  if (!on_) return;
  sides_ = sides;
  sizes_ = DuplicateSearchSizes(plan, images);
  for (Index side = 0; side < sides; ++side) hashes_[side].reserve(images, stream);
  list_.reserve(std::max(images, Index{1}), stream);
  endings_.reserve(images, stream);
}

DuplicateSearch DuplicateBuffers::view(std::byte* tables, std::byte* zero_at, unsigned long long* listed,
                                       Index* duplicates) const {
  if (!on_) return {};
  const auto table = [&](Index side) {
    return reinterpret_cast<unsigned long long*>(tables + side * sizes_.table_bytes());
  };
  return {.tables = {table(0), table(sides_ - 1)},
          .hashes = {hashes_[0].data(), hashes_[sides_ - 1].data()},
          .row_mask = sizes_.row_mask,
          .list = list_.data(),
          .listed = listed,
          .duplicates = duplicates,
          .endings = endings_.data(),
          .zero_at = reinterpret_cast<std::uint32_t*>(zero_at),
          .zero_layers = sizes_.zero_layers,
          .zero_words = sizes_.zero_words};
}

std::map<Index, Index> DuplicateBuffers::owners(Index entries, cudaStream_t stream) const {
  if (!on_ || entries == 0) return {};
  std::vector<Duplicate> list(entries);
  check(cudaMemcpyAsync(list.data(), list_.data(), entries * sizeof(Duplicate), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  std::map<Index, Index> owners;
  for (const Duplicate& duplicate : list)
    if (duplicate.image != kNoImage) owners[duplicate.image] = duplicate.duplicate_of;
  for (auto& [image, owner] : owners)
    for (auto found = owners.find(owner); found != owners.end(); found = owners.find(owner)) owner = found->second;
  return owners;
}

std::size_t DuplicateBuffers::device_bytes(const Plan& plan, Index images, Index sides) {
  if (!plan.passes.identical) return 0;
  const DuplicateSearchSizes sizes(plan, images);
  return sides * (images * sizeof(std::uint32_t) + sizes.table_bytes()) +
         images * (sizeof(Duplicate) + sizeof(Ending)) + sizes.zero_bytes();
}

}  // namespace spdnn::cuda

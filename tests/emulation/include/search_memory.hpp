#pragma once

#include <algorithm>
#include <vector>

#include "core/types/plan.hpp"
#include "engines/cuda/retire/duplicate_search.hpp"

namespace spdnn::cuda {

/// The counterpart of a device's DuplicateBuffers.
class SearchMemory {
 public:
  /// Empty where the plan is without the pass `identical`.
  DuplicateSearch begin(const Plan& plan, Index images, unsigned long long* listed, Index* duplicates) {
    if (!plan.passes.identical) return {};
    const DuplicateSearchSizes sizes(plan, images);
    for (auto& table : tables_) table.assign(sizes.table_entries(), 0);
    for (auto& hashes : hashes_) hashes.assign(images, 0);
    list_.resize(images);
    endings_.resize(images);
    zero_at_.assign(sizes.zero_entries(), 0);
    return {.tables = {tables_[0].data(), tables_[1].data()},
            .hashes = {hashes_[0].data(), hashes_[1].data()},
            .row_mask = sizes.row_mask,
            .list = list_.data(),
            .listed = listed,
            .duplicates = duplicates,
            .endings = endings_.data(),
            .zero_at = zero_at_.data(),
            .zero_layers = sizes.zero_layers,
            .zero_words = sizes.zero_words};
  }

  /// Copies to each image in the first `entries` of the list the row of its owner; `rows` has those of all images.
  void fill(std::size_t entries, Index width, std::vector<double>& rows) const {
    const auto row = [&](Index image) { return rows.begin() + std::ptrdiff_t{image} * width; };
    for (std::size_t i = 0; i < entries; ++i)
      if (list_[i].image != kNoImage)
        std::copy_n(row(owner_of(list_[i].duplicate_of, entries)), width, row(list_[i].image));
  }

 private:
  Index owner_of(Index image, std::size_t entries) const {
    for (std::size_t i = 0; i < entries; ++i)
      if (list_[i].image == image) return owner_of(list_[i].duplicate_of, entries);
    return image;
  }

  std::vector<unsigned long long> tables_[2];
  std::vector<std::uint32_t> hashes_[2];
  std::vector<Duplicate> list_;
  std::vector<Ending> endings_;
  std::vector<std::uint32_t> zero_at_;
};

}  // namespace spdnn::cuda

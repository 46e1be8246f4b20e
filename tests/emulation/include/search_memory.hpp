#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "engines/cuda/retire/duplicate_search.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::cuda {

/// What DuplicateBuffers is on a device.
class SearchMemory {
 public:
  /// Empty where the plan is without the pass `identical`.
  DuplicateSearch begin(const Plan& plan, Index images, unsigned long long* listed, Index* duplicates) {
    if (!plan.passes.identical) return {};
    const Index mask = std::bit_ceil(images) - 1;
    const Index words = images / 32 + 1;
    const Index zero_layers = plan.passes.dead ? std::max(plan.certificates.dead_from, 1U) - 1 : plan.depth();
    for (auto& table : tables_) table.assign(2 * std::size_t{mask} + 2, 0);
    for (auto& hashes : hashes_) hashes.assign(images, 0);
    list_.resize(images);
    endings_.resize(images);
    zero_at_.assign(std::size_t{zero_layers} * words, 0);
    return {{tables_[0].data(), tables_[1].data()},
            {hashes_[0].data(), hashes_[1].data()},
            mask,
            list_.data(),
            listed,
            duplicates,
            endings_.data(),
            zero_at_.data(),
            zero_layers,
            words};
  }

  /// The rows of the images in the first `entries` of the list become their owners', among all images' rows.
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

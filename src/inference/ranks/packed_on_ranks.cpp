// Packed images, read by ranks: each reads some blocks of the file, hashes them, and sends other ranks' images to them.

#include <algorithm>
#include <numeric>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "core/threads/parallel.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "io/networks/text/tsv_entries.hpp"
#include "io/packed/image_layout.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<PackedImageLayout::Elements> auto& array) { archive(array.section, array.width); }
void fields(auto& archive, MaybeConst<PackedImageLayout> auto& layout) {
  archive(layout.images, layout.neurons, layout.arrays, layout.bits, layout.offsets, layout.palette, layout.value,
          layout.table_checksum);
}

namespace {

constexpr std::size_t kBlocksAtOnce = 32;  ///< that a reader has in memory: 8 MiB

/// Elements first .. end-1 of an array.
struct ElementRange {
  Offset first = 0;
  Offset end = 0;
};

/// Reads one array of elements on all ranks.
class ArrayOnRanks {
 public:
  /// `file`: null on ranks that do not read.
  ArrayOnRanks(Communicator& ranks, const std::vector<int>& readers, const PackedFile* file,
               const PackedImageLayout& layout, const PackedImageLayout::Elements& array, const Owners& owners)
      : ranks_(ranks), readers_(readers), file_(file), layout_(layout), array_(array), owners_(owners) {
    for (const int owner : owners) {
      const std::size_t id = begins_.size();
      begins_.push_back(elements_);
      if (owner == ranks.place().rank) elements_ += last(id) - first(id);
    }
    blocks_ = packed::blocks_of(layout.elements() * array.width);
  }

  /// This rank's elements, in the order of its images. DataError, on this rank alone, if it could not read its part.
  RawElements read() {
    RawElements mine{allocate_bytes(elements_ * array_.width), elements_ * array_.width};
    std::exception_ptr failed;
    const std::size_t most = (blocks_ + readers_.size() - 1) / readers_.size();
    for (std::size_t done = 0; done < most; done += kBlocksAtOnce) round(done, mine, failed);
    if (failed) std::rethrow_exception(failed);
    return mine;
  }
  /// The hashes of the blocks that this rank has read.
  const std::vector<std::uint64_t>& hashes() const { return hashes_; }

 private:
  Offset first(std::size_t id) const { return layout_.begin(static_cast<Index>(id)); }
  Offset last(std::size_t id) const { return layout_.begin(static_cast<Index>(id) + 1); }

  /// The blocks that a reader reads in the round that begins with its block `done`.
  std::pair<std::size_t, std::size_t> blocks(std::size_t reader, std::size_t done) const {
    const std::size_t end = blocks_ * (reader + 1) / readers_.size();
    const std::size_t begin = std::min(end, blocks_ * reader / readers_.size() + done);
    return {begin, std::min(end, begin + kBlocksAtOnce)};
  }
  ElementRange elements(std::size_t reader, std::size_t done) const {
    const auto [begin, end] = blocks(reader, done);
    const std::uint64_t bytes = layout_.elements() * array_.width;
    return {std::min(bytes, begin * packed::kBlockBytes) / array_.width,
            std::min(bytes, end * packed::kBlockBytes) / array_.width};
  }

  /// Calls visit(id, range) for the images of the elements, each with those of its elements that are among them.
  void for_images(const ElementRange& range, const auto& visit) const {
    std::size_t low = 0;  // the first image that ends after range.first
    for (std::size_t high = owners_.size(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      if (last(middle) > range.first)
        high = middle;
      else
        low = middle + 1;
    }
    for (std::size_t id = low; id < owners_.size() && first(id) < range.end; ++id)
      visit(id, ElementRange{std::max(first(id), range.first), std::min(last(id), range.end)});
  }

  /// Reads and hashes blocks; returns their bytes.
  std::shared_ptr<std::byte> load(std::size_t begin, std::size_t end) {
    const std::uint64_t bytes = layout_.elements() * array_.width;
    std::shared_ptr<std::byte> memory = allocate_bytes((end - begin) * packed::kBlockBytes);
    const std::size_t known = hashes_.size();
    hashes_.resize(known + end - begin);
    parallel_ranges(end - begin, reading_threads(), [&](auto, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::uint64_t at = (begin + i) * packed::kBlockBytes;
        const std::span block(memory.get() + i * packed::kBlockBytes, std::min(packed::kBlockBytes, bytes - at));
        file_->read(array_.section, at, block);
        hashes_[known + i] = packed::hash_block(block);
      }
    });
    return memory;
  }

  std::size_t bytes_of(const ElementRange& range) const { return (range.end - range.first) * array_.width; }

  /// This rank's reads of the round, for each rank: the elements of its images in their order.
  RawElements sorted(std::size_t done, std::vector<std::size_t>& sizes, std::exception_ptr& failed) {
    const auto reader = std::find(readers_.begin(), readers_.end(), ranks_.place().rank);
    if (reader == readers_.end()) return {allocate_bytes(0), 0};
    const auto number = static_cast<std::size_t>(reader - readers_.begin());
    const auto [begin, end] = blocks(number, done);
    const ElementRange range = elements(number, done);
    std::shared_ptr<std::byte> memory;
    try {
      memory = load(begin, end);
    } catch (const DataError&) {
      failed = std::current_exception();
      memory = allocate_bytes((end - begin) * packed::kBlockBytes);  // the others still wait for bytes
    }
    for_images(range, [&](std::size_t id, const ElementRange& part) {
      sizes[static_cast<std::size_t>(owners_[id])] += bytes_of(part);
    });
    RawElements out{allocate_bytes(bytes_of(range)), bytes_of(range)};
    std::vector<std::size_t> at(sizes.size(), 0);
    std::partial_sum(sizes.begin(), sizes.end() - 1, at.begin() + 1);
    for_images(range, [&](std::size_t id, const ElementRange& part) {
      std::size_t& to = at[static_cast<std::size_t>(owners_[id])];
      std::copy_n(memory.get() + (part.first - range.first) * array_.width, bytes_of(part), out.bytes.get() + to);
      to += bytes_of(part);
    });
    return out;
  }

  void round(std::size_t done, RawElements& mine, std::exception_ptr& failed) {
    const auto ranks = static_cast<std::size_t>(ranks_.place().ranks);
    std::vector<std::size_t> out_sizes(ranks, 0);
    const RawElements out = sorted(done, out_sizes, failed);
    std::vector<std::size_t> in_sizes(ranks, 0);
    const auto for_mine = [&](const auto& visit) {
      for (std::size_t reader = 0; reader < readers_.size(); ++reader)
        for_images(elements(reader, done), [&](std::size_t id, const ElementRange& part) {
          if (owners_[id] == ranks_.place().rank) visit(static_cast<std::size_t>(readers_[reader]), id, part);
        });
    };
    for_mine([&](std::size_t from, std::size_t, const ElementRange& part) { in_sizes[from] += bytes_of(part); });
    const std::size_t size = std::reduce(in_sizes.begin(), in_sizes.end());
    const std::shared_ptr<std::byte> in = allocate_bytes(size);
    ranks_.exchange({out.bytes.get(), out.size}, out_sizes, {in.get(), size}, in_sizes);
    const std::byte* next = in.get();
    for_mine([&](std::size_t, std::size_t id, const ElementRange& part) {
      const Offset place = begins_[id] + part.first - first(id);
      std::copy_n(next, bytes_of(part), mine.bytes.get() + place * array_.width);
      next += bytes_of(part);
    });
  }

  Communicator& ranks_;
  const std::vector<int>& readers_;
  const PackedFile* file_;
  const PackedImageLayout& layout_;
  PackedImageLayout::Elements array_;
  const Owners& owners_;
  std::vector<Offset> begins_;  ///< by image, where its elements begin among this rank's, if they are its
  Offset elements_ = 0;         ///< of this rank
  std::size_t blocks_ = 0;
  std::vector<std::uint64_t> hashes_;
};

/// The root's layout, on all ranks; empty if the root's file has none.
std::optional<PackedImageLayout> share_layout(Communicator& ranks, const PackedFile* file) {
  std::optional<PackedImageLayout> layout;
  if (ranks.is_root() && file != nullptr) {
    try {
      layout = read_image_layout(*file);
    } catch (const DataError&) {
      layout.reset();
    }
  }
  return broadcast(ranks, layout);
}

/// Whether the checksum of the array's section is that of all blocks that ranks have read.
bool is_whole(Communicator& ranks, const PackedFile* file, std::uint32_t section,
              const std::vector<std::uint64_t>& hashes) {
  std::vector<std::uint64_t> all;
  for (const std::vector<std::uint64_t>& one : gather(ranks, hashes)) all.insert(all.end(), one.begin(), one.end());
  return broadcast(ranks, ranks.is_root() && packed::combine_hashes(all) == file->entry(section).checksum);
}

}  // namespace

std::optional<ImageSet> read_packed_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, const DealPacked& deal) {
  const bool reads = std::find(readers.begin(), readers.end(), ranks.place().rank) != readers.end();
  std::unique_ptr<const PackedFile> file;
  try {
    if (reads) file = std::make_unique<const PackedFile>(path);
  } catch (const DataError&) {
    file.reset();
  }
  const std::optional<PackedImageLayout> layout = share_layout(ranks, file.get());
  const std::optional<Owners> dealt = layout ? deal(*layout) : std::nullopt;
  const bool same = !reads || (file && layout && file->header().table_checksum == layout->table_checksum);
  if (!ranks.all(dealt && same, Communicator::Group::job)) return std::nullopt;

  const Owners& owners = *dealt;
  std::optional<ImageSet> mine;
  std::vector<RawElements> elements;
  bool good = true;
  for (const PackedImageLayout::Elements& array : layout->arrays) {
    ArrayOnRanks one(ranks, readers, file.get(), *layout, array, owners);
    try {
      elements.push_back(one.read());
    } catch (const DataError&) {
      good = false;
    }
    good = is_whole(ranks, file.get(), array.section, one.hashes()) && good;
  }
  try {
    if (good) mine = images_of_elements(*layout, ids_of(owners, ranks.place().rank), std::move(elements));
  } catch (const DataError&) {
    mine.reset();
  }
  return ranks.all(mine.has_value(), Communicator::Group::job) ? std::move(mine) : std::nullopt;
}

std::optional<ImageSet> read_packed_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, Index neurons,
                                             std::optional<Index> images) {
  return read_packed_on_ranks(ranks, path, readers, [&](const PackedImageLayout& layout) -> std::optional<Owners> {
    const Index all = images.value_or(layout.images);
    if (layout.neurons != neurons || all < layout.images) return std::nullopt;
    return dealt_owners(all, ranks.place().ranks);
  });
}

}  // namespace spdnn

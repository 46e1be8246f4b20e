#include "io/section_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/parallel.hpp"
#include "io/mapped_file.hpp"

namespace spdnn {

namespace {

/// Storage is cut from slabs of at most this size, or of the array's own size where that is larger.
constexpr std::size_t kSlabBytes = std::size_t{32} << 20;
/// Blocks between two updates of the progress bar: 512 MiB.
constexpr std::size_t kBlocksPerUpdate = 2048;

}  // namespace

void SectionLoader::claim_bytes(std::uint32_t section, std::size_t count, std::size_t width) {
  const packed::SectionEntry& entry = file_.entry(section);
  if (entry.kind != packed::Kind::data && width != 1) file_.fail("is corrupted: a record names a section of records");
  if (entry.bytes / width != count || entry.bytes % width != 0)
    file_.fail(fmt::format("is corrupted: section {} has {} bytes, expected {} numbers of {} bytes", section,
                           entry.bytes, count, width));
  if (used_[section]) file_.fail(fmt::format("is corrupted: section {} is named twice", section));
  used_[section] = true;
  const std::span<const std::byte> gap = file_.gap_before(section);
  if (std::any_of(gap.begin(), gap.end(), [](std::byte b) { return b != std::byte{0}; }))
    file_.fail(fmt::format("is corrupted: the gap before section {} is not zero", section));
}

void SectionLoader::check_checksum(std::uint32_t section, std::span<const std::uint64_t> hashes) {
  if (packed::combine_hashes(hashes) != file_.entry(section).checksum)
    file_.fail(fmt::format("is corrupted: the checksum of section {} differs", section));
}

void SectionLoader::check_now(std::uint32_t section) {
  std::span<const std::byte> rest = file_.bytes(section);
  std::vector<std::uint64_t> hashes;
  while (!rest.empty()) {
    const std::size_t length = std::min<std::size_t>(packed::kBlockBytes, rest.size());
    hashes.push_back(packed::hash_block(rest.first(length)));
    rest = rest.subspan(length);
  }
  check_checksum(section, hashes);
}

std::shared_ptr<std::byte[]> SectionLoader::bytes(std::size_t count) {
  const std::size_t rounded = packed::aligned(count);
  if (rounded > slab_size_ - slab_used_) {
    // Four times the file covers most of what a small file can grow to.
    slab_size_ = std::max(rounded, std::min(kSlabBytes, 4 * file_.size()));
    slab_ = allocate<std::byte>(slab_size_);
    slab_used_ = 0;
  }
  std::byte* const start = slab_.get() + slab_used_;
  slab_used_ += rounded;
  return {slab_, start};
}

void SectionLoader::run(ProgressMode mode) {
  std::vector<Block> blocks;
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    const std::span<const std::byte> bytes = file_.bytes(jobs_[j].section);
    will_need(bytes);
    jobs_[j].hashes.resize(packed::blocks_of(bytes.size()));
    for (std::uint32_t b = 0; b < jobs_[j].hashes.size(); ++b) blocks.push_back({j, b});
  }

  std::vector<std::atomic<bool>> bad(jobs_.size());
  const auto load_block = [&](const Block& block) {
    Job& job = jobs_[block.job];
    const std::span<const std::byte> bytes = file_.bytes(job.section);
    const std::size_t begin = block.number * packed::kBlockBytes;
    const std::size_t length = std::min<std::size_t>(packed::kBlockBytes, bytes.size() - begin);
    job.hashes[block.number] = packed::hash_block(bytes.subspan(begin, length));
    if (!job.check(begin / job.width, length / job.width)) bad[block.job] = true;
  };
  Progress progress(mode, "reading", blocks.size());
  for (std::size_t done = 0; done < blocks.size(); done += kBlocksPerUpdate) {
    progress.update(done);
    const std::size_t count = std::min(kBlocksPerUpdate, blocks.size() - done);
    const auto load = [&](std::size_t i) { load_block(blocks[done + i]); };
    if (file_.size() > packed::kBlockBytes)
      parallel_for(count, load);
    else  // waking threads takes longer than reading this
      for (std::size_t i = 0; i < count; ++i) load(i);
  }
  // A changed byte is reported as what it is, not as the odd number that it made.
  for (const Job& job : jobs_) check_checksum(job.section, job.hashes);
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (bad[j]) file_.fail("is corrupted: " + jobs_[j].complaint);
  jobs_.clear();
}

}  // namespace spdnn

#include "io/packed/section_loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "io/networks/text/tsv_entries.hpp"

namespace spdnn {

namespace {

/// Arrays are allocated from slabs of this size by default; a larger array has a slab of its own.
constexpr std::size_t kSlabBytes = std::size_t{32} << 20;
/// The progress bar is updated after this many blocks, 512 MiB.
constexpr std::size_t kBlocksPerUpdate = 2048;
/// A thread takes this many blocks of a large file at a time: if two threads touch a new huge page simultaneously, both
/// zero it.
constexpr std::size_t kBlocksOfAPage = (std::size_t{2} << 20) / packed::kBlockBytes;

}  // namespace

// Four times the file size is enough for most small files.
SectionLoader::SectionLoader(const PackedFile& file, std::size_t slab_bytes)
    : file_(file),
      used_(file.sections(), false),
      slab_bytes_(slab_bytes > 0 ? slab_bytes : std::min(kSlabBytes, 4 * file.size())) {}

void SectionLoader::begin_again() {
  jobs_.clear();
  used_.assign(file_.sections(), false);
  slab_.reset();
  slab_size_ = slab_used_ = 0;
}

void SectionLoader::claim(std::uint32_t section, std::size_t count, std::size_t width) {
  const packed::SectionEntry& entry = file_.entry(section);
  if (entry.kind != packed::Kind::data && width != 1) file_.fail("is corrupted: a record names a section of records");
  if (entry.bytes / width != count || entry.bytes % width != 0)
    file_.fail(fmt::format("is corrupted: section {} has {} bytes, expected {} numbers of {} bytes", section,
                           entry.bytes, count, width));
  if (used_[section]) file_.fail(fmt::format("is corrupted: section {} is used twice", section));
  used_[section] = true;
  file_.check_gap_before(section);
}

void SectionLoader::require_all_used() const {
  const auto unused = std::find(used_.begin(), used_.end(), false);
  if (unused != used_.end()) file_.fail(fmt::format("is corrupted: section {} is not used", unused - used_.begin()));
}

void SectionLoader::check_checksum(std::uint32_t section, std::span<const std::uint64_t> hashes) const {
  if (packed::combine_hashes(hashes) != file_.entry(section).checksum)
    file_.fail(fmt::format("is corrupted: the checksum of section {} differs", section));
}

void SectionLoader::read_now(std::uint32_t section, std::span<std::byte> to) {
  file_.read(section, 0, to);
  std::vector<std::uint64_t> hashes;
  for (; !to.empty(); to = to.subspan(std::min<std::size_t>(packed::kBlockBytes, to.size())))
    hashes.push_back(packed::hash_block(to.first(std::min<std::size_t>(packed::kBlockBytes, to.size()))));
  check_checksum(section, hashes);
}

std::shared_ptr<std::byte[]> SectionLoader::bytes(std::size_t count) {
  const std::size_t rounded = packed::aligned(count);
  if (rounded > slab_size_ - slab_used_) {
    slab_size_ = std::max(rounded, slab_bytes_);
    slab_ = allocate<std::byte>(slab_size_);
    slab_used_ = 0;
  }
  std::byte* const start = slab_.get() + slab_used_;
  slab_used_ += rounded;
  return {slab_, start};
}

/// Loads a block and returns the result of its checks.
bool SectionLoader::load(Job& job, std::size_t number, std::byte* scratch) const {
  const std::uint64_t begin = number * packed::kBlockBytes;
  const std::size_t length = std::min(packed::kBlockBytes, file_.entry(job.section).bytes - begin);
  const std::span<std::byte> block(job.target != nullptr ? job.target + begin : scratch, length);
  file_.read(job.section, begin, block);
  job.hashes[number] = packed::hash_block(block);
  return job.take(block.data(), begin / job.width, length / job.width);
}

bool SectionLoader::steps_are_good(const Job& job) const {
  if (!job.step) return true;
  bool good = true;
  for (std::size_t number = 1; number < job.hashes.size(); ++number)
    good = good && job.step(number * packed::kBlockBytes / job.width);
  return good;
}

void SectionLoader::run_stage(Stage stage, const ProgressCallback& callback) {
  std::vector<Block> blocks;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (jobs_[j].stage != stage) continue;
    file_.will_need(jobs_[j].section);
    jobs_[j].hashes.resize(packed::blocks_of(file_.entry(jobs_[j].section).bytes));
    for (std::size_t b = 0; b < jobs_[j].hashes.size(); ++b) blocks.push_back({j, b});
  }
  std::vector<std::atomic<bool>> bad(jobs_.size());
  Progress progress(callback, "reading", blocks.size());
  // Waking threads would take longer than reading a small file.
  const std::size_t threads = file_.size() > packed::kBlockBytes ? reading_threads() : 1;
  const std::size_t grain = std::clamp<std::size_t>(blocks.size() / (8 * threads), 1, kBlocksOfAPage);
  const std::shared_ptr<std::byte> scratch = allocate_bytes(threads * packed::kBlockBytes);
  for (std::size_t done = 0; done < blocks.size(); done += kBlocksPerUpdate) {
    progress.update(done);
    std::atomic<std::size_t> next = done;
    const std::size_t end = std::min(done + kBlocksPerUpdate, blocks.size());
    parallel_for(threads, [&](std::size_t thread) {
      for (std::size_t i = next.fetch_add(grain); i < end; i = next.fetch_add(grain))
        for (const Block& block : std::span(blocks).subspan(i, std::min(grain, end - i)))
          if (!load(jobs_[block.job], block.number, scratch.get() + thread * packed::kBlockBytes))
            bad[block.job] = true;
    });
  }
  // A checksum failure is reported before any invalid number that it caused.
  const auto of_stage = [&](const Job& job) { return job.stage == stage; };
  for (const Job& job : jobs_)
    if (of_stage(job)) check_checksum(job.section, job.hashes);
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if (of_stage(jobs_[j]) && (bad[j] || !steps_are_good(jobs_[j]))) file_.fail("is corrupted: " + jobs_[j].complaint);
}

void SectionLoader::run(const ProgressCallback& callback) {
  run_stage(Stage::first, ProgressCallback{});
  run_stage(Stage::second, callback);
  jobs_.clear();
}

}  // namespace spdnn

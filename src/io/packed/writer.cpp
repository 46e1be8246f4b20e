#include "io/packed/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "core/threads/parallel.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::Kind;
using packed::SectionEntry;

namespace {

/// The number of blocks prepared in parallel before they are written in order: 16 MiB.
constexpr std::size_t kBlocksAtOnce = 64;

}  // namespace

std::uint32_t PackedWriter::add(Kind kind, std::uint64_t bytes, Fill fill) {
  sections_.push_back({{0, bytes, 0, kind, 0}, std::move(fill)});
  return narrow<std::uint32_t>(sections_.size() - 1);
}

std::uint32_t PackedWriter::add_records(Kind kind, std::vector<std::byte> records) {
  const std::size_t size = records.size();
  return add(kind, size, [records = std::move(records)](std::uint64_t first, std::span<std::byte> block) {
    std::memcpy(block.data(), records.data() + first, block.size());
  });
}

void PackedWriter::lay_out() {
  header_.sections = narrow<std::uint32_t>(sections_.size());
  std::uint64_t end = sizeof(packed::Header) + sections_.size() * sizeof(SectionEntry);
  for (Section& section : sections_) {
    section.entry.offset = packed::aligned(end);
    end = section.entry.offset + section.entry.bytes;
  }
  header_.file_bytes = end;
}

void PackedWriter::make_blocks(std::span<Block> blocks, std::byte* buffer) {
  parallel_for(blocks.size(), [&](std::size_t i) {
    Block& block = blocks[i];
    const std::uint64_t length = std::min(packed::kBlockBytes, sections_[block.section].entry.bytes - block.first);
    block.bytes = {buffer + i * packed::kBlockBytes, length};
    sections_[block.section].fill(block.first, block.bytes);
    block.hash = packed::hash_block(block.bytes);
  });
}

/// Writes sections one after another and computes their checksums.
void PackedWriter::write_sections(AtomicFile& file, std::uint32_t first, std::uint32_t end, Progress& progress) {
  constexpr std::array<std::byte, packed::kAlignment> kZeros{};
  std::vector<Block> blocks;
  for (std::uint32_t i = first; i < end; ++i)
    for (std::uint64_t at = 0; at < sections_[i].entry.bytes; at += packed::kBlockBytes)
      blocks.push_back({i, at, {}, 0});

  std::vector<std::vector<std::uint64_t>> hashes(end - first);
  for (std::size_t done = 0; done < blocks.size(); done += kBlocksAtOnce) {
    const auto group = std::span(blocks).subspan(done, std::min(kBlocksAtOnce, blocks.size() - done));
    make_blocks(group, buffer_.get());
    for (const Block& block : group) {
      const std::uint64_t place = sections_[block.section].entry.offset + block.first;
      file.write(std::span(kZeros).first(place - file.size()));
      file.write(std::span<const std::byte>(block.bytes));
      hashes[block.section - first].push_back(block.hash);
    }
    progress.update(file.size());
  }
  for (std::uint32_t i = first; i < end; ++i) sections_[i].entry.checksum = packed::combine_hashes(hashes[i - first]);
}

/// Returns false if the sections of a streamed layer, built again, do not match its record.
bool PackedWriter::make_fills(const Layer& layer, const LayerSections& sections) {
  PackedWriter again;
  again.add_layer(layer, choose_coding(layer.weights));
  const auto same = [&](std::uint32_t i) {
    return again.sections_[i - sections.first].entry.bytes == sections_[i].entry.bytes;
  };
  bool all_same = again.sections_.size() == sections.end - sections.first;
  for (std::uint32_t i = sections.first; i < sections.end && all_same; ++i) all_same = same(i);
  for (std::uint32_t i = sections.first; i < sections.end && all_same; ++i)
    sections_[i].fill = std::move(again.sections_[i - sections.first].fill);
  return all_same;
}

void PackedWriter::stream(const Path& path, AtomicFile& file, const ProgressCallback& callback) {
  constexpr std::array<std::byte, packed::kAlignment> kZeros{};
  std::size_t blocks = 0;
  for (const Section& section : sections_) blocks += packed::blocks_of(section.entry.bytes);
  buffer_ = allocate_bytes(std::min(kBlocksAtOnce, blocks) * packed::kBlockBytes);
  Progress progress(callback, "writing", header_.file_bytes);
  std::uint32_t next = 0;
  for (Index k = 0; k < layer_sections_.size(); ++k) {
    const LayerSections& sections = layer_sections_[k];
    write_sections(file, next, sections.first, progress);
    const Layer layer = layers_->read(k);
    if (!make_fills(layer, sections))
      throw DataError(fmt::format("{}: cannot write: layer {} has changed since its first pass", path.string(), k + 1));
    write_sections(file, sections.first, sections.end, progress);
    for (std::uint32_t i = sections.first; i < sections.end; ++i) sections_[i].fill = {};
    next = sections.end;
  }
  write_sections(file, next, narrow<std::uint32_t>(sections_.size()), progress);
  file.write(std::span(kZeros).first(header_.file_bytes - file.size()));  // for empty sections at the end
}

void PackedWriter::write(const Path& path, const ProgressCallback& callback) {
  lay_out();
  AtomicFile file(path);
  std::vector<SectionEntry> table(sections_.size());
  const auto write_start = [&] {
    file.write_at(0, std::as_bytes(std::span(&header_, 1)));
    file.write_at(sizeof header_, std::as_bytes(std::span(table)));
  };
  write_start();  // fails early on a pipe, where the checksums could not be added at the end
  file.write(std::vector<std::byte>(sizeof header_ + table.size() * sizeof(SectionEntry)));
  stream(path, file, callback);
  std::transform(sections_.begin(), sections_.end(), table.begin(), [](const Section& s) { return s.entry; });
  header_.table_checksum = packed::hash_block(std::as_bytes(std::span(table)));
  header_.checksum = packed::header_checksum(header_);
  write_start();
  file.commit();
}

void write_packed(const Path& path, const PackedParts& parts, const ProgressCallback& progress) {
  PackedWriter writer;
  Plan plan;  // must outlive the writing
  try {
    if (parts.network) writer.add_network(*parts.network);
    if (parts.stream) writer.add_network(*parts.stream, progress);
    if (parts.images) writer.add_images(*parts.images);
    if (parts.plan) plan = *parts.plan;  // shares the arrays
    if (parts.stream && parts.stream->digest == 0) plan.set_network_digest(writer.header().network_digest);
    if (parts.plan) writer.add_plan(plan);
    if ((parts.network || parts.stream) && parts.plan &&
        plan.provenance.network_digest != writer.header().network_digest)
      throw std::invalid_argument("the plan was made for another network");
  } catch (const std::invalid_argument& error) {
    throw DataError(path.string() + ": cannot write: " + error.what());
  }
  writer.write(path, progress);
}

void write_packed_network(const Path& path, const Network& network, const ProgressCallback& progress) {
  write_packed(path, {.network = &network}, progress);
}

void write_packed_images(const Path& path, const ImageSet& images) { write_packed(path, {.images = &images}); }

void write_network_with_plan(const Path& path, const Network& network, const Plan& plan) {
  write_packed(path, {.network = &network, .plan = &plan});
}

}  // namespace spdnn

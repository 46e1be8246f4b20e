#include "inference/ranks/read_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "core/system/machine_names.hpp"
#include "inference/run/load.hpp"
#include "io/files/input_file.hpp"
#include "io/networks/text/notes.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "io/packed/format.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// A rank's view of a file.
struct FoundFile {
  bool there = false;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< 0 for packed files, which checksums identify
  std::uint64_t ends = 0;     ///< the hash of its first and its last bytes
  std::string host;

  bool same_as(const FoundFile& other) const {
    return there && other.there && size == other.size && modified == other.modified && ends == other.ends;
  }
};

void fields(auto& archive, MaybeConst<FoundFile> auto& file) {
  archive(file.there, file.size, file.modified, file.ends, file.host);
}

namespace {

/// How the root has the images read.
enum class Way { by_root, packed, text };

FoundFile found(const std::string& path, bool packed) {
  constexpr std::size_t kEnd = 4096;
  FoundFile seen{.host = host_name()};
  try {
    const InputFile file(path);
    std::vector<std::byte> bytes(std::min(file.size(), 2 * kEnd));
    const std::size_t first = bytes.size() / 2;
    file.read(0, std::span(bytes).first(first));
    file.read(file.size() - (bytes.size() - first), std::span(bytes).subspan(first));
    seen.ends = packed::hash_block(bytes);
    seen.size = file.size();
    if (!packed) seen.modified = std::filesystem::last_write_time(path).time_since_epoch().count();
    seen.there = true;
  } catch (const DataError&) {
    return seen;
  } catch (const std::filesystem::filesystem_error&) {
    return seen;
  }
  return seen;
}

/// Files that a part of cannot be read, or of which it is known already that they are wrong, are the root's.
Way way_of(const ImageSpec& spec, Index neurons) {
  if (spec.path.empty() || !spec.mnist.empty()) return Way::by_root;
  if (spec.images) check_memory_for("images", *spec.images);
  if (form_of(spec.path) == Form::packed) return Way::packed;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(spec.path, error);
  return !error && size > 0 && neurons_in_name(spec.path).value_or(neurons) == neurons ? Way::text : Way::by_root;
}

/// The ranks that find the root's file.
std::vector<int> readers_of(const std::vector<FoundFile>& files) {
  std::vector<int> readers;
  for (std::size_t rank = 0; rank < files.size(); ++rank)
    if (files[rank].same_as(files[0])) readers.push_back(static_cast<int>(rank));
  return readers;
}

std::string note_on_readers(const std::string& path, const std::vector<FoundFile>& files,
                            const std::vector<int>& readers) {
  const auto missing =
      std::find_if(files.begin(), files.end(), [&](const FoundFile& f) { return !f.same_as(files[0]); });
  return fmt::format(
      "{} is not the same file on {} of {} ranks, the first of which is rank {} on {}: the others sent them their "
      "images",
      path, files.size() - readers.size(), files.size(), missing - files.begin(), missing->host);
}

/// Images that are `given`, or else those specified, from the root.
ReadImages sent_by_root(Communicator& ranks, const ImageSpec& spec, Index neurons, const ProgressCallback& progress,
                        std::optional<ImageSet> given) {
  ReadImages result;
  ImageSet all;
  if (ranks.is_root()) all = given ? *std::move(given) : load_images(spec, neurons, progress, &result.notes);
  if (ranks.is_alone()) {
    result.images = all.images();
    result.mine = std::move(all);
    return result;
  }
  result.images = broadcast(ranks, all.images());
  result.mine = move_images(ranks, all, owned_by_root(result.images), dealt_owners(result.images, ranks.place().ranks));
  result.by = "rank 0, which sent them";
  return result;
}

/// The images of a file of which each reader reads a part; empty on failure.
std::optional<ReadImages> read_by_readers(Communicator& ranks, const ImageSpec& spec, Index neurons, Way way) {
  const bool packed = way == Way::packed;
  const std::vector<FoundFile> files = gather_on_all(ranks, found(spec.path, packed));
  const bool one = !packed && has_one_reader(spec.path);
  const std::vector<int> readers = one ? std::vector<int>{0} : readers_of(files);
  if (readers.empty()) return std::nullopt;
  ReadImages result;
  if (packed) {
    auto mine = read_packed_on_ranks(ranks, spec.path, readers, neurons, spec.images);
    if (!mine) return std::nullopt;
    result.mine = *std::move(mine);
  } else {
    auto text = read_text_on_ranks(ranks, spec.path, readers, neurons, spec.images);
    if (!text) return std::nullopt;
    result.mine = std::move(text->mine);
    if (text->cut) result.notes.push_back(note_on_missing_newline(spec.path));
  }
  const std::vector<Index> parts = gather_on_all(ranks, result.mine.images());
  for (const Index images : parts) result.images += images;
  if (one)
    result.by = "rank 0, which sent them";
  else if (readers.size() == files.size())
    result.by = "all ranks, each a part";
  else {
    result.by = fmt::format("{} of {} ranks, each a part", readers.size(), files.size());
    result.notes.push_back(note_on_readers(spec.path, files, readers));
  }
  return result;
}

}  // namespace

ReadImages read_images_on_ranks(Communicator& ranks, const ImageSpec& spec, Index neurons,
                                const ProgressCallback& progress, std::optional<ImageSet> given) {
  if (ranks.is_alone()) return sent_by_root(ranks, spec, neurons, progress, std::move(given));
  neurons = broadcast(ranks, neurons);
  const Way way = broadcast(ranks, ranks.is_root() && !given ? way_of(spec, neurons) : Way::by_root);
  if (way != Way::by_root)
    if (auto images = read_by_readers(ranks, spec, neurons, way)) return *std::move(images);
  ReadImages images = sent_by_root(ranks, spec, neurons, progress, std::move(given));
  if (way != Way::by_root)
    images.notes.push_back(spec.path +
                           " could not be read in parts by the ranks: rank 0 has read it, and sent the images");
  return images;
}

}  // namespace spdnn

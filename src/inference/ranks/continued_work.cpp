#include "inference/ranks/continued_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/together.hpp"
#include "inference/checkpoint/activation_files.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// The images that had been begun, in the order in which the files have them.
struct BegunImages {
  std::vector<Index> layers;
  std::vector<Index> ids;
  std::vector<std::string> files;  ///< their digests

  std::size_t size() const { return ids.size(); }
};

void fields(auto& archive, MaybeConst<BegunImages> auto& begun) { archive(begun.layers, begun.ids, begun.files); }

BegunImages begun_images(const Checkpoint& checkpoint) {
  BegunImages begun;
  begun.files = checkpoint.activations;
  for (const Work& piece : checkpoint.left) {
    if (piece.layer == 0) continue;
    begun.layers.insert(begun.layers.end(), piece.ids.size(), piece.layer);
    begun.ids.insert(begun.ids.end(), piece.ids.begin(), piece.ids.end());
  }
  return begun;
}

/// The images at each layer are dealt separately.
Owners owners_of(const BegunImages& begun, int ranks) {
  std::map<Index, Index> counts;
  for (const Index layer : begun.layers) ++counts[layer];
  std::map<Index, Owners> of_layer;
  for (const auto& [layer, count] : counts) of_layer[layer] = dealt_owners(count, ranks);
  Owners owners;
  std::map<Index, std::size_t> next;
  for (const Index layer : begun.layers) owners.push_back(of_layer[layer][next[layer]++]);
  return owners;
}

/// Reads the files of activations one after another.
class Activations {
 public:
  Activations(Communicator& ranks, const std::string& path, const BegunImages& begun, const Plan& ran)
      : ranks_(ranks), path_(path), begun_(begun), ran_(ran), owners_(owners_of(begun, ranks.place().ranks)) {}

  /// This rank's images, with their layers.
  std::vector<Work> read() {
    std::vector<Work> mine;
    for (const std::string& digest : begun_.files) {
      const std::size_t first = next_;
      const ImageSet images = read_file(digest);
      std::vector<Work> pieces = pieces_of(first, images);
      check_width(digest, pieces);
      std::move(pieces.begin(), pieces.end(), std::back_inserter(mine));
    }
    if (next_ != begun_.size()) fail();
    return mine;
  }

 private:
  /// This rank's images of the next file.
  ImageSet read_file(const std::string& digest) {
    Owners owners;
    std::optional<ImageSet> mine = read_in_parts(digest, owners);
    if (!mine) mine = sent_by_root(digest, owners);
    next_ += owners.size();
    return *std::move(mine);
  }

  std::optional<ImageSet> read_in_parts(const std::string& digest, Owners& owners) {
    if (ranks_.is_alone()) return std::nullopt;
    const std::vector<int> readers = readers_of(digest);
    if (readers.empty() || readers.front() != 0) return std::nullopt;
    return read_packed_on_ranks(ranks_, activations_path(path_, digest), readers,
                                [&](const PackedImageLayout& layout) -> std::optional<Owners> {
                                  const bool known = hex(layout.table_checksum) == digest;
                                  if (!known || layout.images > begun_.size() - next_) return std::nullopt;
                                  return owners = owners_of_next(layout.images);
                                });
  }

  Owners owners_of_next(Index images) const {
    const auto begin = owners_.begin() + static_cast<std::ptrdiff_t>(next_);
    return {begin, begin + static_cast<std::ptrdiff_t>(images)};
  }

  /// The ranks that find the file.
  std::vector<int> readers_of(const std::string& digest) {
    bool finds = false;
    try {
      finds = digest_of_activations(PackedFile(activations_path(path_, digest))) == digest;
    } catch (const DataError&) {
      finds = false;
    }
    std::vector<int> readers;
    const std::vector<char> all = gather_on_all(ranks_, static_cast<char>(finds));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      if (all[rank] != 0) readers.push_back(static_cast<int>(rank));
    return readers;
  }

  ImageSet sent_by_root(const std::string& digest, Owners& owners) {
    ImageSet all;
    together(ranks_, [&] {
      if (ranks_.is_root()) all = read_activations(path_, digest);
    });
    const Index images = broadcast(ranks_, all.images());
    if (images > begun_.size() - next_) fail();
    owners = owners_of_next(images);
    return move_images(ranks_, all, owned_by_root(images), owners);
  }

  /// `images` are this rank's of the file that begins with the image `first`.
  std::vector<Work> pieces_of(std::size_t first, const ImageSet& images) const {
    std::vector<Work> pieces;
    Index row = 0;
    for (std::size_t begin = first; begin < next_;) {
      Work piece{begun_.layers[begin], {}, {}};
      for (; begin < next_ && begun_.layers[begin] == piece.layer; ++begin)
        if (owners_[begin] == ranks_.place().rank) piece.ids.push_back(begun_.ids[begin]);
      const auto count = static_cast<Index>(piece.ids.size());
      CsrMatrix rows = images.slice(std::exchange(row, row + count), count).to_csr();
      rows.cols = ran_.shape(piece.layer).inputs;
      piece.images = {std::move(rows)};
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  void check_width(const std::string& digest, const std::vector<Work>& pieces) const {
    together(ranks_, [&] {
      for (const Work& piece : pieces) {
        const CsrMatrix& rows = piece.images.sparse();
        if (std::any_of(rows.indices.begin(), rows.indices.end(), [&](Index neuron) { return neuron >= rows.cols; }))
          throw DataError(fmt::format("{}: an image has more than the {} neurons before layer {}",
                                      activations_path(path_, digest).native(), rows.cols, piece.layer + 1));
      }
    });
  }

  [[noreturn]] void fail() const {
    const DataError error(path_ + ": has other images than its files of activations");
    if (ranks_.is_alone()) throw error;
    throw RanksFailed(std::make_exception_ptr(error));
  }

  Communicator& ranks_;
  const std::string& path_;
  const BegunImages& begun_;
  const Plan& ran_;
  const Owners owners_;
  std::size_t next_ = 0;  ///< of the images, the first of the next file
};

}  // namespace

std::vector<Work> continued_work(Communicator& ranks, const RunImages& images, const std::string& path,
                                 const Checkpoint& begin, const Plan& ran) {
  const BegunImages begun = broadcast(ranks, begun_images(begin));
  std::vector<Work> mine = Activations(ranks, path, begun, ran).read();
  join_pieces(mine);
  std::vector<Index> fresh;  // images that had not been begun
  for (const Work& piece : begin.left)
    if (piece.layer == 0) fresh.insert(fresh.end(), piece.ids.begin(), piece.ids.end());
  std::sort(fresh.begin(), fresh.end());
  if (broadcast(ranks, !fresh.empty())) mine.insert(mine.begin(), images.deal(ranks, fresh));
  return mine;
}

}  // namespace spdnn

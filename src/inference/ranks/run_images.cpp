#include "inference/ranks/run_images.hpp"

#include <algorithm>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/partition.hpp"
#include "engines/devices.hpp"
#include "io/packed/digests.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<ImageFacts> auto& f) {
  archive(f.images, f.neurons, f.bytes, f.bits, f.binary, f.within_unit, f.largest, f.most_entries, f.repeats);
}

namespace {

using Hashes = std::vector<std::uint64_t>;

/// On the root, the hashes of all ranks, one rank's after another's.
Hashes gather_hashes(Communicator& ranks, const Hashes& mine) {
  Hashes all;
  for (const Hashes& one : gather(ranks, mine)) all.insert(all.end(), one.begin(), one.end());
  return all;
}

}  // namespace

ImageFacts facts_on_ranks(Communicator& ranks, const ImageSet& mine) {
  ImageFacts facts;
  for (const ImageFacts& one : gather_on_all(ranks, facts_of(mine))) facts = join_facts(facts, one);
  return facts;
}

RunImages::RunImages(Communicator& ranks, ReadImages read)
    : mine_(std::move(read.mine)), facts_(facts_on_ranks(ranks, mine_)) {
  for (const Index empty : gather_on_all(ranks, mine_.empty_images())) empty_ += empty;
}

Work RunImages::work(Communicator& ranks) const {
  if (ranks.is_alone()) return {0, {}, mine_};
  if (node_) return {0, node_->ids(), node_->images(), node_};
  return {0, ids_of(owners(ranks), ranks.place().rank), mine_};
}

std::string RunImages::share_on_nodes(Communicator& ranks) {
  const std::size_t room = memory_budget(Device::cpu, {.sharers = ranks.place().node_ranks});
  if (!ranks.all(mine_.bytes() <= room, Communicator::Group::job)) return "the images do not fit into memory twice";
  node_ = NodeImages::gather(ranks, mine_, owners(ranks));
  if (!node_) return "ranks of a node cannot share memory";
  mine_ = {};
  return {};
}

Work RunImages::deal(Communicator& ranks, std::span<const Index> ids) const {
  const std::vector<Index> chosen = broadcast(ranks, std::vector<Index>(ids.begin(), ids.end()));
  if (chosen.size() == facts_.images) return work(ranks);
  if (ranks.is_alone()) return {0, chosen, mine_.select(chosen)};
  Owners after(facts_.images, kNobody);
  const Owners places = dealt_owners(static_cast<Index>(chosen.size()), ranks.place().ranks);
  for (std::size_t place = 0; place < chosen.size(); ++place) after[chosen[place]] = places[place];
  return {0, ids_of(after, ranks.place().rank), move_images(ranks, mine_, owners(ranks), after)};
}

/// This rank's consecutive images, of which all ranks have whole blocks of those that are hashed together.
ImageSet RunImages::in_blocks(Communicator& ranks) const {
  if (ranks.is_alone()) return mine_;
  const Index rows = images_per_hash(facts_.neurons);
  const Index blocks = (facts_.images + rows - 1) / rows;
  Owners after(facts_.images);
  for (int rank = 0; rank < ranks.place().ranks; ++rank) {
    const ImageRange part = images_of_rank(blocks, rank, ranks.place().ranks);
    const std::size_t end = std::min<std::size_t>(facts_.images, std::size_t{part.first + part.count} * rows);
    for (std::size_t id = std::size_t{part.first} * rows; id < end; ++id) after[id] = rank;
  }
  return move_images(ranks, dealt(), owners(ranks), after);
}

std::optional<std::uint64_t> RunImages::binary_digest(Communicator& ranks) const {
  const auto mine = image_hashes(in_blocks(ranks));
  if (!ranks.all(mine.has_value(), Communicator::Group::job)) return std::nullopt;
  const Hashes all = gather_hashes(ranks, *mine);
  if (!ranks.is_root()) return std::nullopt;
  return combine_image_hashes(all, facts_.images, facts_.neurons);
}

std::uint64_t RunImages::digest(Communicator& ranks) const {
  const ImageSet blocks = in_blocks(ranks);
  const auto binary = image_hashes(blocks);
  const bool all_binary = ranks.all(binary.has_value(), Communicator::Group::job);
  return combine_image_hashes(gather_hashes(ranks, all_binary ? *binary : hashes_with_values(blocks)), facts_.images,
                              facts_.neurons);
}

}  // namespace spdnn

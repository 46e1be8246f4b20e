#include "inference/ranks/node_images.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"

namespace spdnn {

void fields(auto& archive, MaybeConst<GivenImages> auto& given) {
  archive(given.leader, given.bits, given.uniform, given.value, given.images, given.neurons, given.entries);
}

namespace {

using Group = Communicator::Group;

std::size_t words_of(const GivenImages& all) { return (std::size_t{all.neurons} + 63) / 64; }

/// The layout of the memory: the counter, then words of bits, or offsets, columns and, unless all are equal, values.
struct Places {
  static constexpr std::size_t kArrays = Parcel::kAlignment;
  std::size_t columns = 0;
  std::size_t values = 0;
  std::size_t end = 0;

  explicit Places(const GivenImages& all) {
    if (all.bits) {
      end = kArrays + all.images * words_of(all) * sizeof(std::uint64_t);
      return;
    }
    columns = kArrays + aligned_in_parcel((std::size_t{all.images} + 1) * sizeof(Offset));
    values = columns + aligned_in_parcel(all.entries * sizeof(Index));
    end = values + (all.uniform ? 0 : all.entries * sizeof(float));
  }
};

GivenImages given_by(Communicator& ranks, const ImageSet& mine) {
  GivenImages given{.images = mine.images(), .neurons = mine.neurons()};
  given.leader = ranks.place().rank;
  ranks.broadcast(std::as_writable_bytes(std::span(&given.leader, 1)), Group::node);
  given.bits = mine.is_bits();
  given.entries = mine.nonzeros();
  if (given.bits) return given;
  given.uniform = mine.sparse().uniform();
  given.value = mine.sparse().value;
  return given;
}

/// The properties shared by the images of one node.
GivenImages joined_images(const std::vector<GivenImages>& by_rank, int leader) {
  GivenImages all{.leader = leader};
  for (const GivenImages& one : by_rank) {
    if (one.leader != leader) continue;
    all.neurons = std::max(all.neurons, one.neurons);
    if (one.images == 0) continue;
    all.bits = all.bits && one.bits;
    all.uniform = all.uniform && one.uniform && (all.images == 0 || all.value == one.value);
    all.value = one.value;
    all.images += one.images;
    all.entries += one.entries;
  }
  return all;
}

}  // namespace

std::shared_ptr<NodeImages> NodeImages::gather(Communicator& ranks, const ImageSet& mine, const Owners& owners) {
  const GivenImages own = given_by(ranks, mine);
  const std::vector<GivenImages> by_rank = gather_on_all(ranks, own);
  std::vector<Index> of_node;
  for (std::size_t id = 0; id < owners.size(); ++id)
    if (by_rank[static_cast<std::size_t>(owners[id])].leader == own.leader) of_node.push_back(static_cast<Index>(id));
  std::vector<Index> ids;
  std::vector<Index> place_of(owners.size());
  for (const Index number : taken_order(static_cast<Index>(of_node.size()), ranks.place().node_ranks)) {
    place_of[of_node[number]] = static_cast<Index>(ids.size());
    ids.push_back(of_node[number]);
  }
  std::vector<Index> places;
  for (const Index id : ids_of(owners, ranks.place().rank)) places.push_back(place_of[id]);

  const GivenImages all = joined_images(by_rank, own.leader);
  std::shared_ptr<NodeImages> node(new NodeImages(ranks, all, std::move(ids), std::move(places)));
  const bool reached = node->memory_.is_shared() || ranks.place().node_ranks == 1;
  if (!ranks.all(reached, Group::job)) return nullptr;
  if (all.bits)
    node->copy_bits(ranks, mine);
  else
    node->copy_rows(ranks, mine);
  return node;
}

NodeImages::NodeImages(Communicator& ranks, const GivenImages& all, std::vector<Index> ids, std::vector<Index> places)
    : place_(ranks.place()),
      all_(all),
      ids_(std::move(ids)),
      places_(std::move(places)),
      memory_(ranks, Places(all).end) {}

void NodeImages::copy_bits(Communicator& ranks, const ImageSet& mine) {
  const std::size_t width = words_of(all_);
  auto* const words = reinterpret_cast<std::uint64_t*>(memory_.data() + Places::kArrays);
  for (Index row = 0; row < mine.images(); ++row)
    std::copy_n(mine.bits().row(row), width, words + places_[row] * width);
  ranks.all(true, Group::node);
  BitMatrix bits{.rows = all_.images, .cols = all_.neurons, .words = {{memory_.hold(), words}, all_.images * width}};
  images_ = {std::move(bits)};
}

void NodeImages::copy_rows(Communicator& ranks, const ImageSet& mine) {
  const Places at(all_);
  auto* const offsets = reinterpret_cast<Offset*>(memory_.data() + Places::kArrays);
  auto* const columns = reinterpret_cast<Index*>(memory_.data() + at.columns);
  auto* const values = reinterpret_cast<float*>(memory_.data() + at.values);
  const CsrMatrix own = mine.to_csr();
  for (Index row = 0; row < own.rows; ++row) offsets[std::size_t{places_[row]} + 1] = own.degree(row);
  ranks.all(true, Group::node);
  if (ranks.leads_node()) {
    offsets[0] = 0;
    std::partial_sum(offsets, offsets + all_.images + 1, offsets);
  }
  ranks.all(true, Group::node);
  for (Index row = 0; row < own.rows; ++row) {
    const Offset begin = offsets[places_[row]];
    std::copy(own.row(row).begin(), own.row(row).end(), columns + begin);
    for (Offset k = 0; !all_.uniform && k < own.degree(row); ++k)
      values[begin + k] = own.entry_value(own.offsets[row] + k);
  }
  ranks.all(true, Group::node);
  CsrMatrix rows{.rows = all_.images,
                 .cols = all_.neurons,
                 .offsets = {{memory_.hold(), offsets}, std::size_t{all_.images} + 1},
                 .indices = {{memory_.hold(), columns}, all_.entries}};
  if (all_.uniform)
    rows.value = all_.value;
  else
    rows.values = {{memory_.hold(), values}, all_.entries};
  images_ = {std::move(rows)};
}

Index NodeImages::own_part() const {
  if (place_.node_ranks == 1) return all_.images;
  const Index block = dealt_block(all_.images, place_.node_ranks);
  return all_.images / (4 * static_cast<Index>(place_.node_ranks)) / block * block;
}

Index NodeImages::part_of(Index left, const Wish& wish) const {
  const auto hands = static_cast<Index>(place_.node_ranks);
  const Index least = std::min(wish.least, std::max<Index>(1, all_.images / hands));
  const Index block = dealt_block(all_.images, place_.node_ranks);
  const Index whole = (std::max({left / (2 * hands), least, Index{1}}) + block - 1) / block * block;
  return std::min({whole, left, wish.most});
}

Index NodeImages::largest(Index least) const {
  const Index own = own_part();
  const Index left = all_.images - own * static_cast<Index>(place_.node_ranks);
  return std::max(own, part_of(left, {least, all_.images}));
}

ImageRange NodeImages::take(const Wish& wish) {
  if (own_.count > 0) {
    const ImageRange batch{own_.first, std::min(own_.count, wish.most)};
    own_ = {own_.first + batch.count, own_.count - batch.count};
    return batch;
  }
  const Index begin = own_part() * static_cast<Index>(place_.node_ranks);
  std::atomic_ref<std::uint64_t> next(counter());
  std::uint64_t first = next.load();
  Index count = 0;
  do {
    count = part_of(all_.images - begin - static_cast<Index>(first), wish);
  } while (count > 0 && !next.compare_exchange_weak(first, first + count));
  return {begin + static_cast<Index>(first), count};
}

Index NodeImages::take_part(Index parts) {
  const auto hands = static_cast<Index>(place_.node_ranks);
  const Index own = hands == 1 ? parts : parts / (4 * hands);
  if (own_parts_ < own) return static_cast<Index>(place_.node_rank) * own + own_parts_++;
  const std::uint64_t next = std::uint64_t{own} * hands + std::atomic_ref(counter()).fetch_add(1);
  return static_cast<Index>(std::min<std::uint64_t>(next, parts));
}

void NodeImages::restart() {
  const Index part = own_part();
  own_ = {static_cast<Index>(place_.node_rank) * part, part};
  own_parts_ = 0;
  if (place_.node_rank == 0) std::atomic_ref(counter()).store(0);
}

}  // namespace spdnn

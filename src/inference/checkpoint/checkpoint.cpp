#include "inference/checkpoint/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "core/types/read_ahead.hpp"
#include "inference/run/outcomes.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/format.hpp"

namespace spdnn {

namespace {

/// The same whether the layers are in memory or streamed, which are then those of the network as given.
std::uint64_t digest_of_layers(const Plan& plan) {
  if (!plan.streamed) return network_digest({plan.layers, plan.bias_rule, plan.cap});
  if (plan.provenance.network_digest != 0) return plan.provenance.network_digest;
  std::vector<std::uint64_t> digests;
  ReadAhead layers(plan);
  for (Index k = 0; k < plan.depth(); ++k) digests.push_back(layer_digest(layers.layer(k)));
  return network_digest(plan.bias_rule, plan.cap, digests);
}

std::uint64_t digest_of(const Plan& plan, Precision precision) {
  const std::string text =
      fmt::format("{:x} {} {}", digest_of_layers(plan), to_string(plan.passes), to_string(precision));
  return packed::hash_block(std::as_bytes(std::span(text)));
}

}  // namespace

Checkpoint::Checkpoint(const Plan& plan, Precision precision, std::uint64_t digest, Index images)
    : plan_digest(digest_of(plan, precision)),
      image_digest(digest),
      passes(plan.passes),
      depth(plan.depth()),
      left_in_file(std::uint64_t{images} * plan.depth()) {
  known.alive.assign(plan.depth(), 0);
  known.active.assign(plan.depth(), 0);
  left.push_back({0, std::vector<Index>(images), {}});
  std::iota(left[0].ids.begin(), left[0].ids.end(), Index{0});
}

std::uint64_t work_in(const std::vector<Work>& left, Index depth) {
  std::uint64_t layers = 0;
  for (const Work& work : left) layers += (depth - work.layer) * work.ids.size();
  return layers;
}

void conclude_work(const Outcome& done, std::vector<Work> left, Checkpoint& checkpoint) {
  merge_outcomes(checkpoint.known, {done});
  std::vector<Work> begun;
  std::vector<Work> not_begun;
  for (Work& work : left) (work.layer > 0 ? begun : not_begun).push_back(std::move(work));
  join_pieces(not_begun);
  begun.insert(begun.end(), std::make_move_iterator(not_begun.begin()), std::make_move_iterator(not_begun.end()));
  checkpoint.left = std::move(begun);
}

void join_pieces(std::vector<Work>& work) {
  std::map<Index, std::vector<const Work*>> by_layer;
  for (const Work& piece : work) by_layer[piece.layer].push_back(&piece);
  std::vector<Work> all;
  for (const auto& [layer, pieces] : by_layer) {
    Work one{layer, {}, {}};
    for (const Work* const piece : pieces) one.ids.insert(one.ids.end(), piece->ids.begin(), piece->ids.end());
    if (layer > 0)
      one.images = images_of_all(pieces);
    else
      std::sort(one.ids.begin(), one.ids.end());  // as ranges in the file, few
    all.push_back(std::move(one));
  }
  work = std::move(all);
}

}  // namespace spdnn

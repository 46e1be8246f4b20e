#include "inference/network/streaming.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/shared_plan.hpp"
#include "cluster/together.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"
#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "engines/devices.hpp"
#include "inference/run/load.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/stream.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// Layers whose digests are computed when they are read for the first time.
class DigestedLayers final : public LayerStream {
 public:
  explicit DigestedLayers(std::shared_ptr<const LayerStream> given)
      : LayerStream(given->shapes()), given_(std::move(given)), digests_(shapes().size()) {}

  Layer read(Index k) const override { return std::move(read_some(k, 1).front()); }
  std::vector<Layer> read_some(Index first, Index count) const override {
    std::vector<Layer> layers = given_->read_some(first, count);
    for_layers(count, [&](std::size_t i) {
      std::atomic<std::uint64_t>& digest = digests_[first + i];
      if (digest == 0) digest = layer_digest(layers[i]);
    });
    return layers;
  }
  std::uint64_t bytes_read() const override { return given_->bytes_read(); }

  /// network_digest(), once all layers were read.
  std::uint64_t digest(BiasRule rule, const std::optional<double>& cap) const {
    return network_digest(rule, cap, {digests_.begin(), digests_.end()});
  }

 private:
  std::shared_ptr<const LayerStream> given_;
  mutable std::vector<std::atomic<std::uint64_t>> digests_;
};

namespace {

void digest_layers(GivenStream& given) {
  if (given.network.digest != 0) return;
  given.digested = std::make_shared<const DigestedLayers>(given.network.layers);
  given.network.layers = given.digested;
}

std::size_t most_in_memory(std::size_t budget) { return budget / 4 * 3; }

bool fits_in_memory(std::size_t bytes, std::size_t budget) { return bytes <= most_in_memory(budget); }

std::size_t less(std::size_t bytes, std::size_t taken) { return bytes - std::min(bytes, taken); }

/// Layers of text files with the bias that they do not bring.
class LayersWithBias final : public LayerStream {
 public:
  /// Without a bias, the layers must be of the official form, which has its own.
  LayersWithBias(std::shared_ptr<const LayerStream> given, const NetworkSpec& spec)
      : LayerStream(given->shapes()), given_(std::move(given)), path_(spec.path), bias_(spec.bias) {}

  Layer read(Index k) const override { return std::move(read_some(k, 1).front()); }
  std::vector<Layer> read_some(Index first, Index count) const override {
    std::vector<Layer> layers = given_->read_some(first, count);
    for_layers(count, [&](std::size_t i) {
      Layer& layer = layers[i];
      if (!bias_ && !has_official_form(Network{{layer}}))
        throw UsageError("bias", path_ + " is not of official form and has no biases: give one");
      layer.bias.uniform = bias_ ? *bias_ : official_problem(layer.inputs())->bias;
    });
    return layers;
  }

 private:
  std::shared_ptr<const LayerStream> given_;
  std::string path_;
  std::optional<double> bias_;
};

[[noreturn]] void refuse(const NetworkSpec& spec, std::size_t bytes, std::size_t room) {
  throw DeviceError("host_memory",
                    fmt::format("{} takes {}, more than three quarters of the {} available; in the packed "
                                "form, which `spdnn convert` makes, its layers can be streamed",
                                spec.path, bytes_text(bytes), bytes_text(room)));
}

/// A quarter of the budget for the layers in memory, up to kStreamedBytes for each process, and half of the rest for a
/// plan, which the processes have together.
StreamRoom room_in(const GivenStream& given, std::size_t budget, std::size_t sharers) {
  const NetworkStream& network = given.network;
  const std::size_t largest = std::max<std::size_t>(1, network.layers->largest_layer_bytes());
  const auto layers_in = [&](std::size_t bytes) {
    return static_cast<Index>(std::clamp<std::size_t>(bytes / largest, 2, std::max<Index>(2, network.depth())));
  };
  if (given.fits) return {layers_in(given.bytes_at_once()), std::numeric_limits<std::size_t>::max()};
  if (2 * largest > budget / sharers)
    throw DeviceError(
        "host_memory",
        fmt::format("two layers, the minimum in memory at a time, take {}, but only {} are left beside the images",
                    bytes_text(2 * largest), bytes_text(budget / sharers)));
  const Index at_once = layers_in(std::min(budget / sharers / 4, kStreamedBytes));
  return {at_once, less(budget, sharers * at_once * largest) / 2};
}

/// The network that stream_if_too_large() has found to be one that can be streamed.
NetworkStream open_stream(const NetworkSpec& spec) {
  return spec.path.empty() ? stream_official_network(spec.neurons.front(), *spec.layers)
                           : open_packed_network(spec.path, request_for(spec, {}));
}

/// The packed or official network of the specification, if it takes more than `bytes` in memory.
std::optional<GivenStream> stream_if_larger(const NetworkSpec& spec, std::size_t bytes) {
  if (!spec.path.empty() && !is_packed_file(spec.path)) return std::nullopt;
  GivenStream given;
  if (spec.path.empty()) {
    if (spec.neurons.size() != 1 || !spec.layers || spec.bias || spec.bias_rule || spec.cap) return std::nullopt;
    if (official_network_bytes(spec.neurons.front(), *spec.layers) <= bytes) return std::nullopt;
  }
  given.network = open_stream(spec);
  if (given.network.bytes() <= bytes) return std::nullopt;
  if (!spec.path.empty()) {
    NetworkFile parameters{{}, true, true};
    fill_in_parameters(spec, parameters);
    digest_layers(given);
  }
  return given;
}

std::optional<LayerFilesStream> open_text(const NetworkSpec& spec) {
  return spec.path.empty() ? std::nullopt : open_layer_files(spec.path, request_for(spec, {}));
}

/// The directory of TSV layers of the specification, if the network takes more than `bytes` in memory by their sizes.
std::optional<GivenStream> stream_text_if_larger(const NetworkSpec& spec, std::optional<LayerFilesStream> files,
                                                 std::size_t bytes) {
  if (!files) return std::nullopt;
  GivenStream text{.network = {files->layers}, .text = true, .notes = std::move(files->notes)};
  if (files->compressed) text.at_once = 2 * static_cast<Index>(host_threads());  // half of them are read at a time
  if (text.network.bytes() <= bytes) return std::nullopt;
  NetworkFile parameters{{}, true, false};
  if (files->has_bias)
    fill_in_parameters(spec, parameters);
  else
    text.network.layers = std::make_shared<const LayersWithBias>(files->layers, spec);
  text.network.bias_rule = spec.bias_rule.value_or(parameters.network.bias_rule);
  text.network.cap = spec.cap ? spec.cap->value : parameters.network.cap;
  digest_layers(text);
  return text;
}

/// The digest of the opened network; if only its first layers are wanted, which have none, that of the file.
std::uint64_t network_digest_of(const NetworkSpec& spec, std::uint64_t opened) {
  return opened != 0 || spec.path.empty() ? opened : packed_contents(spec.path).network_digest;
}

/// Data on streamed layers, sent by the root to all ranks.
struct SharedStream {
  std::uint64_t network_digest = 0;
  std::vector<LayerBounds> bounds;
  Index at_once = 0;
};

}  // namespace

void fields(auto& archive, MaybeConst<LayerBounds> auto& bounds) {
  archive(bounds.absolute, bounds.terms, bounds.least_bias, bounds.most_bias);
}
void fields(auto& archive, MaybeConst<SharedStream> auto& shared) {
  archive(shared.network_digest, shared.bounds, shared.at_once);
}

namespace {

/// The layers that the root streams, as this rank finds them under the same name.
std::shared_ptr<const StreamedLayers> open_shared(const NetworkSpec& spec, SharedStream shared) {
  const NetworkStream network = open_stream(spec);
  if (network_digest_of(spec, network.digest) != shared.network_digest)
    throw DataError(spec.path + ": differs from the network that the first rank read under this name");
  return std::make_shared<const StreamedLayers>(
      StreamedLayers{network.layers, std::move(shared.bounds), shared.at_once});
}

}  // namespace

std::size_t host_budget(std::size_t asked) { return memory_budget(Device::cpu, {.host_memory = asked}); }

std::size_t GivenStream::bytes_at_once() const {
  return std::max(kStreamedBytes, at_once * network.layers->largest_layer_bytes());
}

bool GivenStream::is_official() const {
  const auto known = official_network_digest(network.inputs(), network.depth());
  return known && *known == (digested ? digested->digest(network.bias_rule, network.cap) : network.digest);
}

std::optional<GivenStream> stream_if_too_large(const NetworkSpec& spec, std::size_t budget) {
  return stream_if_larger(spec, most_in_memory(budget));
}

std::optional<GivenStream> stream_text_if_too_large(const NetworkSpec& spec, std::size_t budget) {
  return stream_text_if_larger(spec, open_text(spec), most_in_memory(budget));
}

std::optional<GivenStream> stream_to_save_memory(const NetworkSpec& spec, bool once, std::size_t most) {
  std::optional<GivenStream> given = stream_if_larger(spec, most);
  if (!given && once && !spec.allow_missing_newline) given = stream_text_if_larger(spec, open_text(spec), most);
  if (!given || given->network.bytes() <= given->at_once * given->network.layers->largest_layer_bytes()) return {};
  given->fits = true;
  return given;
}

bool may_plan_while_reading(const Passes& passes) { return (passes.twins || passes.unused) && !passes.merge; }

Plan plan_stream(const GivenStream& given, const Passes& passes, std::size_t budget, int sharers,
                 const ProgressCallback& progress) {
  return make_plan(given.network, passes, room_in(given, budget, static_cast<std::size_t>(sharers)), progress);
}

Plan share_plan(Communicator& ranks, Plan plan, const NetworkSpec& spec) {
  if (ranks.is_alone()) return plan;
  const std::shared_ptr<const StreamedLayers> roots = std::exchange(plan.streamed, nullptr);
  std::optional<SharedStream> shared;
  if (roots) shared = {network_digest_of(spec, plan.provenance.network_digest), roots->bounds, roots->at_once};
  plan = share_plan(ranks, std::move(plan));
  shared = broadcast(ranks, shared);
  if (!shared) return plan;
  together(ranks, [&] { plan.streamed = ranks.is_root() ? roots : open_shared(spec, *std::move(shared)); });
  return plan;
}

void require_room_for_text(const NetworkSpec& spec, std::size_t budget) {
  const auto files = open_text(spec);
  if (!files) return;
  constexpr std::size_t kDoubt = 4;  // for long lines, values of one byte, and compression
  const std::size_t bytes = NetworkStream{files->layers}.bytes();
  if (!fits_in_memory(bytes / kDoubt, budget)) refuse(spec, bytes, budget);
}

void require_room(const NetworkSpec& spec, const Network& network, std::size_t asked) {
  if (asked != 0 && !fits_in_memory(network.bytes(), asked)) refuse(spec, network.bytes(), asked);
}

std::size_t host_memory_for_engine(std::size_t asked, const Plan& plan, std::size_t image_bytes, int sharers) {
  if (asked == 0 && !plan.streamed) return 0;
  const std::size_t streamed = plan.streamed ? plan.streamed->bytes() : 0;
  const std::size_t available = less(memory_budget(Device::cpu, {.sharers = sharers}), streamed);
  const std::size_t left = asked == 0 ? available : std::min(available, less(asked, plan.bytes() + image_bytes));
  return std::max<std::size_t>(left, 1);
}

}  // namespace spdnn

#include "inference/run/load.hpp"

#include <fmt/format.h>

#include <numeric>

#include "core/text/amounts.hpp"
#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "engines/devices.hpp"
#include "io/files/path_kind.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

GivenNetwork generate(const NetworkSpec& spec, const ProgressCallback& progress) {
  if (spec.neurons.size() != 1 || !spec.layers)
    throw UsageError("neurons", "an official network takes one number of neurons and one of layers");
  if (spec.bias || spec.bias_rule || spec.cap)
    throw UsageError(spec.bias ? "bias" : spec.bias_rule ? "bias_rule" : "cap", "an official network has its own");
  const Index width = spec.neurons.front();
  // At other depths than the challenge's the first layers are official ones, but the categories are not.
  return {generate_official_network(width, *spec.layers, progress),
          official_network_digest(width, *spec.layers).has_value()};
}

void fill_in_bias(const NetworkSpec& spec, NetworkFile& file) {
  if (spec.bias && file.has_bias) throw UsageError("bias", spec.path + " has its own biases");
  if (file.has_bias) return;
  if (!spec.bias && !has_official_form(file.network))
    throw UsageError("bias", spec.path + " is not of official form and has no biases: give one");
  const double uniform = spec.bias ? *spec.bias : official_problem(file.network.inputs())->bias;
  for (Layer& layer : file.network.layers) layer.bias.uniform = uniform;
}

void fill_in_rule_and_cap(const NetworkSpec& spec, NetworkFile& file) {
  if ((spec.bias_rule || spec.cap) && file.has_rule)
    throw UsageError(spec.bias_rule ? "bias_rule" : "cap", spec.path + " has its own");
  if (spec.bias_rule) file.network.bias_rule = *spec.bias_rule;
  if (!spec.cap) return;
  file.network.cap = spec.cap->value;
  Network{{}, file.network.bias_rule, spec.cap->value}.validate();  // of the cap alone: readers have checked the layers
}

}  // namespace

NetworkRequest request_for(const NetworkSpec& spec, const ProgressCallback& progress) {
  return {.neurons = spec.neurons,
          .layers = spec.layers,
          .progress = progress,
          .allow_missing_newline = spec.allow_missing_newline};
}

void fill_in_parameters(const NetworkSpec& spec, NetworkFile& file) {
  fill_in_bias(spec, file);
  fill_in_rule_and_cap(spec, file);
}

GivenNetwork load_network(const NetworkSpec& spec, const ProgressCallback& progress) {
  if (spec.path.empty()) return generate(spec, progress);
  constexpr std::size_t kNeuronBytes = 2 * sizeof(Offset) + sizeof(Index);  // in network and plan
  check_memory_for("neurons", std::accumulate(spec.neurons.begin(), spec.neurons.end(), Offset{0}), kNeuronBytes);
  NetworkFile file = read_network(spec.path, request_for(spec, progress));
  fill_in_parameters(spec, file);
  const bool official = is_official(file.network);
  return {std::move(file.network), official, std::move(file.notes)};
}

ImageSet load_images(const ImageSpec& spec, std::optional<Index> neurons, const ProgressCallback& progress,
                     FileNotes* notes) {
  if (spec.path.empty() == spec.mnist.empty())
    throw UsageError("images", "expected either a file of images or MNIST's images");
  if (spec.images) check_memory_for("images", *spec.images);
  if (!spec.path.empty()) return read_images(spec.path, neurons, spec.images, notes);
  if (spec.images) throw UsageError("images", "the number of official images is fixed: that of MNIST");
  if (!neurons) throw UsageError("neurons", "official images take a number of neurons");
  return generate_official_images(read_mnist(spec.mnist), *neurons, progress);
}

bool is_official(const Network& network) {
  if (!has_official_form(network)) return false;
  const auto known = official_network_digest(network.inputs(), static_cast<Index>(network.layers.size()));
  return known && *known == network_digest(network);
}

bool is_official(const ImageSet& images) {
  const auto problem = official_problem(images.neurons());
  return problem && images.images() == kOfficialImages && image_digest(images) == problem->image_digest;
}

bool claims_official(const Plan& plan) {
  const auto known = official_network_digest(plan.inputs(), plan.depth());
  return known && *known == plan.provenance.network_digest;
}

bool is_packed_file(const std::string& path) {
  return path_kind(path) == PathKind::file && form_of(path) == Form::packed;
}

StoredPlan stored_plan(const NetworkSpec& spec, const Passes& passes, std::size_t most_bytes) {
  if (spec.path.empty() || !is_packed_file(spec.path)) return {};
  if (spec.layers || !spec.neurons.empty() || spec.bias || spec.bias_rule || spec.cap) return {};
  if (!packed_contents(spec.path).plan) return {};
  const std::size_t bytes = stored_plan_bytes(spec.path);
  if (bytes > most_bytes)
    return {
        {},
        {fmt::format("the plan stored with the network is not used: it takes {}, but {} of host memory are left for it",
                     bytes_text(bytes), bytes_text(most_bytes))}};
  StoredPlan stored{read_plan(spec.path)};
  if (stored.plan->provenance.requested != passes) stored.plan.reset();
  return stored;
}

void check_stored_plan(const std::string& path, const Plan& plan, const Network& network) {
  if (plan.provenance.network_digest != network_digest(network))
    throw DataError(path + ": its plan was made for another network");
}

void check_memory_for(const char* field, Offset count, std::size_t bytes_each) {
  const std::size_t needed = count * bytes_each;
  const std::size_t available = memory_budget(Device::cpu, {});
  if (needed > available)
    throw DeviceError(field, fmt::format("{} need at least {} MB, but {} MB are available", count, needed / 1000000,
                                         available / 1000000));
}

void require_room_for_images(const ImageSpec& spec, Index neurons, std::size_t budget) {
  if (!spec.mnist.empty())
    return require_room_for_images((std::size_t{neurons} + 63) / 64 * 8 * kOfficialImages, budget);
  if (is_packed_file(spec.path)) require_room_for_images(packed_images_bytes(spec.path), budget);
}

void require_room_for_images(std::size_t bytes, std::size_t budget) {
  if (bytes > budget)
    throw DeviceError("host_memory",
                      fmt::format("the images take {}, but {} are available", bytes_text(bytes), bytes_text(budget)));
}

}  // namespace spdnn

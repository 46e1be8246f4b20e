#include "inference/load.hpp"

#include <fmt/format.h>

#include <numeric>

#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "engines/devices.hpp"
#include "io/path_kind.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

bool is_packed_file(const std::string& path) {
  return path_kind(path) == PathKind::file && form_of(path) == Form::packed;
}

GivenNetwork generate(const po::variables_map& values, const std::string& family) {
  if (family != "official") throw UsageError(fmt::format("--generate: '{}' is unknown; expected official", family));
  const auto neurons = text_of(values, "neurons");
  const auto layers = text_of(values, "layers");
  if (!neurons || !layers) throw UsageError("--generate official needs --neurons and --layers");
  const Index width = parse_count("neurons", *neurons);
  const Index depth = parse_count("layers", *layers);
  const ProgressMode progress = parse_progress(values["progress"].as<std::string>());
  // At other depths than the challenge's the first layers are official ones, but the categories are not.
  return {generate_official_network(width, depth, progress), official_network_digest(width, depth).has_value()};
}

NetworkFile read(const po::variables_map& values, const std::string& path) {
  NetworkRequest request;
  if (const auto neurons = text_of(values, "neurons")) request.neurons = parse_counts("neurons", *neurons);
  check_memory_for("neurons", std::accumulate(request.neurons.begin(), request.neurons.end(), Offset{0}));
  if (const auto layers = text_of(values, "layers")) request.layers = parse_count("layers", *layers);
  request.progress = parse_progress(values["progress"].as<std::string>());
  return read_network(path, request);
}

void settle_bias(const po::variables_map& values, const Path& path, NetworkFile& file) {
  const auto bias = text_of(values, "bias");
  if (bias && file.has_bias) throw UsageError(fmt::format("--bias: {} brings its own biases", path.string()));
  if (file.has_bias) return;
  double uniform = 0;
  if (bias) {
    uniform = parse_real("bias", *bias);
  } else if (has_official_form(file.network)) {
    uniform = official_problem(file.network.inputs())->bias;
  } else {
    throw UsageError(fmt::format("{} is not of official form and brings no biases: give --bias", path.string()));
  }
  for (Layer& layer : file.network.layers) layer.bias.uniform = uniform;
}

void settle_rule_and_cap(const po::variables_map& values, const Path& path, NetworkFile& file) {
  const auto rule = text_of(values, "bias-rule");
  const auto cap = text_of(values, "cap");
  if ((rule || cap) && file.has_rule)
    throw UsageError(fmt::format("--{}: {} brings its own", rule ? "bias-rule" : "cap", path.string()));
  if (rule) file.network.bias_rule = parse_bias_rule(*rule);
  if (cap) file.network.cap = parse_cap(*cap);
}

/// Equal to the official network of its size and depth: by its digest, where that is known.
bool is_official(const Network& network) {
  if (!has_official_form(network)) return false;
  const auto known = official_network_digest(network.inputs(), static_cast<Index>(network.layers.size()));
  return known && *known == network_digest(network);
}

}  // namespace

po::options_description network_options() {
  po::options_description options("Network", 120, 60);
  options.add_options()                                                                                            //
      ("network", po::value<std::string>(), "directory of nN-lK.tsv[.gz]|.mtx layers, one such file, or .spdnn")   //
      ("generate", po::value<std::string>(), "official: make the official network instead of reading one")         //
      ("neurons", po::value<std::string>(), "neurons per layer, or inputs and outputs of each layer: 784,300,10")  //
      ("layers", po::value<std::string>(), "use the first L layers")                                               //
      ("bias", po::value<std::string>(), "bias of every neuron; default: the files', or the official one")         //
      ("bias-rule", po::value<std::string>(), "non-zeros (the challenge's, default) or everywhere")                //
      ("cap", po::value<std::string>(), "upper bound of activations, or none; default 32")                         //
      ("progress", po::value<std::string>()->default_value("auto"), "auto (on a terminal) or never");
  return options;
}

po::options_description image_options() {
  po::options_description options("Images", 120, 60);
  options.add_options()                                                                                        //
      ("inputs", po::value<std::string>(), "sparse-images-N.tsv[.gz], .mtx or .spdnn")                         //
      ("mnist", po::value<std::string>(), "make the official inputs from MNIST's training images (IDX[.gz])")  //
      ("images", po::value<std::string>(), "how many images the file holds; default: the largest id");
  return options;
}

void settle_parameters(const po::variables_map& values, const Path& path, NetworkFile& file) {
  settle_bias(values, path, file);
  settle_rule_and_cap(values, path, file);
}

GivenNetwork load_network(const po::variables_map& values) {
  const auto path = text_of(values, "network");
  const auto family = text_of(values, "generate");
  if (path.has_value() == family.has_value()) throw UsageError("give either --network PATH or --generate official");
  if (family) {
    for (const char* option : {"bias", "bias-rule", "cap"})
      if (values.count(option) != 0) throw UsageError(fmt::format("--{} does not go with --generate", option));
    return generate(values, *family);
  }
  NetworkFile file = read(values, *path);
  settle_parameters(values, *path, file);
  const bool official = is_official(file.network);
  return {std::move(file.network), official, std::move(file.notes)};
}

bool claims_official(const Plan& plan) {
  const auto known = official_network_digest(plan.inputs(), plan.depth());
  return known && *known == plan.provenance.network_digest;
}

bool is_official(const ImageSet& images) {
  const auto problem = official_problem(images.neurons());
  return problem && images.images() == kOfficialImages && image_digest(images) == problem->image_digest;
}

void check_stored_plan(const Path& path, const Plan& plan, const Network& network) {
  if (plan.provenance.network_digest != network_digest(network) || plan.provenance.given_edges != network.edges())
    throw DataError(path.string() + ": its plan was made for another network");
}

std::optional<Plan> stored_plan(const po::variables_map& values, const Passes& passes) {
  const auto path = text_of(values, "network");
  if (!path || !is_packed_file(*path)) return std::nullopt;
  for (const char* option : {"layers", "neurons", "bias", "bias-rule", "cap"})
    if (values.count(option) != 0) return std::nullopt;
  if (!packed_contents(*path).plan) return std::nullopt;
  Plan plan = read_plan(*path);
  if (plan.provenance.requested != passes) return std::nullopt;
  return plan;
}

void check_memory_for(const char* option, Offset count) {
  const std::size_t needed = count * sizeof(Offset);
  const std::size_t available = memory_budget(Device::cpu, {});
  if (needed > available)
    throw DeviceError(fmt::format("--{}: {} need {} MB at least, but {} MB are available", option, count,
                                  needed / 1000000, available / 1000000));
}

std::vector<std::string> notes_on_empty_files(const po::variables_map& values) {
  std::vector<std::string> notes;
  const auto look = [&](const char* option, const char* meaning) {
    const auto path = text_of(values, option);
    if (path && path_kind(*path) == PathKind::file && std::filesystem::file_size(*path) == 0)
      notes.push_back(fmt::format("{}: the file is empty: {}", *path, meaning));
  };
  look("truth", "no image is a category");
  look("inputs", "images of zeros");
  return notes;
}

ImageSet load_images(const po::variables_map& values, Index neurons) {
  const auto path = text_of(values, "inputs");
  const auto mnist = text_of(values, "mnist");
  if (path.has_value() == mnist.has_value()) throw UsageError("give either --inputs PATH or --mnist IDX");
  std::optional<Index> images;
  if (const auto text = text_of(values, "images")) {
    images = parse_count("images", *text);
    check_memory_for("images", *images);
  }
  if (path) return read_images(*path, neurons, images);
  if (images) throw UsageError("--images does not go with --mnist");
  return generate_official_images(read_mnist(*mnist), neurons, parse_progress(values["progress"].as<std::string>()));
}

}  // namespace spdnn::cli

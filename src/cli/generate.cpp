#include "data/generate.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

#include "cli/network_form.hpp"
#include "cli/options.hpp"
#include "data/models.hpp"
#include "data/official/problems.hpp"
#include "inference/streaming.hpp"
#include "io/atomic_file.hpp"
#include "io/import/safetensors_writer.hpp"
#include "io/outputs.hpp"
#include "io/packed/read_write.hpp"
#include "io/path_kind.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

constexpr const char* kNetworkUsage =
    "spdnn generate network --family official|radixnet|random --neurons N --layers L --out PATH [OPTIONS]";
constexpr const char* kInputsUsage = "spdnn generate inputs --family official|digits --neurons N --out PATH [OPTIONS]";
constexpr const char* kModelUsage = "spdnn generate model --family lenet5|vgg8 --out MODEL.safetensors [OPTIONS]";

std::string required(const po::variables_map& values, const char* option, const char* usage) {
  if (values.count(option) == 0) throw UsageError(fmt::format("--{} is missing; usage: {}", option, usage));
  return values[option].as<std::string>();
}

std::uint64_t seed_of(const po::variables_map& values) {
  if (values.count("seed") == 0) return 1;
  const std::string text = values["seed"].as<std::string>();
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError(fmt::format("--seed: '{}' is not a whole number from 0 to 2^64-1", text));
  return seed;
}

po::options_description common_options() {
  po::options_description options("Options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("neurons", text(), "neurons of each layer, pixels of each image")(
      "out", text(), "what to write")("seed", text(), "whole number; the same seed gives the same data (default 1)")(
      "progress", text()->default_value("auto"), "auto or never");
  return options;
}

void refuse_family_options(const po::variables_map& values, const std::string& family) {
  refuse(values, {"seed", "degree", "weights", "bias"}, "--family " + family);
}

Network make_network(const po::variables_map& values, Index neurons, Index layers, const ProgressCallback& progress) {
  const std::string family = required(values, "family", kNetworkUsage);
  if (family == "official") {
    refuse_family_options(values, family);
    return generate_official_network(neurons, layers, progress);
  }
  FamilyOptions options{.neurons = neurons, .layers = layers, .seed = seed_of(values)};
  if (values.count("degree") != 0) options.degree = parse_count("degree", values["degree"].as<std::string>());
  if (values.count("weights") != 0) options.law = parse_weight_law(values["weights"].as<std::string>());
  if (values.count("bias") != 0) options.bias = parse_real("bias", values["bias"].as<std::string>());
  if (family == "radixnet") return generate_radixnet(options);
  if (family == "random") return generate_random(options);
  throw UsageError(
      fmt::format("--family: '{}' is no family of networks; expected official, radixnet or random", family));
}

int generate_network(const Arguments& arguments) {
  po::options_description options = common_options();
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("family", text(), "official, radixnet or random")("layers", text(), "number of layers")(
      "degree", text(), "inputs of each neuron (default 32; not official)")(
      "weights", text(), "constant:V or normal:MEAN:DEVIATION (default constant, 2/degree; not official)")(
      "bias", text(), "of every neuron (default 0; not official)")(
      "form", text(), "tsv, tsv.gz, mtx or packed (default: packed for a .spdnn file, tsv for a directory)")(
      "host-memory", text()->default_value("auto"), "a packed official network that takes more is made layer by layer");
  po::variables_map values;
  if (!parse(arguments, kNetworkUsage, options, {}, values)) return 0;
  const Index neurons = parse_count("neurons", required(values, "neurons", kNetworkUsage));
  const Index layers = parse_count("layers", required(values, "layers", kNetworkUsage));
  const Path out = required(values, "out", kNetworkUsage);
  const Form form =
      network_form(out, values.count("form") != 0 ? std::optional(values["form"].as<std::string>()) : std::nullopt);
  check_outputs({{"--out", out, form != Form::packed}}, {});
  const ProgressCallback progress = parse_progress(values["progress"].as<std::string>());

  const std::size_t host_memory = parse_bytes("host-memory", values["host-memory"].as<std::string>());

  const std::string family = required(values, "family", kNetworkUsage);
  const auto say = [&](Offset edges, double bias, double cap) {
    fmt::print("{}: {} network, {} neurons, {} layers, {} edges, bias {}, cap {}\n", out.string(), family, neurons,
               layers, edges, bias, cap);
  };
  if (family == "official" && form == Form::packed) {
    refuse_family_options(values, family);
    NetworkSpec spec;
    spec.neurons = {neurons};
    spec.layers = layers;
    if (const auto given = stream_if_too_large(spec, host_budget(host_memory))) {
      write_packed(out, {.stream = &given->network}, progress);
      say(given->network.edges(), *given->network.layers->shapes()[0].bias, *given->network.cap);
      return 0;
    }
  }
  const Network network = make_network(values, neurons, layers, progress);
  write_network(out, form, network, progress);
  say(network.edges(), network.layers[0].bias.uniform, *network.cap);
  return 0;
}

ImageSet make_images(const po::variables_map& values, Index neurons, const ProgressCallback& progress) {
  const std::string family = required(values, "family", kInputsUsage);
  if (family == "official") {
    refuse(values, {"seed", "images"}, "--family official");
    if (values.count("mnist") == 0)
      throw UsageError(
          "--mnist is missing: official images are made of MNIST's training images, which "
          "data_scripts/fetch_mnist.sh fetches");
    return generate_official_images(read_mnist(values["mnist"].as<std::string>()), neurons, progress);
  }
  if (family != "digits")
    throw UsageError(fmt::format("--family: '{}' is no family of inputs; expected official or digits", family));
  refuse(values, {"mnist"}, "--family digits");
  Index images = kOfficialImages;
  if (values.count("images") != 0) images = parse_count("images", values["images"].as<std::string>());
  return generate_digit_images(neurons, images, seed_of(values));
}

int generate_inputs(const Arguments& arguments) {
  po::options_description options = common_options();
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("family", text(), "official or digits")(
      "mnist", text(), "MNIST's training images, IDX, plain or .gz (official only)")(
      "images", text(), "how many (default 60000; digits only)");
  po::variables_map values;
  if (!parse(arguments, kInputsUsage, options, {}, values)) return 0;
  const Index neurons = parse_count("neurons", required(values, "neurons", kInputsUsage));
  const Path out = required(values, "out", kInputsUsage);
  form_of(out);  // refuses a name without a form before the work is done
  std::vector<NamedInput> inputs;
  if (values.count("mnist") != 0) inputs.push_back({"--mnist", values["mnist"].as<std::string>()});
  check_outputs({{"--out", out}}, inputs);
  const ProgressCallback progress = parse_progress(values["progress"].as<std::string>());

  const ImageSet images = make_images(values, neurons, progress);
  write_images(out, images);
  const Offset nonzeros = images.nonzeros();
  fmt::print("{}: {} images, {} of {} neurons, {} non-zeros ({:.2f} %)\n", out.string(),
             values["family"].as<std::string>(), images.images(), neurons, nonzeros,
             100.0 * static_cast<double>(nonzeros) / static_cast<double>(Offset{images.images()} * neurons));
  return 0;
}

/// The graph goes into a file of one name in the model's directory, which may be another model's.
void refuse_foreign_architecture(const Path& out, const Path& architecture) {
  if (path_kind(out) == PathKind::missing && path_kind(architecture) != PathKind::missing)
    throw DataError(architecture.string() + ": belongs to another model, expected a directory without one");
}

int generate_model(const Arguments& arguments) {
  po::options_description options("Options");
  const auto text = [] { return po::value<std::string>(); };
  options.add_options()("family", text(), "lenet5 or vgg8, for images of 28 x 28 and 10 classes")(
      "sparsity", text()->default_value("0.9"), "share of each layer's weights that are zero, 0 to below 1")(
      "seed", text(), "whole number; the same seed gives the same weights (default 1)")(
      "out", text(), "the .safetensors file to write; architecture.json goes beside it");
  po::variables_map values;
  if (!parse(arguments, kModelUsage, options, {}, values)) return 0;
  const Path out = required(values, "out", kModelUsage);
  if (out.extension() != ".safetensors") throw UsageError("--out: '" + out.string() + "' does not end in .safetensors");
  const Path architecture = out.parent_path() / "architecture.json";
  check_outputs({{"--out", out}, {"the graph beside --out", architecture}}, {});
  refuse_foreign_architecture(out, architecture);
  const std::string family = required(values, "family", kModelUsage);
  const GeneratedModel model =
      generate_pruned_model({family, parse_real("sparsity", values["sparsity"].as<std::string>()), seed_of(values)});
  AtomicFile weights(out);
  write_safetensors(weights, model.tensors);
  AtomicFile graph(architecture);
  graph.write(model.architecture);
  AtomicFile::commit_together({&weights, &graph});
  fmt::print("{}: {} model, {} weights, {} of them not zero\n", out.string(), family, model.weights, model.nonzeros);
  return 0;
}

}  // namespace

int generate(const Arguments& arguments) {
  if (!arguments.empty() && arguments[0] == "network")
    return generate_network({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty() && arguments[0] == "inputs") return generate_inputs({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty() && arguments[0] == "model") return generate_model({arguments.begin() + 1, arguments.end()});
  if (!arguments.empty() && arguments[0] == "--help") {
    fmt::print("usage: {}\n       {}\n       {}\n\n--help after `network`, `inputs` or `model` lists the options.\n",
               kNetworkUsage, kInputsUsage, kModelUsage);
    return 0;
  }
  throw UsageError(fmt::format("generate: expected network, inputs or model; usage: {} | {} | {}", kNetworkUsage,
                               kInputsUsage, kModelUsage));
}

}  // namespace spdnn::cli

#include "data/generate.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/infer_model.hpp"
#include "cli/options.hpp"
#include "cli/specification.hpp"
#include "core/text/amounts.hpp"
#include "core/text/comma_list.hpp"
#include "data/model_families.hpp"
#include "data/official/problems.hpp"
#include "inference/network/streaming.hpp"
#include "io/arrays/npy.hpp"
#include "io/models/model_file.hpp"
#include "io/networks/outputs.hpp"
#include "io/packed/read_write.hpp"
#include "model/graph/node_work.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

constexpr const char* kNetworkUsage =
    "spdnn generate network --family official|radixnet|random --neurons N --layers L --out PATH [OPTIONS]";
constexpr const char* kInputsUsage = "spdnn generate inputs --family official|digits --neurons N --out PATH [OPTIONS]";
constexpr const char* kModelUsage =
    "spdnn generate model --family vgg16|resnet50|mobilenet|densenet|vgg8|lenet5|random --out MODEL [OPTIONS]";
constexpr const char* kTensorsUsage = "spdnn generate tensors --shape N,C,H,W --out X.npy [--seed S]";

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

OptionGroup common_options() {
  OptionGroup group;
  group.options.add_options()                                                              //
      ("neurons", takes("N"), "neurons of each layer, pixels of each image")               //
      ("out", takes("PATH"), "output path")                                                //
      ("seed", takes("S"), "whole number; the same seed gives the same data (default 1)")  //
      ("progress", takes("auto|never", "auto"), "auto: on a terminal");
  return group;
}

CommandForm generate_network_form() {
  OptionGroup group = common_options();
  group.options.add_options()                                                                                      //
      ("family", takes("official|radixnet|random"), "topology")                                                    //
      ("layers", takes("L"), "number of layers")                                                                   //
      ("degree", takes("D"), "inputs of each neuron (default 32; not official)")                                   //
      ("weights", takes("LAW"), "constant:V or normal:MEAN:DEVIATION (default constant, 2/degree; not official)")  //
      ("bias", takes("B"), "bias of every neuron (default 0; not official)")                                       //
      ("form", takes("tsv|tsv.gz|mtx|packed"), "format; default: packed for a .spdnn file, tsv for a directory")   //
      ("host-memory", takes("SIZE", "auto"), "a larger packed official network is generated layer by layer");
  return {.name = "generate network",
          .summary = "Makes a network: an official one of the Graph Challenge, or a synthetic one.",
          .usage = kNetworkUsage,
          .groups = {group},
          .examples =
              "  spdnn generate network --family official --neurons 1024 --layers 120 \\\n"
              "    --out n1024.spdnn\n"};
}

CommandForm generate_inputs_form() {
  OptionGroup group = common_options();
  group.options.add_options()                                                                 //
      ("family", takes("official|digits"), "official: from MNIST; digits: synthetic")         //
      ("mnist", takes("FILE"), "MNIST's training images, IDX, plain or .gz (official only)")  //
      ("images", takes("N"), "number of images (default 60000; digits only)");
  return {.name = "generate inputs",
          .summary = "Makes images for networks: the official ones from MNIST, or synthetic digits.",
          .usage = kInputsUsage,
          .groups = {group},
          .examples = "  spdnn generate inputs --family digits --neurons 1024 --out images.spdnn\n"};
}

CommandForm generate_model_form() {
  OptionGroup group;
  group.options.add_options()                                                    //
      ("family", takes("vgg16|resnet50|mobilenet|densenet|vgg8|lenet5|random"),  //
       "architecture; random: nodes of most operations")                         //
      ("sparsity", takes("SHARE", "0.9"),                                        //
       "share of zero weights, from 0 to below 1: for all layers except the first and depthwise ones, or a list by "
       "layer")                                                                                                //
      ("rows", takes("skewed|uniform", "skewed"),                                                              //
       "skewed: output channels differ in non-zeros, as in real networks; uniform: all have the same number")  //
      ("shape", takes("C,H,W"), "shape of an image (default: the family's)")                                   //
      ("classes", takes("N"), "number of classes (default: the family's)")                                     //
      ("seed", takes("S"), "whole number; the same seed gives the same weights (default 1)")                   //
      ("out", takes("FILE"), "the file to write: .onnx, .spdnn, or .safetensors with architecture.json beside it");
  return {.name = "generate model",
          .summary = "Makes a pruned convolutional network with random weights.",
          .usage = kModelUsage,
          .groups = {group},
          .examples = "  spdnn generate model --family resnet50 --sparsity 0.9 --out resnet50.onnx\n"};
}

CommandForm generate_tensors_form() {
  OptionGroup group;
  group.options.add_options()                                                                 //
      ("shape", takes("N,C,H,W"), "lengths of all axes; these four for images")               //
      ("seed", takes("S"), "whole number; the same seed gives the same numbers (default 1)")  //
      ("out", takes("FILE"), "the .npy file to write");
  return {.name = "generate tensors",
          .summary = "Makes an array of random numbers in [-1, 1), for instance images for a model.",
          .usage = kTensorsUsage,
          .groups = {group},
          .examples = "  spdnn generate tensors --shape 16,3,224,224 --out images.npy\n"};
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
      fmt::format("--family: '{}' is not a family of networks; expected official, radixnet or random", family));
}

int generate_network(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, generate_network_form(), values)) return 0;
  const Index neurons = parse_count("neurons", required(values, "neurons", kNetworkUsage));
  const Index layers = parse_count("layers", required(values, "layers", kNetworkUsage));
  const Path out = required(values, "out", kNetworkUsage);
  const Form form = network_form(out, text_of(values, "form"));
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
          "--mnist is missing: official images are made from MNIST's training images; data_scripts/fetch_mnist.sh "
          "downloads them");
    return generate_official_images(read_mnist(values["mnist"].as<std::string>()), neurons, progress);
  }
  if (family != "digits")
    throw UsageError(fmt::format("--family: '{}' is not a family of inputs; expected official or digits", family));
  refuse(values, {"mnist"}, "--family digits");
  Index images = kOfficialImages;
  if (values.count("images") != 0) images = parse_count("images", values["images"].as<std::string>());
  return generate_digit_images(neurons, images, seed_of(values));
}

int generate_inputs(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, generate_inputs_form(), values)) return 0;
  const Index neurons = parse_count("neurons", required(values, "neurons", kInputsUsage));
  const Path out = required(values, "out", kInputsUsage);
  form_of(out);  // refuses a name without a known format before the work is done
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

std::vector<double> parse_sparsity(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string_view one : split_at_commas(text)) numbers.push_back(parse_real("sparsity", std::string(one)));
  return numbers;
}

int generate_model(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, generate_model_form(), values)) return 0;
  const Path out = required(values, "out", kModelUsage);
  if (!is_written_form(out))
    throw UsageError(fmt::format("--out: '{}' does not end in {}", out.string(), written_endings()));
  std::vector<NamedOutput> outputs{{"--out", out}};
  for (const Path& beside : files_beside(out)) outputs.push_back({"the graph beside --out", beside});
  check_outputs(outputs, {});
  ModelFamilyOptions family{.family = required(values, "family", kModelUsage),
                            .sparsity = parse_sparsity(values["sparsity"].as<std::string>()),
                            .rows = parse_word<RowLaw>("rows", values["rows"].as<std::string>(),
                                                       {{"skewed", RowLaw::skewed}, {"uniform", RowLaw::uniform}}),
                            .seed = seed_of(values)};
  if (const auto shape = text_of(values, "shape")) family.image = parse_shape(*shape);
  if (const auto classes = text_of(values, "classes")) family.classes = parse_count("classes", *classes);
  const Model model = spdnn::generate_model(family);
  write_model(out, model);
  const ModelWork work = sum_of(work_of(model));
  fmt::print("{}: {} model, {}, {} of them non-zero\n", out.string(), family.family,
             counted(work.weights, "weight", "weights"), work.nonzeros);
  return 0;
}

int generate_tensors(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, generate_tensors_form(), values)) return 0;
  const Path out = required(values, "out", kTensorsUsage);
  check_outputs({{"--out", out}}, {});
  const Shape shape = parse_shape(required(values, "shape", kTensorsUsage));
  if (shape.front() == kBatchExtent) throw UsageError("--shape: 'N' is not a number of images");
  write_npy(out, generate_tensor(shape, seed_of(values)));
  fmt::print("{}: {} numbers in [-1, 1)\n", out.string(), shape_text(shape));
  return 0;
}

}  // namespace

std::vector<CommandForm> generate_forms() {
  return {generate_network_form(), generate_inputs_form(), generate_model_form(), generate_tensors_form()};
}

int generate(const Arguments& arguments) {
  struct Kind {
    const char* name;
    int (*run)(const Arguments& arguments);
  };
  static constexpr std::array<Kind, 4> kKinds{{{"network", generate_network},
                                               {"inputs", generate_inputs},
                                               {"model", generate_model},
                                               {"tensors", generate_tensors}}};
  for (const Kind& kind : kKinds)
    if (!arguments.empty() && arguments[0] == kind.name) return kind.run({arguments.begin() + 1, arguments.end()});
  throw UsageError(fmt::format("generate: expected network, inputs, model or tensors; usage: {} | {} | {} | {}",
                               kNetworkUsage, kInputsUsage, kModelUsage, kTensorsUsage));
}

}  // namespace spdnn::cli

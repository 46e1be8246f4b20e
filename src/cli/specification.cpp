#include "cli/specification.hpp"

#include <fmt/format.h>

#include <system_error>

#include "core/text/lower_case.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

void fill_engine_settings(const po::variables_map& values, RunSettings& settings) {
  const std::string variant = values["variant"].as<std::string>();
  if (variant != "auto") settings.variant = variant;
  settings.device = device_of(values, "device");
  if (const auto threads = text_of(values, "threads")) settings.threads = parse_threads(*threads);
  settings.progress = parse_progress(values["progress"].as<std::string>());
}

OptionGroup network_options() {
  OptionGroup group{.heading = "Network"};
  group.options.add_options()                                                                          //
      ("network", takes("PATH"), "directory of nN-lK.tsv[.gz]|.mtx layers, one such file, or .spdnn")  //
      ("generate", takes("official"), "generate the official network instead of reading one")          //
      ("neurons", takes("N"), "neurons per layer, or inputs and outputs of each layer: 784,300,10")    //
      ("layers", takes("L"), "use the first L layers")                                                 //
      ("bias", takes("B"), "bias of every neuron; default: the files' or the official one")            //
      ("bias-rule", takes("non-zeros|everywhere"),
       "where the bias is added; default: non-zeros, as in the challenge")    //
      ("cap", takes("Y"), "upper bound of activations, or none; default 32")  //
      ("allow-missing-newline", "accept text layers and biases whose last line has no newline");
  return group;
}

OptionGroup image_options() {
  OptionGroup group{.heading = "Images"};
  group.options.add_options()                                                                       //
      ("inputs", takes("FILE"), "sparse-images-N.tsv[.gz], .mtx or .spdnn")                         //
      ("mnist", takes("FILE"), "make the official inputs from MNIST's training images (IDX[.gz])")  //
      ("images", takes("N"), "number of images in the file; default: the largest id");
  return group;
}

OptionGroup engine_options() {
  OptionGroup group{.heading = "Run"};
  group.options.add_options()                                                                               //
      ("device", takes("auto|cpu|cuda", "auto"), "where the engine runs; auto: CUDA if there is a device")  //
      ("variant", takes("ENGINE", "auto"), "engine; see spdnn variants")                                    //
      ("reduce", takes("PASSES", "all"), "exact passes: all, dead, none or a list")                         //
      ("threads", takes("N"), "host threads; default: all that are granted")                                //
      ("plan-device", takes("auto|cpu|cuda", "auto"), "device that finds twins")                            //
      ("progress", takes("auto|never", "auto"), "auto: on a terminal");
  return group;
}

NetworkSpec network_parameters(const po::variables_map& values) {
  NetworkSpec spec;
  if (const auto neurons = text_of(values, "neurons")) spec.neurons = parse_counts("neurons", *neurons);
  if (const auto layers = text_of(values, "layers")) spec.layers = parse_count("layers", *layers);
  if (const auto bias = text_of(values, "bias")) spec.bias = parse_real("bias", *bias);
  if (const auto rule = text_of(values, "bias-rule")) spec.bias_rule = parse_bias_rule(*rule);
  if (const auto cap = text_of(values, "cap")) spec.cap = Cap{parse_cap(*cap)};
  spec.allow_missing_newline = values.count("allow-missing-newline") != 0;
  return spec;
}

NetworkSpec network_spec(const po::variables_map& values) {
  const auto path = text_of(values, "network");
  const auto family = text_of(values, "generate");
  if (path.has_value() == family.has_value())
    throw UsageError("give either --network PATH or --generate official; for models, --model MODEL");
  NetworkSpec spec = network_parameters(values);
  if (path) {
    spec.path = *path;
    return spec;
  }
  refuse(values, {"bias", "bias-rule", "cap", "allow-missing-newline"}, "--generate");
  if (*family != "official") throw UsageError(fmt::format("--generate: '{}' is unknown; expected official", *family));
  if (spec.neurons.empty() || !spec.layers) throw UsageError("--generate official needs --neurons and --layers");
  return spec;
}

ImageSpec image_spec(const po::variables_map& values) {
  ImageSpec spec{"", text_of(values, "mnist").value_or(""), {}};
  const std::vector<std::string> files = texts_of(values, "inputs");
  if (files.size() > 1) throw UsageError("--inputs: expected one file; several are images of a model (--model)");
  if (!files.empty()) spec.path = files.front();
  if (spec.path.empty() == spec.mnist.empty()) throw UsageError("give either --inputs PATH or --mnist IDX");
  if (const auto images = text_of(values, "images")) spec.images = parse_count("images", *images);
  if (!spec.mnist.empty()) refuse(values, {"images"}, "--mnist");
  return spec;
}

void fill_engine(const po::variables_map& values, InferenceSpec& spec) {
  spec.passes = parse_passes(values["reduce"].as<std::string>(), "reduce");
  spec.plan_device = device_of(values, "plan-device");
  fill_engine_settings(values, spec);
}

void fill_run(const po::variables_map& values, RunSettings& settings) {
  const auto value = [&](const char* option) { return values[option].as<std::string>(); };
  if (const auto precision = text_of(values, "precision")) settings.precision = parse_precision(*precision);
  settings.trials = static_cast<int>(parse_count("trials", value("trials")));
  settings.warm_up = static_cast<int>(parse_whole("warm-up", value("warm-up")));
  if (value("batch") != "auto") settings.batch = parse_count("batch", value("batch"));
  settings.host_memory = parse_bytes("host-memory", value("host-memory"));
  settings.share_devices = values.count("share-devices") != 0;
  settings.device_state = values.count("device-state") != 0;
  settings.compare = values.count("compare") != 0;
}

Form network_form(const Path& out, const std::optional<std::string>& form) {
  const std::string name = out.filename().string();
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  if (form) {
    const Form given = parse_word<Form>(
        "form", *form,
        {{"tsv", Form::tsv}, {"tsv.gz", Form::tsv_gz}, {"mtx", Form::matrix_market}, {"packed", Form::packed}});
    std::error_code unknown;  // problems with the name are reported by its writer
    if ((given == Form::packed) != ends(".spdnn") && (ends(".spdnn") || is_directory(out, unknown)))
      throw UsageError(fmt::format("--form {} cannot be used with OUT {}", *form, out.string()));
    return given;
  }
  if (ends(".spdnn")) return Form::packed;
  if (ends(".tsv") || ends(".tsv.gz") || ends(".mtx") || ends(".mtx.gz"))
    throw UsageError(fmt::format("OUT {}: a network goes into a directory or a .spdnn file", out.string()));
  return Form::tsv;
}

std::optional<Device> device_of(const po::variables_map& values, const char* option) {
  const std::string text = text_of(values, option).value_or("auto");
  if (text == "auto") return std::nullopt;
  for (const Device device : {Device::cpu, Device::cuda})
    if (text == to_string(device)) return device;
  throw UsageError(fmt::format("--{}: '{}' is neither auto, cpu nor cuda{}", option, text,
                               lower_case(text) == "gpu" ? "; did you mean cuda?" : ""));
}

}  // namespace spdnn::cli

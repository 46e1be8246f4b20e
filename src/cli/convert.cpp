#include <fmt/format.h>

#include "cli/convert_weights.hpp"
#include "cli/infer_model.hpp"
#include "cli/model_inputs.hpp"
#include "cli/specification.hpp"
#include "core/system/system_failure.hpp"
#include "core/text/message.hpp"
#include "inference/model/compiled_program.hpp"
#include "inference/network/conversion.hpp"
#include "inference/run/load.hpp"
#include "io/files/path_kind.hpp"
#include "io/models/model_file.hpp"
#include "io/models/onnx/writer.hpp"
#include "io/models/packed/writer.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/outputs.hpp"
#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::cli {

namespace {

enum class Kind { network, images, model };

CommandForm convert_form() {
  OptionGroup group;
  group.options.add_options()                                                                        //
      ("kind", takes("network|images"), "type of IN, if its name does not show it")                  //
      ("neurons", takes("N"), "neurons per layer, or inputs and outputs of each layer: 784,300,10")  //
      ("layers", takes("L"), "take only the first L layers")                                         //
      ("bias", takes("B"), "bias of a network without one that is not of official form")             //
      ("bias-rule", takes("non-zeros|everywhere"),
       "where the bias is added; default: non-zeros, as in the challenge")                                    //
      ("cap", takes("Y"), "upper bound of activations, or none; default 32")                                  //
      ("allow-missing-newline", "accept text layers and biases whose last line has no newline")               //
      ("images", takes("N"), "number of images in IN, if the last ones are empty (images of networks only)")  //
      ("form", takes("tsv|tsv.gz|mtx|packed"), "format of a network in OUT; default tsv")                     //
      ("weights", takes("dense|sparse"),
       "of a model OUT.onnx; sparse: without their zeros, if that takes fewer bytes, for the few programs that read "
       "sparse initializers; default: dense")  //
      ("to", takes("2:4|fp16|int8|codebook4|codebook5|codebook6|codebook7|codebook8"),
       "form of the weights of a packed model: 2:4, exact, or rounded: fp16, int8 with a scale for each output "
       "channel, a codebook of 16 to 256 numbers for each layer; int8 also in OUT.onnx, and with --inputs it rounds "
       "the "
       "activations that convolutions and linear nodes read to 8 bits, too")                                 //
      ("plan", takes("PASSES"), "store a plan for these passes with a packed network: all, dead or a list")  //
      ("plan-device", takes("auto|cpu|cuda"), "device that finds twins for --plan; auto is cpu")             //
      ("program", takes("VARIANT|auto"),
       "store with a packed model the program that infer would run on this machine, for --batch and --threads; of "
       "conv_generated its code, too")                                                                         //
      ("tune", "choose the kernels of --program by times measured on this machine instead of predicted ones")  //
      ("batch", takes("N"),
       "images at a time that --program is for; default: as many as infer would take")                         //
      ("threads", takes("T"), "threads that --program is for; default: as many as the process may use")        //
      ("precision", takes("fp32|bf16|fp16-sums"), "that --program computes in; default: the variant's first")  //
      ("compile-seconds", takes("SECONDS"), "generate code of --program for at most this time; default: 60")   //
      ("host-memory", takes("SIZE", "auto"),
       "500M, 4G; a larger .spdnn or TSV network is converted layer by layer")                                     //
      ("shape", takes("N,C,H,W"), "shape of a model's input; the letter N means any number; default: the file's")  //
      ("progress", takes("auto|never", "auto"), "auto: on a terminal");
  OptionGroup images{.heading = "Calibration images (models, with --to int8)"};
  add_model_inputs(images.options);
  return {.name = "convert",
          .summary =
              "Converts networks, images and models between formats. Networks: directories of TSV or Matrix Market "
              "layers, .spdnn. Images: .tsv, .mtx, .spdnn. Models: .onnx, .safetensors with architecture.json beside "
              "it, .spdnn; IN may also be .tflite.",
          .usage = "spdnn convert IN OUT [OPTIONS]",
          .groups = {group, images},
          .positional = {"IN", "OUT"},
          .examples =
              "  spdnn convert n1024 n1024.spdnn --plan all\n"
              "  spdnn convert sparse-images-1024.tsv images.spdnn\n"};
}

std::optional<Index> count_of(const po::variables_map& values, const char* option) {
  const auto text = text_of(values, option);
  return text ? std::optional(parse_count(option, *text)) : std::nullopt;
}

/// Reports a missing or damaged IN as such, before its contents are examined.
void require_readable(const Path& in) {
  const PathKind kind = path_kind(in);
  if (kind == PathKind::missing) throw_system_failure(in, "cannot read", ENOENT);
  if (kind != PathKind::directory && in.extension() == ".spdnn") packed_contents(in);
}

Kind kind_of(const Path& in, const po::variables_map& values) {
  if (holds_model(in)) return Kind::model;
  if (const auto given = text_of(values, "kind"))
    return parse_word<Kind>("kind", *given, {{"network", Kind::network}, {"images", Kind::images}});
  const PathKind kind = path_kind(in);
  if (kind == PathKind::directory) return Kind::network;
  if (kind == PathKind::missing) throw_system_failure(in, "cannot read", ENOENT);
  if (form_of(in) == Form::packed) {
    const PackedContents contents = packed_contents(in);
    if (contents.network != contents.images) return contents.network ? Kind::network : Kind::images;
  } else {
    const std::string name = in.filename().string();
    if (parse_layer_name(name)) return Kind::network;
    if (name.starts_with("sparse-images-")) return Kind::images;
  }
  throw UsageError(
      fmt::format("{}: the name does not show whether it is a network or images; give --kind", in.string()));
}

/// Text layers hold only weights, and biases that differ: names the options that `infer` then needs.
void say_what_is_lost(const Path& out, const NetworkFile& file) {
  const Network& network = file.network;
  if (!file.has_rule && !file.has_bias) return;
  std::string options;
  if (file.has_bias && !needs_bias_files(network)) options += fmt::format(" --bias {}", network.layers[0].bias.uniform);
  if (network.bias_rule == BiasRule::everywhere) options += " --bias-rule everywhere";
  if (file.has_rule) options += network.cap ? fmt::format(" --cap {}", *network.cap) : " --cap none";
  if (!options.empty())
    print_message({"note: ", out.native(), " does not contain all parameters; use infer with", options});
}

void print_notes(const FileNotes& notes) {
  for (const std::string& note : notes) print_message({"note: ", note});
}

/// The model is converted as it is in its file, without the rewrites of `infer`.
void convert_model(const Path& in, const Path& out, const po::variables_map& values) {
  refuse(values,
         {"kind", "neurons", "layers", "bias", "bias-rule", "cap", "allow-missing-newline", "images", "form", "plan",
          "plan-device"},
         "a model");
  if (!is_written_form(out))
    throw UsageError(
        fmt::format("OUT: '{}' does not end in {}, the formats for models", out.string(), written_endings()));
  std::vector<NamedInput> inputs = named_inputs(values, {"inputs", "table"});
  inputs.push_back({"IN", in});
  for (const Path& beside : files_beside(in)) inputs.push_back({"the graph beside IN", beside});
  std::vector<NamedOutput> outputs{{"OUT", out}};
  for (const Path& beside : files_beside(out)) outputs.push_back({"the graph beside OUT", beside});
  check_outputs(outputs, inputs);
  std::optional<Shape> shape;
  if (const auto text = text_of(values, "shape")) shape = parse_shape(*text);
  Model model = read_model(in, shape);
  model.program.reset();  // the options say whether there is one
  model.code.clear();
  change_weights(out, values, model);
  if (const auto variant = text_of(values, "program")) {
    if (out.extension() != ".spdnn") throw UsageError("--program: only packed models, .spdnn, hold a program");
    EngineSettings settings;
    if (*variant != "auto") settings.variant = *variant;
    settings.batch = count_of(values, "batch").value_or(0);
    if (const auto threads = text_of(values, "threads")) settings.threads = parse_threads(*threads);
    if (const auto precision = text_of(values, "precision")) settings.precision = parse_precision(*precision);
    if (const auto seconds = text_of(values, "compile-seconds"))
      settings.compile_seconds = parse_seconds_or_0("compile-seconds", *seconds);
    FileNotes notes;
    CompiledProgram compiled = compiled_program(as_packed(model), settings, values.count("tune") != 0, notes);
    model.program = std::move(compiled.program);
    model.code = std::move(compiled.code);
    print_notes(notes);
  } else {
    refuse(values, {"batch", "threads", "tune", "precision", "compile-seconds"},
           "a model that is stored without --program");
  }
  const auto weights = text_of(values, "weights");
  if (weights && out.extension() != ".onnx") throw UsageError("--weights: only .onnx has forms to choose from");
  if (weights && parse_word<bool>("weights", *weights, {{"dense", false}, {"sparse", true}}))
    write_sparse_onnx(out, model);
  else
    write_model(out, model);
}

void convert_network(const Path& in, const Path& out, const po::variables_map& values) {
  refuse(values, {"images"}, "a network");
  const Form form = network_form(out, text_of(values, "form"));
  std::optional<Passes> passes;
  if (const auto plan = text_of(values, "plan")) passes = parse_passes(*plan, "plan");
  if (form != Form::packed)
    refuse(values, {"bias", "bias-rule", "cap", "plan", "plan-device"},
           "an OUT of text layers, which contain only weights");
  if (!passes) refuse(values, {"plan-device"}, "a network that is stored without its plan");
  NetworkConversion conversion{.network = network_parameters(values),
                               .out = out,
                               .form = form,
                               .passes = passes,
                               .plan_device = device_of(values, "plan-device").value_or(Device::cpu),
                               .take_notes = print_notes};
  conversion.network.path = in;
  check_outputs({{"OUT", out, form != Form::packed}}, {{"IN", in}});
  conversion.progress = parse_progress(*text_of(values, "progress"));
  conversion.host_memory = parse_bytes("host-memory", values["host-memory"].as<std::string>());
  say_what_is_lost(out, spdnn::convert_network(conversion));
}

void convert_images(const Path& in, const Path& out, const po::variables_map& values) {
  refuse(values, {"layers", "bias", "bias-rule", "cap", "allow-missing-newline", "form", "plan", "plan-device"},
         "images");
  form_of(out);  // refuses an unknown format before the work
  check_outputs({{"OUT", out}}, {{"IN", in}});
  const auto neurons = count_of(values, "neurons");
  const auto images = count_of(values, "images");
  check_memory_for("neurons", neurons.value_or(0));
  check_memory_for("images", images.value_or(0));
  FileNotes notes;
  const ImageSet read = read_images(in, neurons, images, &notes);
  print_notes(notes);
  write_images(out, read);
}

}  // namespace

std::vector<CommandForm> convert_forms() { return {convert_form()}; }

int convert(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, convert_form(), values)) return 0;
  const Path in = values["in"].as<std::string>();
  const Path out = values["out"].as<std::string>();
  if (!conversion_hint(in).empty()) read_model(in.string());  // its error explains how to convert the file
  if (names_model(out) && !holds_model(in)) {
    require_readable(in);
    throw UsageError(fmt::format("OUT: '{}' is a model, but IN is not", out.string()));
  }
  const Kind kind = kind_of(in, values);
  if (kind == Kind::model) {
    convert_model(in, out, values);
    return 0;
  }
  refuse(values,
         {"shape", "program", "tune", "batch", "threads", "precision", "compile-seconds", "weights", "to", "inputs",
          "table", "first", "subtract", "divide", "mean", "std"},
         "networks and images");
  if (kind == Kind::network)
    convert_network(in, out, values);
  else
    convert_images(in, out, values);
  return 0;
}

}  // namespace spdnn::cli

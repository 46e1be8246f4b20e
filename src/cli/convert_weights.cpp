// `spdnn convert --to`: the weights of a model in another form, and its activations in int8.

#include "cli/convert_weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/model_inputs.hpp"
#include "core/text/amounts.hpp"
#include "core/text/message.hpp"
#include "inference/model/load.hpp"
#include "inference/prune/calibrate.hpp"
#include "prune/quantise.hpp"
#include "prune/quantise_values.hpp"
#include "prune/select.hpp"
#include "prune/two_of_four.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

void store_groups(Model& model) {
  const TwoOfFourForm form = store_two_of_four(model);
  std::string text =
      fmt::format("note: the weights of {} are stored as 2:4, {} in memory instead of {}",
                  counted(form.nodes, "node", "nodes"), bytes_text(form.bytes_after), bytes_text(form.bytes_before));
  if (form.ordered > 0) text += fmt::format("; {} of them by orders of the input channels", form.ordered);
  if (form.few > 0)
    text +=
        fmt::format("; {} with filters of fewer than {} weights not", counted(form.few, "node", "nodes"), kFewWeights);
  print_message({text});
  if (form.rest > 0)
    print_message({fmt::format("note: {} of {} weights ({:.2g} %) do not fit and are stored beside, as CSR; most of {}",
                               form.rest, form.weights,
                               100 * static_cast<double>(form.rest) / static_cast<double>(form.weights), form.worst)});
  if (form.crowded > 0)
    print_message({fmt::format("note: {} as before, because more than a quarter of the weights do not fit; most of {}",
                               counted(form.crowded, "node stays", "nodes stay"), form.most_crowded)});
}

/// Quantises what convolutions and linear nodes read to 8 bits.
void round_values(Model& model, const Tensor& images) {
  EngineSettings settings;
  settings.device = Device::cpu;
  const auto ranges = calibrated_ranges(model, images, settings);
  const std::size_t rounded = quantise_values(model, ranges);
  print_message({fmt::format("note: {} quantised to 8 bits, with ranges of {}",
                             rounded == 1 ? "1 value is" : counted(rounded, "value", "values") + " are",
                             counted(static_cast<std::size_t>(images.shape[0]), "image", "images"))});
}

void round_weights(Model& model, const std::string& to) {
  const QuantisationLoss loss = quantise(model, parse_quantisation(to));
  print_message(
      {fmt::format("note: the weights of {} were rounded, which changed them by {:.3g} % (Euclidean); they take "
                   "{} in memory instead of {}",
                   counted(loss.nodes, "node", "nodes"), 100 * loss.change, bytes_text(loss.bytes_after),
                   bytes_text(loss.bytes_before))});
}

}  // namespace

void change_weights(const Path& out, const po::variables_map& values, Model& model) {
  const auto to = text_of(values, "to");
  const ModelInputs inputs = model_inputs(values);
  const bool has_images = values.count("inputs") != 0;
  if (has_images && to != "int8") throw UsageError("--inputs: only --to int8 takes images");
  if (!to) return;
  if (out.extension() != ".spdnn" && (out.extension() != ".onnx" || *to != "int8"))
    throw UsageError("--to: only packed models, .spdnn, hold such weights; .onnx holds int8");
  if (std::none_of(model.nodes.begin(), model.nodes.end(),
                   [](const Node& node) { return weights_or_null(node.operation) != nullptr; }))
    throw DataError("--to: the model has no convolution or linear node, so no weights");
  LoadedImages images;
  if (has_images) images = load_model_images(inputs, model);
  for (const std::string& note : images.notes) print_message({"note: ", note});
  if (*to == "2:4")
    store_groups(model);
  else
    round_weights(model, *to);
  if (has_images) round_values(model, images.images);
}

}  // namespace spdnn::cli

#include "inference/model/run_report.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/amounts.hpp"
#include "core/types/all_finite.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/load.hpp"
#include "inference/ranks/record_run.hpp"
#include "model/graph/node_text.hpp"
#include "model/graph/node_work.hpp"

namespace spdnn {

namespace {

bool passes_on(const Operation& operation) {
  const auto* const activation = std::get_if<Activation>(&operation);
  return std::holds_alternative<Reshape>(operation) || std::holds_alternative<Transpose>(operation) ||
         (activation != nullptr && activation->kind == Activation::Kind::identity);
}

std::string made_by(const Operation& operation) {
  const auto* const activation = std::get_if<Activation>(&operation);
  const auto* const elements = std::get_if<Elementwise>(&operation);
  if (std::holds_alternative<Softmax>(operation)) return "probability";
  if (activation != nullptr && activation->kind == Activation::Kind::sigmoid) return "sigmoid";
  const bool sum = elements != nullptr && elements->kind == Elementwise::Kind::add;
  const bool affine = std::holds_alternative<Convolution>(operation) || std::holds_alternative<Linear>(operation) ||
                      std::holds_alternative<BatchNorm>(operation);
  return sum || affine ? "logit" : "output";
}

/// The kind of the first output's numbers: `probability` of a softmax, `sigmoid`, `logit` where a convolution, a linear
/// node, a batch norm or a sum makes them, otherwise `output`. Nodes that only move numbers are looked through.
std::string score_name(const Model& model) {
  std::vector<std::string> names(model.values.size(), "output");
  for (const Node& node : model.nodes)
    names[node.output] = passes_on(node.operation) ? names[node.inputs.front()] : made_by(node.operation);
  return names[model.outputs.front()];
}

MultiplyAdds multiply_adds_of(const ModelWork& work) { return {work.dense, work.sparse}; }

}  // namespace

void describe_given(const Model& model, ModelReport& report) {
  report.name = model.name;
  report.input = model.values[model.inputs.front()].shape;
  const std::vector<std::string> names = output_names(model);
  for (std::size_t i = 0; i < names.size(); ++i)
    report.outputs.push_back({names[i], model.values[model.outputs[i]].shape});
  report.nodes = model.nodes.size();
  report.classes = classes_of(model);
  report.score = score_name(model);
  const ModelWork work = sum_of(work_of(model));
  report.weights = work.weights;
  report.nonzeros = work.nonzeros;
  report.multiply_adds = multiply_adds_of(work);
}

void describe_run(const Model& model, ModelReport& report) {
  report.nodes_run = model.nodes.size();
  report.multiply_adds_run = multiply_adds_of(sum_of(work_of(model)));
}

void describe_engine(const ModelEngineChoice& choice, KnownSupport& known, const ModelEngineOptions& options,
                     const ModelSpec& spec, ModelReport& report) {
  record_engine(choice, spec, report);
  report.batch = options.batch;
  for (const std::string& remark : known.of(*choice.variant, options).remarks) report.notes.push_back(remark);
}

void record_run(RankedModelResult all, const Model& model, const ModelSpec& spec, ModelReport& report) {
  record_times(all, report);
  ModelRunResult& result = all.result;
  if (result.differing_trials > 0)
    report.notes.push_back(fmt::format(
        "{} results that differ from the first trial's",
        counted(static_cast<Index>(result.differing_trials), "batch of a trial gave", "batches of trials gave")));
  for (std::size_t node = 0; node < result.node_seconds.size(); ++node)
    report.profile.push_back(
        {model.nodes[node].name, std::string(operation_name(model.nodes[node].operation)), result.node_seconds[node]});
  if (spec.profile && report.profile.empty()) report.notes.push_back(report.variant + " cannot time single nodes");
  if (result.overflow) report.overflow = node_text(model, *result.overflow);
  for (std::size_t i = 0; i < report.outputs.size(); ++i) {
    ModelOutput& output = report.outputs[i];
    output.values = std::move(result.outputs[i]);
    if (all_finite(output.values.values)) continue;
    report.notes.push_back(fmt::format("some numbers of the output \"{}\" are infinite or no numbers", output.name));
    if (report.overflow.empty()) report.overflow = fmt::format("the output \"{}\"", output.name);
  }
  if (report.classes > 0) report.predictions = predictions_of(report.logits());
}

}  // namespace spdnn

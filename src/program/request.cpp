#include "program/request.hpp"

namespace spdnn::program {

ByteForms byte_forms_of(const Model& model) {
  ByteForms forms(model.values.size());
  for (const QuantisedValue& value : quantised_values(model)) forms[model.nodes[value.last()].output] = value;
  for (const Node& node : model.nodes)
    if (is_view(node.operation)) forms[node.output] = forms[node.inputs[0]];
  return forms;
}

Request request_for(const Model& model, const Step& step, Extent images, const CompileOptions& options,
                    const ByteForms& forms, LayoutsOfValues& there) {
  Request request{.model = model,
                  .step = step,
                  .images = images,
                  .kernels_for = options.kernels_for,
                  .type = options.type,
                  .threads = options.threads,
                  .compile_seconds = options.compile_seconds,
                  .every_tiling = options.every_tiling,
                  .inputs = {},
                  .known = options.known};
  const auto add = [&](ValueId value) {
    request.inputs.push_back(
        {value, with_batch(model.values[value].shape, images), layouts_of(there, value), forms[value]});
  };
  const Node& first = model.nodes[step.node];
  for (const ValueId value : first.inputs) add(value);
  ValueId result = first.output;
  for (const Index fused : step.fused) {
    if (adds_value(model, model.nodes[fused])) add(other_input(model.nodes[fused], result));
    result = model.nodes[fused].output;
  }
  request.bytes = forms[result];
  return request;
}

}  // namespace spdnn::program

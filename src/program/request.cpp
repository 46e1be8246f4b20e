#include "program/request.hpp"

namespace spdnn::program {

Request request_for(const Model& model, const Step& step, Extent images, const CompileOptions& options,
                    LayoutsOfValues& there) {
  Request request{.model = model,
                  .step = step,
                  .images = images,
                  .kernels_for = options.kernels_for,
                  .type = options.type,
                  .threads = options.threads,
                  .compile_seconds = options.compile_seconds,
                  .inputs = {}};
  const auto add = [&](ValueId value) {
    request.inputs.push_back({value, with_batch(model.values[value].shape, images), layouts_of(there, value)});
  };
  const Node& first = model.nodes[step.node];
  for (const ValueId value : first.inputs) add(value);
  ValueId result = first.output;
  for (const Index fused : step.fused) {
    if (adds_value(model, model.nodes[fused])) add(other_input(model.nodes[fused], result));
    result = model.nodes[fused].output;
  }
  return request;
}

}  // namespace spdnn::program

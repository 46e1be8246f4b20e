#include "io/models/model_format.hpp"

#include <fmt/format.h>

#include "spdnn/error.hpp"

namespace spdnn {

Model reshaped(Model model, const Shape& shape) {
  if (model.inputs.size() != 1)
    throw UsageError("shape", fmt::format("the model has {} inputs, expected one", model.inputs.size()));
  model.values[model.inputs.front()].shape = shape;
  try {
    infer_shapes(model);
  } catch (const UsageError& unfit) {
    throw UsageError("shape", unfit.what());
  }
  return model;
}

}  // namespace spdnn

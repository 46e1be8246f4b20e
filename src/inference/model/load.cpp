#include "inference/model/load.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/types/shape.hpp"
#include "inference/model/run.hpp"
#include "inference/run/load.hpp"
#include "io/arrays/image_tensor.hpp"
#include "io/arrays/npz.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

Preprocessing preprocessing_of(const ModelInputs& inputs) {
  const bool of_bytes = !inputs.mean.empty() || !inputs.deviation.empty();
  if (of_bytes && (!inputs.subtract.empty() || !inputs.divide.empty()))
    throw UsageError(inputs.mean.empty() ? "std" : "mean", "does not go with subtract and divide");
  if (of_bytes) return {inputs.mean, inputs.deviation, true};
  return {inputs.subtract, inputs.divide, false};
}

}  // namespace

LoadedImages load_model_images(const ModelInputs& inputs, const Model& model) {
  const Value& input = model.values[model.inputs.front()];
  ImageRequest request{.shape = input.shape,
                       .preprocessing = preprocessing_of(inputs),
                       .layout = inputs.channels_last ? ImageLayout::channels_last : ImageLayout::channels_first,
                       .table = inputs.table,
                       .images = inputs.images};
  Shape one = input.shape;
  if (!one.empty()) one[0] = 1;
  if (inputs.images) check_memory_for("first", *inputs.images, elements(one).value_or(0) * sizeof(float));
  if (!inputs.pictures.empty() && !inputs.path.empty()) throw UsageError("inputs", "give either a path or pictures");
  if (!inputs.pictures.empty() && !inputs.table.empty()) throw UsageError("table", "does not go with pictures");
  ImageTensor read = inputs.pictures.empty() ? read_image_tensor(inputs.path, request)
                                             : read_pictures({inputs.pictures.begin(), inputs.pictures.end()}, request);
  return {std::move(read.tensor), read.available, std::move(read.files), std::move(read.notes)};
}

Index classes_of(const Model& model) {
  const Shape& output = model.values[model.outputs.front()].shape;
  if (output.size() < 2) return 0;
  const Shape classes = without_ones(of_image(output));
  return classes.size() == 1 ? static_cast<Index>(classes.front()) : 0;
}

Tensor load_expected(const ModelTruth& truth, const Model& model, Index images, std::vector<std::string>& notes) {
  const std::string name = truth.expected_logits ? "expected" : truth.expected;
  const FirstRows given = truth.expected_logits ? FirstRows{*truth.expected_logits} : read_array_rows(truth.expected);
  const Tensor& expected = given.tensor;
  if (given.type == NumberType::f64) notes.push_back(rounded_note(truth.expected));
  const Shape& output = model.values[model.outputs.front()].shape;
  const bool fits = !expected.shape.empty() && expected.shape[0] >= 1 &&
                    without_ones(of_image(expected.shape)) == without_ones(of_image(output));
  if (!fits) {
    Shape wanted = output;  // of a model for a fixed number of images, too, any number of rows may be given
    wanted[0] = kBatchExtent;
    throw DataError(fmt::format("{}: an array of {}, expected {}, for at least one image", name,
                                shape_text(expected.shape), shape_text(wanted)));
  }
  if (expected.shape[0] <= Extent{images}) return expected;
  notes.push_back(fmt::format("{}: the first {} of {} rows are compared", name, images, expected.shape[0]));
  return images_from(expected, 0, images);
}

}  // namespace spdnn

#include "inference/model/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// The expected output `number`, by its name in an .npz file; a model's only output also from a file with one array.
FirstRows read_output(const std::string& path, const std::vector<std::string>& names, std::size_t number) {
  if (const auto archive = npz_file(path))
    if (names.size() > 1 || archive->names().size() > 1) {
      const NpzFile::Member member = archive->member(names[number]);
      return read_npy_rows(member.file(), {});
    }
  if (names.size() > 1)
    throw DataError(
        fmt::format("{}: one array, but there are {} outputs ({}): expected an .npz file with an array of "
                    "each, or one output chosen",
                    path, names.size(), fmt::join(names, ", ")));
  return read_array_rows(path);
}

const Tensor& output_in_memory(const std::vector<NamedTensor>& given, const std::vector<std::string>& names,
                               std::size_t number) {
  if (names.size() == 1 && given.size() == 1 && given.front().name.empty()) return given.front().tensor;
  for (const NamedTensor& one : given)
    if (one.name == names[number]) return one.tensor;
  throw DataError(fmt::format("expected: no array '{}'; the outputs are {}", names[number], fmt::join(names, ", ")));
}

/// DataError if the array has no rows, or rows of another shape than the model's output, apart from axes of length 1.
void require_output(const std::string& name, const Tensor& expected, const Shape& output) {
  if (!expected.shape.empty() && expected.shape[0] >= 1 &&
      without_ones(of_image(expected.shape)) == without_ones(of_image(output)))
    return;
  Shape wanted = output;  // of a model for a fixed number of images, too, any number of rows may be given
  wanted[0] = kBatchExtent;
  throw DataError(fmt::format("{}: an array of {}, expected {}, for at least one image", name,
                              shape_text(expected.shape), shape_text(wanted)));
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

std::vector<Tensor> load_expected(const ModelTruth& truth, const Model& model, Index images,
                                  std::vector<std::string>& notes) {
  const bool in_file = truth.expected_outputs.empty();
  const std::string place = in_file ? truth.expected : "expected";
  const std::vector<std::string> names = output_names(model);
  std::vector<Tensor> expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = names.size() == 1 ? place : fmt::format("{}: {}", place, names[i]);
    const FirstRows given =
        in_file ? read_output(truth.expected, names, i) : FirstRows{output_in_memory(truth.expected_outputs, names, i)};
    if (given.type == NumberType::f64) notes.push_back(rounded_note(name));
    expected.push_back(given.tensor);
    require_output(name, expected.back(), model.values[model.outputs[i]].shape);
    if (expected[i].shape[0] != expected[0].shape[0])
      throw DataError(fmt::format("{}: {} rows, expected {}, as \"{}\" has", name, expected[i].shape[0],
                                  expected[0].shape[0], names[0]));
  }
  const Extent rows = expected[0].shape[0];
  if (rows <= Extent{images}) return expected;
  notes.push_back(fmt::format("{}: the first {} of {} rows are compared", place, images, rows));
  for (Tensor& one : expected) one = images_from(one, 0, images);
  return expected;
}

}  // namespace spdnn

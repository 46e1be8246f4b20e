// A reader and a writer of a toy format, the example of docs/add_a_file_format.md.

#include "unit/toy/linear_text.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>

#include "core/system/out_of_memory.hpp"
#include "io/files/input_file.hpp"
#include "io/models/add_node.hpp"
#include "model/operations/csr_of_dense.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn::toy {

namespace {

Model parse(const std::string& file, const std::string& text) {
  std::istringstream stream(text);
  Index outputs = 0;
  Index inputs = 0;
  if (!(stream >> outputs >> inputs) || outputs == 0 || inputs == 0)
    throw DataError(fmt::format("{}:1: expected the numbers of outputs and inputs", file));
  // Each weight takes two bytes of the file at least, so that a wrong number cannot ask for much memory.
  if (Offset{outputs} * inputs > text.size() / 2)
    throw DataError(fmt::format("{}: {} x {} weights are more than the file holds", file, outputs, inputs));
  std::vector<float> weights(std::size_t{outputs} * inputs);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!(stream >> weights[i]))
      throw DataError(fmt::format("{}:{}: expected {} weights", file, 2 + i / inputs, inputs));
  std::string rest;
  if (stream >> rest) throw DataError(fmt::format("{}:{}: more than {} lines of weights", file, 2 + outputs, outputs));

  Model model;
  model.values.push_back({"input", {kBatchExtent, Extent{inputs}}, std::nullopt});
  model.inputs = {0};
  model.outputs = {add_node(model, file, "linear", "output", Linear{csr_of_dense(weights, outputs, inputs), {}}, {0})};
  model.validate();
  return model;
}

}  // namespace

Model read_linear_text(const std::filesystem::path& path) {
  return with_memory_for(path.string(), "cannot read", [&] { return parse(path.string(), text_of_file(path)); });
}

void write_linear_text(const std::filesystem::path& path, const Model& model) {
  const auto* const linear = model.nodes.size() == 1 ? std::get_if<Linear>(&model.nodes[0].operation) : nullptr;
  if (linear == nullptr || !linear->bias.empty())
    throw DataError(path.string() + ": cannot write: the format holds one linear node without a bias");
  const CsrMatrix& weights = linear->weights;
  std::string text = fmt::format("{} {}\n", weights.rows, weights.cols);
  for (Index row = 0; row < weights.rows; ++row) {
    std::vector<float> dense(weights.cols);
    for (Offset k = weights.offsets[row]; k < weights.offsets[row + 1]; ++k)
      dense[weights.indices[k]] = weights.values.empty() ? weights.value : weights.values[k];
    for (Index column = 0; column < weights.cols; ++column)
      text += fmt::format("{}{}", dense[column], column + 1 < weights.cols ? ' ' : '\n');
  }
  write_text(path, text);
}

}  // namespace spdnn::toy

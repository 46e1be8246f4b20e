#include "core/share_of_zeros.hpp"
#include "report/sections/cells.hpp"
#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

Cell zeros(const ModelLine& line) {
  return line.weights == 0 ? Cell() : percent(share_of_zeros(line.weights, line.nonzeros));
}

std::string variant_of_model(const ModelLine& line) {
  return line.precision == "fp32" ? line.variant : line.variant + " (" + line.precision + ")";
}

std::string build_of(const LineOrigin& origin) {
  return origin.version + " " + origin.commit + (origin.dirty ? " with changes" : "");
}

}  // namespace

std::optional<Section> models(const std::vector<ModelLine>& lines) {
  if (lines.empty()) return std::nullopt;
  Table table{"models-table",
              "Runs of models, in the order of the lines.",
              {{"model", "", false, "The file, as the command named it"},
               {"zeros", "%", true, "Of the weights of convolutions and linear nodes"},
               columns::variant(),
               {"images", "", true},
               {"infer", "ms", true, "Median over the trials, all images together"},
               {"images a second", "", true, "Images / infer"},
               {"dense", "GFLOP/s", true, "2 x multiply-adds of all weights x images / infer"},
               {"sparse", "GFLOP/s", true, "2 x multiply-adds of weights that are not zero x images / infer"},
               {"accuracy", "%", true, "Of the predictions, against labels"},
               {"of the bound", "%", true, "The largest deviation of a logit, as a share of what fp32 may be off"},
               {"verdict", "", false},
               {"processor", "", false},
               {"threads", "", true},
               {"build", "", false}},
              {}};
  for (const ModelLine& line : lines)
    table.rows.push_back(
        {{line.model, zeros(line), variant_of_model(line), whole(line.images), milliseconds(line.infer.median),
          number(line.images_per_second), number(line.dense / 1e9), number(line.sparse / 1e9),
          line.accuracy ? percent(*line.accuracy) : Cell(), line.largest_ratio ? percent(*line.largest_ratio) : Cell(),
          line.status, processor_of(line.origin), whole(line.origin.threads), build_of(line.origin)},
         line.status != "PASSED"});
  return Section{"models", "Models", {std::move(table)}};
}

}  // namespace spdnn::sections

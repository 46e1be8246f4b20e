#include "cli/model_inputs.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/text/comma_list.hpp"
#include "core/text/lower_case.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

std::vector<float> parse_floats(const po::variables_map& values, const char* option) {
  std::vector<float> numbers;
  const auto text = text_of(values, option);
  if (!text) return numbers;
  for (const std::string_view one : split_at_commas(*text))
    numbers.push_back(static_cast<float>(parse_real(option, std::string(one))));
  return numbers;
}

}  // namespace

void add_model_inputs(po::options_description& options) {
  options.add_options()("inputs", po::value<std::vector<std::string>>()->value_name("PATH")->multitoken()->composing(),
                        "images: IDX[.gz], .npy, .npz, PNG and JPEG files, or a directory of these")           //
      ("table", takes("FILE"), "rows of numbers (.npy): --inputs are tokens, each replaced by its row")        //
      ("layout", takes("nchw|nhwc", "nchw"), "order of the axes of arrays")                                    //
      ("first", takes("N"), "use only the first N images")                                                     //
      ("subtract", takes("X"), "subtract from each pixel; one number, or one per channel: 73 or 0.5,0.4,0.4")  //
      ("divide", takes("X"), "then divide each pixel; likewise")                                               //
      ("mean", takes("X"), "mean of pixels from 0 to 1: bytes are divided by 255, then this is subtracted")    //
      ("std", takes("X"), "standard deviation: then divide by this");
}

ModelInputs model_inputs(const po::variables_map& values) {
  ModelInputs inputs;
  const std::vector<std::string> given = texts_of(values, "inputs");
  if (given.empty())
    refuse(values, {"table", "first", "subtract", "divide", "mean", "std"}, "a command without --inputs");
  if (given.size() == 1)
    inputs.path = given.front();
  else
    inputs.pictures = given;
  inputs.table = text_of(values, "table").value_or("");
  const std::string layout = lower_case(values["layout"].as<std::string>());
  if (layout != "nchw" && layout != "nhwc")
    throw UsageError(fmt::format("--layout: '{}' is neither nchw nor nhwc", values["layout"].as<std::string>()));
  inputs.channels_last = layout == "nhwc";
  if (const auto first = text_of(values, "first")) inputs.images = parse_count("first", *first);
  for (const char* const option : {"mean", "std"})
    if (values.count(option) != 0) refuse(values, {"subtract", "divide"}, fmt::format("--{}", option));
  inputs.subtract = parse_floats(values, "subtract");
  inputs.divide = parse_floats(values, "divide");
  inputs.mean = parse_floats(values, "mean");
  inputs.deviation = parse_floats(values, "std");
  return inputs;
}

}  // namespace spdnn::cli

#pragma once

// TensorFlow Lite graphs of a few operators as one line of text, for tables of tests.

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/row_text.hpp"
#include "support/tflite_file.hpp"

namespace spdnn::tflite_test {

/// Options of an operator by their names in the format: numbers, or lists of them.
using RowOptions = std::map<std::string, std::vector<double>>;

template <class Field>
void assign(Field& field, const std::vector<double>& given) {
  if constexpr (requires { field.push_back({}); })
    for (const double one : given) field.push_back(static_cast<typename Field::value_type>(one));
  else if constexpr (std::is_enum_v<Field>)
    field = static_cast<Field>(static_cast<int>(given.at(0)));
  else
    field = static_cast<Field>(given.at(0));
}

/// The options of that type; strides are 1 unless given.
template <class Options>
void set_options(tflite::OperatorT& op, const RowOptions& given) {
  Options options;
  std::size_t known = 0;
  const auto set = [&](const char* name, auto field) {
    if constexpr (std::is_invocable_v<decltype(field), Options&>) {
      if (std::string_view(name).starts_with("stride_")) assign(field(options), {1});
      if (const auto found = given.find(name); found != given.end()) {
        assign(field(options), found->second);
        ++known;
      }
    }
  };
  set("stride_h", [](auto& o) -> decltype((o.stride_h)) { return o.stride_h; });
  set("stride_w", [](auto& o) -> decltype((o.stride_w)) { return o.stride_w; });
  set("dilation_h", [](auto& o) -> decltype((o.dilation_h_factor)) { return o.dilation_h_factor; });
  set("dilation_w", [](auto& o) -> decltype((o.dilation_w_factor)) { return o.dilation_w_factor; });
  set("filter_h", [](auto& o) -> decltype((o.filter_height)) { return o.filter_height; });
  set("filter_w", [](auto& o) -> decltype((o.filter_width)) { return o.filter_width; });
  set("padding", [](auto& o) -> decltype((o.padding)) { return o.padding; });
  set("fused", [](auto& o) -> decltype((o.fused_activation_function)) { return o.fused_activation_function; });
  set("multiplier", [](auto& o) -> decltype((o.depth_multiplier)) { return o.depth_multiplier; });
  set("weights_format", [](auto& o) -> decltype((o.weights_format)) { return o.weights_format; });
  set("keep_num_dims", [](auto& o) -> decltype((o.keep_num_dims)) { return o.keep_num_dims; });
  set("keep_dims", [](auto& o) -> decltype((o.keep_dims)) { return o.keep_dims; });
  set("beta", [](auto& o) -> decltype((o.beta)) { return o.beta; });
  set("alpha", [](auto& o) -> decltype((o.alpha)) { return o.alpha; });
  set("axis", [](auto& o) -> decltype((o.axis)) { return o.axis; });
  set("mode", [](auto& o) -> decltype((o.mode)) { return o.mode; });
  set("block", [](auto& o) -> decltype((o.block_size)) { return o.block_size; });
  set("align_corners", [](auto& o) -> decltype((o.align_corners)) { return o.align_corners; });
  set("half_pixel", [](auto& o) -> decltype((o.half_pixel_centers)) { return o.half_pixel_centers; });
  set("new_shape", [](auto& o) -> decltype((o.new_shape)) { return o.new_shape; });
  set("squeeze_dims", [](auto& o) -> decltype((o.squeeze_dims)) { return o.squeeze_dims; });
  set("begin_mask", [](auto& o) -> decltype((o.begin_mask)) { return o.begin_mask; });
  set("end_mask", [](auto& o) -> decltype((o.end_mask)) { return o.end_mask; });
  set("ellipsis_mask", [](auto& o) -> decltype((o.ellipsis_mask)) { return o.ellipsis_mask; });
  set("new_axis_mask", [](auto& o) -> decltype((o.new_axis_mask)) { return o.new_axis_mask; });
  set("shrink_mask", [](auto& o) -> decltype((o.shrink_axis_mask)) { return o.shrink_axis_mask; });
  set("offset", [](auto& o) -> decltype((o.offset)) { return o.offset; });
  if (known != given.size()) throw std::invalid_argument("an option that the operator does not have");
  op.builtin_options.Set(std::move(options));
}

/// The options that operators of a code have; none: they are not looked at.
inline void (*options_of(Code code))(tflite::OperatorT&, const RowOptions&) {
  using Set = void (*)(tflite::OperatorT&, const RowOptions&);
  static const std::map<Code, Set> all{
      {Code::CONV_2D, &set_options<tflite::Conv2DOptionsT>},
      {Code::DEPTHWISE_CONV_2D, &set_options<tflite::DepthwiseConv2DOptionsT>},
      {Code::MAX_POOL_2D, &set_options<tflite::Pool2DOptionsT>},
      {Code::AVERAGE_POOL_2D, &set_options<tflite::Pool2DOptionsT>},
      {Code::FULLY_CONNECTED, &set_options<tflite::FullyConnectedOptionsT>},
      {Code::SOFTMAX, &set_options<tflite::SoftmaxOptionsT>},
      {Code::CONCATENATION, &set_options<tflite::ConcatenationOptionsT>},
      {Code::ADD, &set_options<tflite::AddOptionsT>},
      {Code::MUL, &set_options<tflite::MulOptionsT>},
      {Code::SUB, &set_options<tflite::SubOptionsT>},
      {Code::DIV, &set_options<tflite::DivOptionsT>},
      {Code::RESHAPE, &set_options<tflite::ReshapeOptionsT>},
      {Code::RESIZE_BILINEAR, &set_options<tflite::ResizeBilinearOptionsT>},
      {Code::RESIZE_NEAREST_NEIGHBOR, &set_options<tflite::ResizeNearestNeighborOptionsT>},
      {Code::MEAN, &set_options<tflite::ReducerOptionsT>},
      {Code::DEPTH_TO_SPACE, &set_options<tflite::DepthToSpaceOptionsT>},
      {Code::SPACE_TO_DEPTH, &set_options<tflite::SpaceToDepthOptionsT>},
      {Code::SQUEEZE, &set_options<tflite::SqueezeOptionsT>},
      {Code::STRIDED_SLICE, &set_options<tflite::StridedSliceOptionsT>},
      {Code::TRANSPOSE_CONV, &set_options<tflite::TransposeConvOptionsT>},
      {Code::LEAKY_RELU, &set_options<tflite::LeakyReluOptionsT>},
      {Code::MIRROR_PAD, &set_options<tflite::MirrorPadOptionsT>}};
  const auto found = all.find(code);
  return found == all.end() ? nullptr : found->second;
}

/// Reads `a = CONV_2D(x[-1,4,5,3], f[2,1,1,3]{1,2,...}, -) stride_h=2 -> [1,2,5,2]; NEG(a) >2`: operators with inputs
/// x, y, ... and their shapes where they are first named, constants of integers (i: 32 bits, l: 64 bits, b: 8 bits) or
/// numbers (f: fp32, h: fp16 by their bits), and `-` for none. After them the options, or `bare` if there are none of
/// the operator's, or `custom=[...]`; the shape of the output that the file states; and the number of outputs. Names
/// that are no operator's are custom ones. The outputs of the last operator are the model's.
class RowReader : testing::RowText {
 public:
  explicit RowReader(std::string_view text) : RowText(text) {}

  File file() {
    do op();
    while (take(';'));
    for (const std::int32_t output : file_.last().outputs) file_.output(output);
    return std::move(file_);
  }

 private:
  Shape32 shape() {
    const auto extents = integers('[', ']');
    return {extents.begin(), extents.end()};
  }
  template <class Number>
  std::int32_t constant(bool shaped, const Shape32& shape, tflite::TensorType type) {
    const auto values = list<Number>('{', '}', [](const std::string& text) { return std::stod(text); });
    const auto name = fmt::format("c{}", constants_++);
    return file_.constant(name, shaped ? shape : Shape32{static_cast<std::int32_t>(values.size())}, values, type);
  }
  std::int32_t input() {
    if (take('-')) return -1;
    const std::string name = word();
    const bool shaped = at('[');
    Shape32 extents;
    if (shaped) extents = shape();
    if (at('{')) {
      using Type = tflite::TensorType;
      if (name == "i") return constant<std::int32_t>(shaped, extents, Type::INT32);
      if (name == "l") return constant<std::int64_t>(shaped, extents, Type::INT64);
      if (name == "b") return constant<std::int8_t>(shaped, extents, Type::INT8);
      if (name == "h") return constant<std::uint16_t>(shaped, extents, Type::FLOAT16);
      return constant<float>(shaped, extents, Type::FLOAT32);
    }
    if (!shaped) return ids_.at(name);
    Shape32 stated = extents;
    for (std::int32_t& extent : stated) extent = extent == -1 ? 1 : extent;
    ids_[name] = file_.tensor(name, stated);
    file_.graph().inputs.push_back(ids_[name]);
    if (stated != extents) file_.graph().tensors.back()->shape_signature = extents;
    return ids_[name];
  }
  void op() {
    std::string type = word();
    std::string name;
    if (take('=')) name = std::exchange(type, word());
    std::vector<std::int32_t> inputs;
    expect('(');
    while (!take(')')) {
      inputs.push_back(input());
      take(',');
    }
    Code code = Code::CUSTOM;
    for (const Code one : tflite::EnumValuesBuiltinOperator())
      if (type == tflite::EnumNameBuiltinOperator(one)) code = one;
    const std::int32_t made = file_.add(code, inputs, {});
    if (code == Code::CUSTOM) file_.model.operator_codes.back()->custom_code = type;
    if (!name.empty()) ids_[name] = made;
    read_options(code);
  }
  void read_options(Code code) {
    RowOptions options;
    bool bare = false;
    while (!at_end() && !at(';')) {
      if (take('-')) {
        expect('>');
        file_.graph().tensors[static_cast<std::size_t>(file_.last().outputs[0])]->shape = shape();
      } else if (take('>')) {
        for (std::int64_t i = 1, all = integer(); i < all; ++i)
          file_.last().outputs.push_back(file_.tensor(fmt::format("more{}", i), {}));
      } else if (const std::string name = word(); name == "bare") {
        bare = true;
      } else {
        expect('=');
        std::vector<double> values;
        if (at('['))
          values = list<double>('[', ']', [](const std::string& text) { return std::stod(text); });
        else
          values = {std::stod(number())};
        if (name == "custom")
          set_custom({values.begin(), values.end()});
        else
          options[name] = values;
      }
    }
    if (const auto set = options_of(code); set != nullptr && !bare) set(file_.last(), options);
  }
  void set_custom(const std::vector<std::int32_t>& numbers) {
    auto& bytes = file_.last().custom_options;
    bytes.resize(numbers.size() * sizeof numbers[0]);
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
  }

  File file_;
  std::map<std::string, std::int32_t> ids_;
  int constants_ = 0;
};

/// The numbers -2, -1.5, ... in the file's order of axes, of one image if the batch is open.
inline Tensor counted_input(const Shape& shape) {
  Tensor tensor{shape, {}};
  if (!tensor.shape.empty() && tensor.shape[0] == kBatchExtent) tensor.shape[0] = 1;
  std::vector<float> values(*elements(tensor.shape));
  const bool images = shape.size() == 4;
  const auto channels = static_cast<std::size_t>(images ? shape[1] : 1);
  const auto pixels = static_cast<std::size_t>(images ? shape[2] * shape[3] : 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t place =
        images ? (i / (channels * pixels) * pixels + i % pixels) * channels + i / pixels % channels : i;
    values[i] = static_cast<float>(place) / 2 - 2;
  }
  tensor.values = std::move(values);
  return tensor;
}

/// The outcome of the graph of a row.
inline std::string outcome_of_row(std::string_view row) {
  return testing::outcome_of([&] { return RowReader(row).file().read(); }, counted_input);
}

}  // namespace spdnn::tflite_test

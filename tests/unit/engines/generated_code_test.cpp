// Generated code of convolutions, interpreted: it computes the convolution, for every tile and every filter.
// The interpreter knows the instructions that the generator writes, and no others.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_generated/generated.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"

namespace spdnn::cuda {
namespace {

/// A warp's lane 0 of each block of images in turn: lanes do the same for other images. Runs one block of threads,
/// which computes all tiles. In halves both images of the lane are the same one.
class Interpreter {
 public:
  Interpreter(const std::string& code, const DirectShape& shape, const GeneratedTiling& tiling, bool in_halves = false)
      : shape_(shape), tiling_(tiling), in_halves_(in_halves) {
    std::istringstream lines(code);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream parts(line);
      for (std::string part; std::getline(parts, part, ';');) add(part);
    }
    for (const auto& [place, label] : branches_) program_[place].target = labels_.at(label);
  }

  /// x and y: lane 0's numbers, by block, channel and pixel.
  void run(const std::vector<float>& x, std::vector<float>& y, const std::vector<float>& other) {
    for (Index warp = 0; warp < tiling_.threads() / 32; ++warp) {
      run_warp(warp, x, y, other);
      if (drawn_ != 0) throw std::logic_error("the counter of tiles is not 0 again");
    }
  }

 private:
  /// A register, a number, or an address: a register and an offset.
  struct Operand {
    std::size_t value;  ///< where it is kept: numbers are values that never change
    std::uint64_t offset = 0;
  };
  enum class Op : std::uint8_t {
    branch,
    copy,
    none,
    move,
    add32,
    sub32,
    mul32,
    mad32,
    div32,
    left,
    right,
    bit_and,
    bit_or,
    bit_xor,
    wide,
    mul64,
    add64,
    is_thread_0,
    less,
    at_least,
    less_float,
    tiles,
    argument,
    read,
    fma,
    add,
    multiply,
    maximum,
    minimum,
    read_other,
    draw,
    keep_next,
    take_next,
    write,
    poll,
  };
  static Op op_of(const std::string& name) {
    static const std::map<std::string, Op> ops{{"mov.u32", Op::move},
                                               {"mov.b32", Op::move},
                                               {"mov.b64", Op::move},
                                               {"cvta.param.u64", Op::move},
                                               {"cvt.u64.u32", Op::move},
                                               {"cvta.to.global.u64", Op::move},
                                               {"add.u32", Op::add32},
                                               {"sub.u32", Op::sub32},
                                               {"mul.lo.u32", Op::mul32},
                                               {"mad.lo.u32", Op::mad32},
                                               {"div.u32", Op::div32},
                                               {"shl.b32", Op::left},
                                               {"shr.u32", Op::right},
                                               {"and.b32", Op::bit_and},
                                               {"and.pred", Op::bit_and},
                                               {"or.pred", Op::bit_or},
                                               {"xor.b32", Op::bit_xor},
                                               {"mul.wide.u32", Op::wide},
                                               {"mul.lo.u64", Op::mul64},
                                               {"add.u64", Op::add64},
                                               {"setp.eq.u32", Op::is_thread_0},
                                               {"setp.lt.u32", Op::less},
                                               {"setp.ge.u32", Op::at_least},
                                               {"setp.lt.f32", Op::less_float},
                                               {"ld.param.u32", Op::tiles},
                                               {"ld.param.u64", Op::argument},
                                               {"ld.shared.b32", Op::read},
                                               {"fma.rn.f32", Op::fma},
                                               {"add.rn.f32", Op::add},
                                               {"mul.rn.f32", Op::multiply},
                                               {"max.f32", Op::maximum},
                                               {"min.f32", Op::minimum},
                                               {"fma.rn.f16x2", Op::fma},
                                               {"add.rn.f16x2", Op::add},
                                               {"max.NaN.f16x2", Op::maximum},
                                               {"min.NaN.f16x2", Op::minimum},
                                               {"ld.global.nc.b32", Op::read_other},
                                               {"atom.global.inc.u32", Op::draw},
                                               {"st.shared.u32", Op::keep_next},
                                               {"ld.shared.u32", Op::take_next},
                                               {"st.global.b32", Op::write},
                                               {"st.global.L2::cache_hint.b32", Op::write},
                                               {"mbarrier.try_wait.parity.shared.b64", Op::poll},
                                               {"bra", Op::branch},
                                               {"bra.uni", Op::branch},
                                               {"bar.sync", Op::none},
                                               {"mbarrier.init.shared.b64", Op::none},
                                               {"mbarrier.arrive.expect_tx.shared.b64", Op::none},
                                               {"fence.mbarrier_init.release.cluster", Op::none},
                                               {"fence.proxy.async.shared::cta", Op::none}};
    if (name[0] == '.' || name[0] == '{' || name[0] == '}') return Op::none;  // declarations
    if (name.starts_with("cp.async.bulk.tensor.5d")) return Op::copy;
    const auto known = ops.find(name);
    if (known == ops.end()) throw std::invalid_argument("unknown instruction " + name);
    return known->second;
  }

  struct Instruction {
    Op op;
    std::vector<Operand> operands;
    std::optional<std::size_t> predicate{};
    bool negated = false;
    std::size_t target = 0;  ///< of a branch
  };

  void add(std::string text) {
    const auto words = [](const std::string& of) {
      std::vector<std::string> all;
      std::string word;
      for (const char c : of) {
        if (c == ',' || c == ' ' || c == '{' || c == '}') {
          if (!word.empty()) all.push_back(std::exchange(word, {}));
        } else {
          word += c;
        }
      }
      if (!word.empty()) all.push_back(word);
      return all;
    };
    for (std::size_t colon = text.find(": "); colon != std::string::npos || (!text.empty() && text.back() == ':');
         colon = text.find(": ")) {
      const bool alone = colon == std::string::npos;
      labels_[words(alone ? text.substr(0, text.size() - 1) : text.substr(0, colon)).at(0)] = program_.size();
      text = alone ? "" : text.substr(colon + 2);
    }
    std::vector<std::string> all = words(text);
    if (all.empty() || all[0] == "ret" || (all[0][0] == '.' && program_.empty()) || all[0] == ")") return;
    Instruction one{};
    if (all[0][0] == '@') {
      one.negated = all[0][1] == '!';
      one.predicate = place_of(all[0].substr(one.negated ? 2 : 1));
      all.erase(all.begin());
    }
    one.op = op_of(all[0]);
    if (one.op == Op::branch)
      branches_[program_.size()] = all[1];
    else
      for (std::size_t i = 1; i < all.size(); ++i) one.operands.push_back(operand(all[i]));
    program_.push_back(std::move(one));
  }

  Operand operand(const std::string& text) {
    if (text[0] != '[') return {place_of(text)};
    const std::size_t plus = std::min(text.find('+'), text.size() - 1);
    return {place_of(text.substr(1, plus - 1)),
            text[plus] == '+' ? std::stoull(text.substr(plus + 1, text.size() - plus - 2)) : 0};
  }

  std::size_t place_of(const std::string& name) {
    const auto [known, is_new] = places_.try_emplace(name, values_.size());
    if (!is_new) return known->second;
    values_.push_back(0);
    if (name.starts_with("0f")) values_.back() = std::stoul(name.substr(2), nullptr, 16);
    if (name.starts_with("0x"))
      values_.back() = std::stoull(name.substr(2), nullptr, 16);
    else if (std::isdigit(static_cast<unsigned char>(name[0])) != 0 && name[1] != 'f')
      values_.back() = std::stoull(name);
    if (name == "%nctaid.x") values_.back() = 1;
    if (name == "chunks") values_.back() = kChunks;
    return known->second;
  }

  float as_float(std::uint64_t bits) const {
    if (!in_halves_) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (bits >> 16U != (bits & 0xffffU)) throw std::logic_error("the two images of a lane differ");
    return float_of_f16(static_cast<std::uint16_t>(bits));
  }
  std::uint64_t as_bits(float number) const {
    return in_halves_ ? nearest_f16(number) * std::uint64_t{0x10001} : std::bit_cast<std::uint32_t>(number);
  }
  /// What a maximum or minimum is if one of the two is NaN.
  float chosen(float a, float b, float of_two) const {
    return in_halves_ && (std::isnan(a) || std::isnan(b)) ? NAN : of_two;
  }

  std::uint64_t& named(const char* name) { return values_[place_of(name)]; }

  /// All warps see the copies that thread 0 starts: each warp's run makes them, as if p0, which says "this is thread
  /// 0", were true for all.
  void run_warp(Index warp, const std::vector<float>& x, std::vector<float>& y, const std::vector<float>& other) {
    ring_.assign(tiling_.shared_bytes() / kPixelBytes, NAN);
    named("%tid.x") = warp * 32;
    for (std::size_t at = 0; at < program_.size();) {
      const Instruction& one = program_[at++];
      if (one.predicate && (values_[*one.predicate] == 0) != one.negated) continue;
      if (one.op == Op::branch)
        at = one.target;
      else
        step(one, x, y, other);
    }
  }

  void step(const Instruction& one, const std::vector<float>& x, std::vector<float>& y,
            const std::vector<float>& other) {
    const auto value = [&](std::size_t i) { return values_[one.operands[i].value]; };
    const auto address = [&](std::size_t i) { return value(i) + one.operands[i].offset; };
    const auto u32 = [&](std::size_t i) { return static_cast<std::uint32_t>(value(i)); };
    const auto f32 = [&](std::size_t i) { return as_float(value(i)); };
    std::uint64_t& to = one.operands.empty() ? nowhere_ : values_[one.operands[0].value];
    switch (one.op) {
      case Op::move:
        to = value(1);
        return;
      case Op::add32:
        to = u32(1) + u32(2);
        return;
      case Op::sub32:
        to = u32(1) - u32(2);
        return;
      case Op::mul32:
        to = u32(1) * u32(2);
        return;
      case Op::mad32:
        to = u32(1) * u32(2) + u32(3);
        return;
      case Op::div32:
        to = u32(1) / u32(2);
        return;
      case Op::left:
        to = u32(1) << u32(2);
        return;
      case Op::right:
        to = u32(1) >> u32(2);
        return;
      case Op::bit_and:
        to = value(1) & value(2);
        return;
      case Op::bit_or:
        to = value(1) | value(2);
        return;
      case Op::bit_xor:
        to = value(1) ^ value(2);
        return;
      case Op::wide:
        to = std::uint64_t{u32(1)} * u32(2);
        return;
      case Op::mul64:
        to = value(1) * value(2);
        return;
      case Op::add64:
        to = value(1) + value(2);
        return;
      case Op::is_thread_0:
        to = 1;
        return;
      case Op::less:
        to = u32(1) < u32(2) ? 1 : 0;
        return;
      case Op::at_least:
        to = u32(1) >= u32(2) ? 1 : 0;
        return;
      case Op::less_float:
        to = f32(1) < f32(2) ? 1 : 0;
        return;
      case Op::tiles:
        to = tiling_.tiles(shape_) * shape_.blocks;
        return;
      case Op::argument:
        to = one.operands[1].value == place_of("output") ? 0 : kOther;
        return;
      case Op::read:
        to = as_bits(ring_.at((address(1) - kChunks) / kPixelBytes));
        return;
      case Op::fma:
        to = as_bits(std::fma(f32(1), f32(2), f32(3)));
        return;
      case Op::add:
        to = as_bits(f32(1) + f32(2));
        return;
      case Op::multiply:
        to = as_bits(f32(1) * f32(2));
        return;
      case Op::maximum:
        to = as_bits(chosen(f32(1), f32(2), std::fmax(f32(1), f32(2))));
        return;
      case Op::minimum:
        to = as_bits(chosen(f32(1), f32(2), std::fmin(f32(1), f32(2))));
        return;
      case Op::read_other:
        to = as_bits(other.at((address(1) - kOther) / kPixelBytes));
        return;
      case Op::draw:
        to = drawn_;
        drawn_ = drawn_ >= u32(2) ? 0 : drawn_ + 1;
        return;
      case Op::keep_next:
        next_ = u32(1);
        return;
      case Op::take_next:
        to = next_;
        return;
      case Op::write:
        y.at(address(0) / kPixelBytes) = f32(1);
        return;
      case Op::poll:
        to = 1;
        return;
      case Op::copy:
        copy(x, value(6));  // [t15], [q0, t11, t13, t14, t16, block], [t17]
        return;
      default:
        return;
    }
  }

  /// What the copy of [t15] <- {t11, t13, t14, t16, block} brings; zeros from outside.
  void copy(const std::vector<float>& x, std::uint64_t block) {
    const auto column = static_cast<Index>(named("t13"));  // beyond W where it is negative
    const auto row = static_cast<Index>(named("t14"));
    const std::uint64_t channel = named("t16");
    float* to = &ring_.at((named("t15") - kChunks) / kPixelBytes);
    for (std::uint64_t c = channel; c < channel + tiling_.channels; ++c)
      for (Index i = 0; i < tiling_.read[0]; ++i)
        for (Index j = 0; j < tiling_.read[1]; ++j) {
          const Index r = row + i * tiling_.steps[0];
          const Index q = column + j * tiling_.steps[1];
          const bool inside = r < shape_.in[0] && q < shape_.in[1] && c < shape_.channels;
          *to++ = inside ? x[((block * shape_.channels + c) * shape_.in[0] + r) * shape_.in[1] + q] : 0.0F;
        }
  }

  static constexpr std::uint64_t kChunks = 128;
  static constexpr std::uint64_t kOther = std::uint64_t{1} << 40U;
  const DirectShape& shape_;
  const GeneratedTiling& tiling_;
  bool in_halves_;
  std::vector<Instruction> program_;
  std::map<std::string, std::size_t> labels_;
  std::map<std::size_t, std::string> branches_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::uint64_t> values_;
  std::uint64_t nowhere_ = 0;
  std::uint32_t drawn_ = 0;  ///< the counter of tiles, in device memory
  std::uint32_t next_ = 0;   ///< the tile that was drawn, in shared memory
  std::vector<float> ring_;
};

constexpr GeneratedLimits kLimits{.multiprocessors = 132, .shared_bytes = 232320, .l2_bytes = 50 << 20, .clock = 1.7e9};

/// The first image of each block alone, as the other lanes would do the same: images 0, 32, ...
std::vector<float> first_lanes(const Array<float>& values, std::size_t images, std::size_t elements,
                               std::size_t together) {
  std::vector<float> some;
  for (std::size_t image = 0; image < images; image += together)
    some.insert(some.end(), values.data() + image * elements, values.data() + (image + 1) * elements);
  return some;
}

/// The largest ratio to the oracle's bound, over the tilings that fit, with all parts or without some.
double worst_ratio(const testing::ModelCase& one, std::size_t tilings, bool in_halves = false,
                   const std::vector<std::string>& without = {}) {
  const std::size_t together = in_halves ? 64 : 32;
  const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
  const std::vector<Bounded> expected = evaluate(one.model, one.inputs);
  const ImageExtents in = image_extents(one.inputs[0].shape);
  const ImageExtents out = image_extents(expected[0].shape);
  DirectShape shape = flattened(direct_shape({in, out, 1, convolution.window}));
  shape.blocks = static_cast<Index>((static_cast<std::size_t>(in.images) + together - 1) / together);
  const CsrMatrix& weights = convolution.weights.csr();
  const float* bias = convolution.bias.empty() ? nullptr : convolution.bias.data();
  const std::vector<float> x = first_lanes(one.inputs[0].values, in.images, in.channels * in.pixels(), together);
  std::vector<GeneratedTiling> all = generated_tilings(shape, weights, kLimits);
  double largest = 0;
  for (std::size_t i = 0; i < std::min(tilings, all.size()); ++i) {
    GeneratedTiling& tiling = all[i * (all.size() - 1) / std::max<std::size_t>(tilings - 1, 1)];
    for (const std::string& part : without) leave_out(tiling, part);
    std::vector<float> y(shape.blocks * shape.out_block, NAN);
    for (const auto& filters : filters_by_kernel(tiling, weights))
      Interpreter(generated_code({shape, tiling, weights, bias, {}, in_halves}, filters), shape, tiling, in_halves)
          .run(x, y, {});
    std::vector<float> found(expected[0].values.size());
    const std::size_t each = out.channels * out.pixels();
    // Images of other lanes: the oracle's own numbers, which are within its bound.
    for (std::size_t image = 0; image < static_cast<std::size_t>(out.images); ++image)
      for (std::size_t e = 0; e < each; ++e)
        found[image * each + e] = image % together == 0 ? y[image / together * each + e]
                                                        : static_cast<float>(expected[0].values[image * each + e]);
    largest = std::max(largest, largest_ratio(expected[0], Array<float>(std::move(found)).span()));
  }
  return largest;
}

TEST(GeneratedCode, ComputesTheConvolutionInEveryTiling) {
  std::size_t taken = 0;
  for (const testing::ModelCase& one : testing::convolution_battery()) {
    const auto& convolution = std::get<Convolution>(one.model.nodes[0].operation);
    if (convolution.groups != 1 || one.inputs[0].shape[1] < 2) continue;
    EXPECT_LE(worst_ratio(one, 2), 1) << one.name;
    ++taken;
  }
  EXPECT_GT(taken, 20);
}

/// Rings with an odd and with an even number of rounds, several kernels, several blocks of images.
TEST(GeneratedCode, ComputesLayersOfManyChunksAndTiles) {
  testing::Rng rng(3);
  using Layer = std::array<Index, 5>;
  for (const auto& [channels, size, filters, kernel, stride] : testing::sampled<Layer>(
           {{24, 9, 70, 3, 1}, {24, 13, 30, 1, 2}},
           {{24, 9, 70, 3, 1}, {40, 7, 40, 1, 1}, {16, 9, 66, 3, 2}, {24, 13, 30, 1, 2}, {6, 8, 20, 5, 1}})) {
    Window window = testing::same_window(kernel, kernel);
    window.stride = {stride, stride};
    const Shape shape{34, channels, size, size};
    EXPECT_LE(
        worst_ratio(testing::convolution_case("layer", testing::random_convolution(rng, channels, filters, window, 0.2),
                                              shape, testing::random_tensor(rng, shape)),
                    2),
        1);
  }
}

/// Multiples of 1/16 up to 1 times weights that are multiples of 1/8 up to 1/2: sums of up to 64 have no error in fp16.
TEST(GeneratedCode, ComputesInHalves) {
  testing::Rng rng(4);
  const auto of_steps = [&](std::size_t count, unsigned steps, float step) {  // none is 0, which no weight may be
    std::vector<float> numbers(count);
    for (float& one : numbers) one = static_cast<float>(1 + rng.below(steps)) * (rng.below(2) == 0 ? step : -step);
    return numbers;
  };
  using Layer = std::array<Index, 4>;
  for (const auto& [channels, filters, kernel, stride] : testing::sampled<Layer>(
           {{16, 66, 3, 2}, {6, 20, 5, 1}}, {{24, 70, 3, 1}, {40, 40, 1, 1}, {16, 66, 3, 2}, {6, 20, 5, 1}})) {
    Window window = testing::same_window(kernel, kernel);
    window.stride = {stride, stride};
    const Shape shape{70, channels, 9, 9};
    Convolution convolution = testing::random_convolution(rng, channels, filters, window, 0.2);
    const CsrMatrix& given = convolution.weights.csr();
    const std::vector<float> weights = of_steps(given.entries(), 4, 0.125F);
    convolution.bias = of_steps(filters, 4, 0.125F);
    convolution.weights = make_csr(given.rows, given.cols, {given.offsets.begin(), given.offsets.end()},
                                   {given.indices.begin(), given.indices.end()}, weights);
    const std::vector<float> images = of_steps(*elements(shape), 16, 0.0625F);
    const auto one = testing::convolution_case("halves", convolution, shape, testing::make_tensor(shape, images));
    EXPECT_LE(worst_ratio(one, 2, true), 1) << channels;
    if (channels > 6 && !testing::in_full()) continue;
    for (const char* const part : {"hints", "polling", "persistence"})
      EXPECT_LE(worst_ratio(one, 1, false, {part}), 1) << part;
  }
}

TEST(GeneratedCode, HidesNoOverflowOfHalves) {
  using Kind = Function::Kind;
  const DirectShape shape = direct_shape({{1, 2, 1, 2}, {1, 1, 1, 2}, 1, {}});
  const CsrMatrix weights = make_csr(1, 2, {0, 1}, {0}, {4});
  const GeneratedTiling tiling = generated_tilings(shape, weights, kLimits).front();
  const auto result = [&](float x, const std::vector<Function>& functions) {
    std::vector<float> y(2);
    const std::string code = generated_code({shape, tiling, weights, nullptr, functions, true}, {0});
    Interpreter(code, shape, tiling, true).run({x, 0.5F, 0, 0}, y, {40000, 0.5F});
    EXPECT_FALSE(std::isnan(y[1]));
    return y[0];
  };
  const Function relu6{Kind::clip, 0, 6};
  EXPECT_EQ(result(10000, {}), 40000);
  EXPECT_TRUE(std::isnan(result(20000, {relu6})));
  EXPECT_TRUE(std::isnan(result(-20000, {relu6})));
  EXPECT_TRUE(std::isnan(result(-20000, {{Kind::leaky, 0.5F}})));
  EXPECT_TRUE(std::isnan(result(10000, {{Kind::line, 2, 0}, relu6})));
  EXPECT_TRUE(std::isnan(result(10000, {{Kind::addition}, relu6})));
}

TEST(GeneratedCode, AppliesFunctionsAfterTheBias) {
  using Kind = Function::Kind;
  const DirectShape shape = direct_shape({{1, 2, 1, 4}, {1, 1, 1, 4}, 1, {}});
  const CsrMatrix weights = make_csr(1, 2, {0, 2}, {0, 1}, {1, 2});
  const float bias = 0.5F;
  const GeneratedTiling tiling = generated_tilings(shape, weights, kLimits).front();
  const std::vector<float> x{1, -1, 3, 0, 0, -2, 1, -0.25F};  // sums with bias: 1.5 -4.5 5.5 0
  const auto result = [&](const std::vector<Function>& functions) {
    std::vector<float> y(4);
    std::vector<float> halves(4);
    const std::vector<float> other{10, 20, 30, 40};
    Interpreter(generated_code({shape, tiling, weights, &bias, functions}, {0}), shape, tiling).run(x, y, other);
    Interpreter(generated_code({shape, tiling, weights, &bias, functions, true}, {0}), shape, tiling, true)
        .run(x, halves, other);
    EXPECT_EQ(halves, y);
    return y;
  };
  EXPECT_EQ(result({}), (std::vector<float>{1.5F, -4.5F, 5.5F, 0}));
  EXPECT_EQ(result({{Kind::clip, 0, 2}}), (std::vector<float>{1.5F, 0, 2, 0}));
  EXPECT_EQ(result({{Kind::leaky, 2}}), (std::vector<float>{1.5F, -9, 5.5F, 0}));
  EXPECT_EQ(result({{Kind::line, 2, 1}}), (std::vector<float>{4, -8, 12, 1}));
  EXPECT_EQ(result({{Kind::addition}, {Kind::clip, 0, INFINITY}}), (std::vector<float>{11.5F, 15.5F, 35.5F, 40}));
}

TEST(GeneratedCode, IsForFunctionsWhoseNumbersAreWithinHalves) {
  using Kind = Function::Kind;
  EXPECT_FALSE(can_be_generated({{Kind::sigmoid}}, false));
  for (const Function& function : {Function{Kind::line, 1e5F, 0},
                                   {Kind::line, 1, 1e5F},
                                   {Kind::line, 1e-9F, 0},
                                   {Kind::leaky, 1e-9F},
                                   {Kind::clip, -1e-9F, 6},
                                   {Kind::clip, 0, 1e-9F},
                                   {Kind::clip, 1e5F, 2e5F},
                                   {Kind::clip, -2e5F, -1e5F}}) {
    EXPECT_TRUE(can_be_generated({function}, false)) << function.a;
    EXPECT_FALSE(can_be_generated({function}, true)) << function.a << " " << function.b;
  }
  for (const Function& function : {Function{Kind::line, -2, 0},
                                   {Kind::leaky, 0.01F},
                                   {Kind::clip, 0, INFINITY},
                                   {Kind::clip, -1e5F, 1e5F},
                                   {Kind::addition}})
    EXPECT_TRUE(can_be_generated({function}, true)) << function.a << " " << function.b;
}

/// What stands in `value` beside values differs between the readers of models.
TEST(GeneratedCode, HasADigestOfWhatItDependsOn) {
  const DirectShape shape = direct_shape({{1, 2, 1, 4}, {1, 1, 1, 4}, 1, {}});
  CsrMatrix weights = make_csr(1, 2, {0, 2}, {0, 1}, {1, 2});
  GeneratedTiling tiling = generated_tilings(shape, weights, kLimits).front();
  float bias = 0.5F;
  std::vector<Function> functions;
  bool in_halves = false;
  const auto digest = [&](const char* arch = "sm_90") {
    return digest_of({shape, tiling, weights, &bias, functions, in_halves}, "compiler", arch);
  };
  std::set<std::string> all{digest()};
  weights.value = 0;
  EXPECT_TRUE(all.contains(digest()));
  const auto expect_another = [&](const std::string& found) { EXPECT_TRUE(all.insert(found).second) << all.size(); };
  expect_another(digest("sm_100"));
  in_halves = true;
  expect_another(digest());
  leave_out(tiling, "polling");
  expect_another(digest());
  bias = 1;
  expect_another(digest());
  functions.push_back({Function::Kind::clip, 0, 6});
  expect_another(digest());
  weights = make_csr(1, 2, {0, 2}, {0, 1}, {1, 3});
  expect_another(digest());
  weights = make_csr(1, 2, {0, 2}, {0, 1});
  expect_another(digest());
  weights.value = 2;
  expect_another(digest());
}

TEST(GeneratedCode, DealsFiltersByTheirNonZeros) {
  testing::Rng rng(9);
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index filter = 0; filter < 50; ++filter) {
    for (Index i = 0; i < filter * 3; ++i) indices.push_back(i);
    offsets.push_back(indices.size());
  }
  const std::vector<float> values(indices.size(), 1);
  const CsrMatrix weights = make_csr(50, 200, offsets, indices, values);
  const auto dealt = filters_by_kernel({.kernels = 4}, weights);
  std::vector<std::size_t> nonzeros;
  std::vector<bool> seen(50);
  for (const auto& filters : dealt) {
    std::size_t sum = 0;
    for (const Index filter : filters) {
      sum += weights.degree(filter);
      EXPECT_FALSE(seen[filter]);
      seen[filter] = true;
    }
    nonzeros.push_back(sum);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 50);
  const auto [least, most] = std::minmax_element(nonzeros.begin(), nonzeros.end());
  EXPECT_LT(static_cast<double>(*most), 1.05 * static_cast<double>(*least));
}

}  // namespace
}  // namespace spdnn::cuda

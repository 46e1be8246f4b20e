// The text of a kernel. Registers, beside those of instructions.hpp: t integers, q addresses, p predicates.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_generated/generated.hpp"
#include "engines/cuda/conv_generated/instructions.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t kReadsAhead = 3;  ///< more cost registers

/// A non-zero weight of the kernel: the sum it adds to.
struct Term {
  Index sum;
  float weight;
};

/// An input pixel of a tile, which all terms of one tap read.
struct Read {
  std::size_t offset;  ///< in shared memory, in bytes
  std::vector<Term> terms;
};

/// Whether a number is within fp16, and does not become 0.
bool is_half(float number) {
  const float half = float_of_f16(nearest_f16(number));
  return std::isfinite(half) && (half != 0 || number == 0);
}

class Writer {
 public:
  Writer(const GeneratedLayer& layer, const std::vector<Index>& filters)
      : shape_(layer.shape),
        tiling_(layer.tiling),
        layer_(layer),
        filters_(filters),
        text_(layer.in_halves),
        next_(filters.size()) {
    for (std::size_t i = 0; i < filters.size(); ++i) next_[i] = layer.weights.offsets[filters[i]];
    rings_are_even_ = tiling_.chunks / tiling_.stages % 2 == 0;
  }

  std::string kernel() {
    head();
    begin();
    line("TILE: @p0 atom.global.inc.u32 t32, [q10], t35;");
    for (std::size_t sum = 0; sum < filters_.size(); ++sum) line("mov.b32 a{}, 0;", sum);
    wait(0);
    for (Index chunk = 0; chunk < tiling_.chunks; ++chunk) {
      multiply(chunk);
      if (chunk + 1 < tiling_.chunks)
        wait_ahead(chunk + 1);
      else
        line("@p0 st.shared.u32 [t12+64], t32;");
      line("bar.sync 0;");
      refill(chunk);
    }
    store();
    end();
    return text_.all();
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.line(format, std::forward<Args>(args)...);
  }

  Index additions() const {
    return static_cast<Index>(
        std::count_if(layer_.functions.begin(), layer_.functions.end(),
                      [](const Function& function) { return function.kind == Function::Kind::addition; }));
  }

  void head() {
    line(".version 9.0\n.target sm_90\n.address_size 64\n.extern .shared .align 128 .b8 chunks[];");
    std::string others;
    for (Index i = 0; i < additions(); ++i) others += fmt::format(", .param .u64 other{}", i);
    line(
        ".visible .entry convolve(.param .align 64 .b8 map[128], .param .u64 output, .param .u32 tiles, .param .u64 "
        "drawn{})",
        others);
    line(".maxntid {}, 1, 1\n.minnctapersm 1\n{{", tiling_.threads());
    line(".reg .b32 a<{}>; .reg .b32 x<{}>; .reg .b32 v<{}>; .reg .b32 t<40>; .reg .b64 q<16>; .reg .pred p<10>;",
         filters_.size(), tiling_.channels * shape_.kernel[0] * shape_.kernel[1], filters_.size() * 2);
    if (layer_.in_halves) line(".reg .b32 w<2>;");
    // The next tile is behind the barriers; 128 bytes, so that the chunks that follow are aligned.
    line(".shared .align 128 .b64 full[16];");
  }

  /// Sets y, x and the block of images of a tile: the corner of its output, in pixels.
  void place_of_tile(const char* tile, const char* y, const char* x, const char* block) {
    const Index across = (shape_.out[1] + tiling_.tile[1] - 1) / tiling_.tile[1];
    line("div.u32 {}, {}, {}; mul.lo.u32 t30, {}, {}; sub.u32 t30, {}, t30;", block, tile, tiling_.tiles(shape_), block,
         tiling_.tiles(shape_), tile);
    line("div.u32 {}, t30, {}; mul.lo.u32 t31, {}, {}; sub.u32 {}, t30, t31;", y, across, y, across, x);
    line("mul.lo.u32 {}, {}, {}; mul.lo.u32 {}, {}, {};", y, y, tiling_.tile[0], x, x, tiling_.tile[1]);
  }

  /// Starts the copy of a chunk of the tile at (y, x).
  void copy(Index chunk, const char* y, const char* x, const char* block) {
    const Index stage = chunk % tiling_.stages;
    line("mbarrier.arrive.expect_tx.shared.b64 _, [t12+{}], {};", 8 * stage, tiling_.stage_bytes());
    line("add.u32 t15, t8, {}; mov.u32 t16, {}; add.u32 t17, t12, {};", stage * tiling_.stage_bytes(),
         chunk * tiling_.channels, 8 * stage);
    line("mul.lo.u32 t13, {}, {}; sub.u32 t13, t13, {}; mul.lo.u32 t14, {}, {}; sub.u32 t14, t14, {}; mov.u32 t11, 0;",
         x, shape_.stride[1], shape_.pad[1], y, shape_.stride[0], shape_.pad[0]);
    line(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{} [t15], "
        "[q0, {{t11, t13, t14, t16, {}}}], [t17]{};",
        tiling_.streams ? ".L2::cache_hint" : "", block, tiling_.streams ? ", q11" : "");
  }

  /// A block begins with the tile of its number. Which one is next, thread 0 draws from a counter, so that blocks that
  /// are faster compute more, and neighbours are computed at about the same time: the border of a tile that they read,
  /// too, is then still in the L2 cache. The counter is 0 again after the last draw.
  ///
  /// t3 tile, t4 y, t5 x, t20 block of images; t6, t7 the warp's pixel in the tile; t9 its place in a chunk; t33 the
  /// parity of the ring's rounds before this tile; q10 the counter, t35 the number at which it becomes 0.
  void begin() {
    line("mov.u32 t0, %tid.x; shr.u32 t1, t0, 5; and.b32 t2, t0, 31; mov.u32 t3, %ctaid.x; mov.u32 t19, %nctaid.x;");
    line("ld.param.u32 t18, [tiles]; div.u32 t6, t1, {}; mul.lo.u32 t7, t6, {}; sub.u32 t7, t1, t7;", tiling_.tile[1],
         tiling_.tile[1]);
    line("mov.u32 t8, chunks; mul.lo.u32 t9, t6, {}; mul.lo.u32 t10, t7, {}; add.u32 t9, t9, t10; shl.b32 t9, t9, 7;",
         shape_.stride[0] / tiling_.steps[0] * tiling_.read[1], shape_.stride[1] / tiling_.steps[1]);
    line("add.u32 t9, t9, t8; shl.b32 t10, t2, 2; add.u32 t9, t9, t10;");
    line("mov.u32 t12, full; mov.b64 q0, map; cvta.param.u64 q0, q0; mov.b64 q11, 0x12F0000000000000;");
    line("ld.param.u64 q10, [drawn]; cvta.to.global.u64 q10, q10; sub.u32 t35, t18, 1;");
    line("setp.eq.u32 p0, t0, 0; setp.lt.u32 p1, t0, 32;");
    place_of_tile("t3", "t4", "t5", "t20");
    line("@!p0 bra INITIALISED;");
    for (Index stage = 0; stage < tiling_.stages; ++stage) line("mbarrier.init.shared.b64 [t12+{}], 1;", 8 * stage);
    line("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;");
    for (Index chunk = 0; chunk < tiling_.stages; ++chunk) copy(chunk, "t4", "t5", "t20");
    line("INITIALISED: mov.u32 t33, 0; bar.sync 0;");
  }

  /// In thread 0, which has drawn t32; p8: there is one, and this is that thread. t24, t25, t26: as t4, t5, t20.
  void next_tile() {
    line("add.u32 t32, t32, t19; setp.lt.u32 p7, t32, t18; and.pred p8, p7, p0;");
    place_of_tile("t32", "t24", "t25", "t26");
  }

  /// The first warp waits for a chunk; the others wait for it at the barrier, which keeps their polls out of the
  /// stream of instructions.
  void wait_ahead(Index chunk) {
    const Index parity = chunk / tiling_.stages % 2;
    if (tiling_.one_polls) line("@!p1 bra.uni THERE{};", chunk);
    if (!rings_are_even_) line("xor.b32 t34, t33, {};", parity);
    line("WAIT{}: mbarrier.try_wait.parity.shared.b64 p2, [t12+{}], {}; @!p2 bra WAIT{};", chunk,
         8 * (chunk % tiling_.stages), rings_are_even_ ? std::to_string(parity) : "t34", chunk);
    line("THERE{}:", chunk);
  }
  void wait(Index chunk) {
    wait_ahead(chunk);
    line("bar.sync 0;");
  }

  /// Reads of the kernel's taps in a chunk that any of its filters has, by channel and place in the filter. Each
  /// filter's terms are in the order of its weights: the sums are the same for every tiling.
  std::vector<Read> reads_of(Index chunk) {
    const Index taps = shape_.kernel[0] * shape_.kernel[1];
    const Index first = chunk * tiling_.channels;
    std::vector<Read> reads(std::size_t{tiling_.channels} * taps);
    for (Index channel = 0; channel < tiling_.channels; ++channel)
      for (Index tap = 0; tap < taps; ++tap) {
        const std::size_t row = std::size_t{tap / shape_.kernel[1]} * shape_.dilation[0];
        const std::size_t column = std::size_t{tap % shape_.kernel[1]} * shape_.dilation[1];
        reads[channel * taps + tap].offset =
            chunk % tiling_.stages * tiling_.stage_bytes() +
            ((channel * std::size_t{tiling_.read[0]} + row) * tiling_.read[1] + column) * kPixelBytes;
      }
    const CsrMatrix& weights = layer_.weights;
    for (Index sum = 0; sum < filters_.size(); ++sum)
      for (Offset& at = next_[sum]; at < weights.offsets[filters_[sum] + 1]; ++at) {
        const Index channel = weights.indices[at] / taps - first;
        if (channel >= tiling_.channels) break;
        reads[channel * taps + weights.indices[at] % taps].terms.push_back({sum, weights.entry_value(at)});
      }
    std::erase_if(reads, [](const Read& read) { return read.terms.empty(); });
    return reads;
  }

  void multiply(Index chunk) {
    const std::vector<Read> reads = reads_of(chunk);
    const auto read = [&](std::size_t i) { line("ld.shared.b32 x{}, [t9+{}];", i, reads[i].offset); };
    for (std::size_t i = 0; i < std::min(kReadsAhead, reads.size()); ++i) read(i);
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (i + kReadsAhead < reads.size()) read(i + kReadsAhead);
      for (const Term& term : reads[i].terms) text_.multiply_add(term.sum, i, term.weight);
    }
  }

  /// Starts the copy that takes the place of a chunk: of this tile, or of the next.
  void refill(Index chunk) {
    const bool same = chunk + tiling_.stages < tiling_.chunks;
    if (chunk + tiling_.stages == tiling_.chunks) next_tile();
    line("@!{} bra FILLED{};", same ? "p0" : "p8", chunk);
    if (same)
      copy(chunk + tiling_.stages, "t4", "t5", "t20");
    else
      copy(chunk + tiling_.stages - tiling_.chunks, "t24", "t25", "t26");
    line("FILLED{}:", chunk);
  }

  void store() {
    const std::size_t plane = shape_.out_channel * kPixelBytes;
    line("add.u32 t21, t4, t6; add.u32 t22, t5, t7; setp.ge.u32 p4, t21, {}; setp.ge.u32 p5, t22, {};", shape_.out[0],
         shape_.out[1]);
    line("or.pred p4, p4, p5; @p4 bra.uni STORED;");
    line("mad.lo.u32 t23, t21, {}, t22; mul.wide.u32 q6, t23, {}; mul.wide.u32 q7, t2, 4; add.u64 q6, q6, q7;",
         shape_.out[1], kPixelBytes);
    line("cvt.u64.u32 q7, t20; mul.lo.u64 q7, q7, {}; add.u64 q6, q6, q7;", shape_.out_block * kPixelBytes);
    line("ld.param.u64 q7, [output]; cvta.to.global.u64 q7, q7; add.u64 q7, q7, q6;");
    for (Index i = 0; i < additions(); ++i)
      line("ld.param.u64 q{0}, [other{1}]; cvta.to.global.u64 q{0}, q{0}; add.u64 q{0}, q{0}, q6;", 12 + i, i);
    for (std::size_t sum = 0; sum < filters_.size(); ++sum) {
      const std::size_t offset = filters_[sum] * plane;
      text_.add_bias(sum, layer_.bias == nullptr ? 0.0F : layer_.bias[filters_[sum]]);
      Index addition = 0;
      for (const Function& function : layer_.functions) {
        const bool adds = function.kind == Function::Kind::addition;
        const std::string other = adds ? fmt::format("[q{}+{}]", 12 + addition++, offset) : "";
        text_.apply(function, sum, filters_.size() + sum, other);
      }
      line("st.global{}.b32 [q7+{}], v{}{};", tiling_.streams ? ".L2::cache_hint" : "", offset, sum,
           tiling_.streams ? ", q11" : "");
    }
    line("STORED:");
  }

  void end() {
    line("ld.shared.u32 t3, [t12+64]; setp.lt.u32 p7, t3, t18;");
    place_of_tile("t3", "t4", "t5", "t20");
    if (!rings_are_even_) line("xor.b32 t33, t33, 1;");
    line("@p7 bra.uni TILE;\nret;\n}}");
  }

  const DirectShape& shape_;
  const GeneratedTiling& tiling_;
  const GeneratedLayer& layer_;
  const std::vector<Index>& filters_;
  Instructions text_;
  std::vector<Offset> next_;  ///< by filter: the first weight that no chunk has had
  bool rings_are_even_ = false;
};

}  // namespace

bool can_be_generated(const std::vector<Function>& functions, bool in_halves) {
  return std::all_of(functions.begin(), functions.end(), [in_halves](const Function& function) {
    using Kind = Function::Kind;
    switch (function.kind) {
      case Kind::clip:  // a limit beyond all numbers of fp16 is none
        return !in_halves || ((is_half(function.a) || function.a < -1) && (is_half(function.b) || function.b > 1));
      case Kind::leaky:
        return !in_halves || is_half(function.a);
      case Kind::line:
        return !in_halves || (is_half(function.a) && is_half(function.b));
      default:
        return function.kind == Kind::addition;
    }
  });
}

std::string generated_code(const GeneratedLayer& layer, const std::vector<Index>& filters) {
  return Writer(layer, filters).kernel();
}

}  // namespace spdnn::cuda

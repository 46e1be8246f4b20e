// The loops of sparse_conv that move numbers, against plain ones, with pixels that lie before, in and behind the image:
// each number that they have to write, and none that they must leave.

#include <gtest/gtest.h>

#include <vector>

#include "engines/cpu/sparse_conv/dispatch.hpp"
#include "support/models.hpp"
#include "support/sampled.hpp"
#include "support/sum_functions.hpp"

namespace spdnn {
namespace {

using sparse_conv::Kernels;
using testing::Rng;

constexpr float kUntouched = -77;
constexpr std::size_t kBehind = 80;  ///< numbers that are looked at behind the last one

sparse_conv::Axis random_axis(Rng& rng, std::uint32_t most) {
  const auto draw = [&](std::uint32_t least, std::uint32_t below) { return least + std::int64_t{rng.below(below)}; };
  return {.first = draw(0, 13) - 6, .step = draw(1, 3), .count = draw(1, most), .extent = draw(1, most)};
}

/// The place in the image of a tile's pixel; -1 in the padding.
std::int64_t place_in_image(const sparse_conv::Axis& axis, std::int64_t i) {
  const std::int64_t place = axis.first + i * axis.step;
  return place < axis.extent && place >= 0 ? place : -1;
}

void expect_copied(const Kernels& kernels, Rng& rng) {
  const sparse_conv::Axis rows = random_axis(rng, 6);
  const sparse_conv::Axis columns = random_axis(rng, 50);
  const std::int64_t channels = 1 + std::int64_t{rng.below(3)};
  const std::int64_t pitch = columns.count + std::int64_t{rng.below(20)};
  const std::int64_t to_stride = rows.count * pitch + std::int64_t{rng.below(30)};
  const std::vector<float> image =
      testing::random_values(rng, static_cast<std::size_t>(channels * rows.extent * columns.extent), -1, 1);
  std::vector<float> found(static_cast<std::size_t>(channels * to_stride) + kBehind, kUntouched);
  kernels.copy({image.data(), rows.extent * columns.extent, found.data(), to_stride, channels, pitch, rows, columns});
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t s = 0; s < columns.count; ++s) {
        const std::int64_t y = place_in_image(rows, r);
        const std::int64_t x = place_in_image(columns, s);
        const float expected =
            x < 0 || y < 0 ? 0 : image[static_cast<std::size_t>((c * rows.extent + y) * columns.extent + x)];
        ASSERT_EQ(found[static_cast<std::size_t>(c * to_stride + r * pitch + s)], expected)
            << kernels.instruction_set << ", channel " << c << ", row " << r << ", column " << s;
      }
    const std::int64_t end = (rows.count - 1) * pitch + columns.count;
    const std::int64_t next = c + 1 < channels ? to_stride : to_stride + std::int64_t{kBehind};
    for (std::int64_t i = end; i < next; ++i)
      ASSERT_EQ(found[static_cast<std::size_t>(c * to_stride + i)], kUntouched) << kernels.instruction_set << ", " << i;
  }
}

TEST(SparseConvLoops, CopyPixelsAndPaddingAndNothingBehind) {
  for (const Kernels* const kernels : sparse_conv::available_kernels()) {
    Rng rng(21);
    for (int i = 0; i < testing::sampled(600, 4000); ++i) expect_copied(*kernels, rng);
  }
}

/// A tile of sums as results of a larger image, all of whose other pixels stay.
void expect_left(const Kernels& kernels, Rng& rng, const testing::NamedFunction& named, bool adds) {
  const std::int64_t rows = 1 + std::int64_t{rng.below(4)};
  const std::int64_t columns = 1 + std::int64_t{rng.below(40)};
  const std::int64_t pitch = columns + std::int64_t{rng.below(9)};
  const std::int64_t to_pitch = columns + std::int64_t{rng.below(2) * rng.below(30)};
  const auto size = static_cast<std::size_t>(rows * to_pitch);
  const std::vector<float> sums = testing::random_values(rng, static_cast<std::size_t>(rows * pitch), -1, 1);
  const std::vector<float> added = testing::random_values(rng, size, -1, 1);
  std::vector<float> found(size + kBehind, kUntouched);
  kernels.leave({sums.data(),
                 pitch,
                 found.data(),
                 to_pitch,
                 rows,
                 columns,
                 {named.function, adds ? added.data() : nullptr, named.function}});
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(size + kBehind); ++i) {
    const std::int64_t row = i / to_pitch;
    const std::int64_t column = i % to_pitch;
    const bool own = row < rows && column < columns;
    const float once = own ? named(sums[static_cast<std::size_t>(row * pitch + column)]) : kUntouched;
    const float expected = own && adds ? named(once + added[static_cast<std::size_t>(i)]) : once;
    ASSERT_EQ(found[static_cast<std::size_t>(i)], expected)
        << kernels.instruction_set << ", row " << row << ", column " << column << " of " << rows << " x " << columns;
  }
}

TEST(SparseConvLoops, LeaveResultsInTheirTileAlone) {
  for (const Kernels* const kernels : sparse_conv::available_kernels()) {
    Rng rng(22);
    for (int i = 0; i < testing::sampled(60, 400); ++i)
      for (const testing::NamedFunction& named : testing::sum_functions())
        for (const bool adds : {false, true}) expect_left(*kernels, rng, named, adds);
  }
}

}  // namespace
}  // namespace spdnn

// The kernels of conv_direct for elements on the CPU, within the oracle's bounds, on more than one block of images, in
// images32 and in rows.

#include <gtest/gtest.h>

#include "blocks_of_images.hpp"
#include "engines/cuda/conv_direct/axes.cuh"
#include "engines/cuda/conv_direct/moves.cuh"
#include "engines/cuda/conv_direct/pools.cuh"
#include "model/operations/geometry.hpp"
#include "model/oracle/evaluate.hpp"
#include "support/models.hpp"

namespace spdnn::cuda {
namespace {

constexpr Extent kImages = 40;
constexpr unsigned kGrid = 3;

/// An operation alone on random images in blocks of `together`, and what the oracle makes of them.
struct Alone {
  Alone(const Operation& operation, Shape shape, Index own_together)
      : together(own_together), blocks((kImages + together - 1) / together) {
    testing::Rng rng(5);
    testing::ModelBuilder builder;
    shape.insert(shape.begin(), kBatchExtent);
    const Model model = builder.finish({builder.add(operation, {builder.input(shape)})});
    const Tensor images = testing::random_tensor(rng, with_batch(shape, kImages));
    expected = evaluate(model, {images})[0];
    elements = static_cast<std::size_t>(spdnn::elements(images.shape).value()) / kImages;
    results = static_cast<std::size_t>(spdnn::elements(expected.shape).value()) / kImages;
    x = together == 1 ? std::vector<float>(images.values.begin(), images.values.end())
                      : blocked(images, kImages, elements);
    y.assign(results * blocks * together, NAN);
  }
  double deviation() const {
    return largest_ratio(expected, together == 1 ? Array<float>(y) : in_rows(y, kImages, results));
  }

  Index together;
  std::size_t blocks;
  Bounded expected;
  std::size_t elements = 0;
  std::size_t results = 0;
  std::vector<float> x, y;
};

class EmulatedElements : public ::testing::TestWithParam<Index> {};

INSTANTIATE_TEST_SUITE_P(ImagesTogether, EmulatedElements, ::testing::Values(32, 1));

template <class Kernel>
void run_elements(const Kernel& kernel) {
  emulation::launch(kGrid, kElementThreads, 0, kernel);
}

TEST_P(EmulatedElements, BatchNormsAreByChannel) {
  testing::Rng rng(7);
  const BatchNorm norm = testing::random_norm(rng, 7);
  Alone one(norm, {7, 3, 2}, GetParam());
  std::vector<Normalization> all;
  for (std::size_t c = 0; c < 7; ++c)
    all.push_back({norm.mean[c], norm.scale[c] / std::sqrt(norm.variance[c] + norm.epsilon), norm.shift[c]});
  run_elements(
      [&] { normalize_kernel(one.x.data(), one.blocks * one.elements, one.together, 7, 6, all.data(), one.y.data()); });
  EXPECT_LE(one.deviation(), 1);
}

TEST_P(EmulatedElements, SoftmaxIsAlongItsAxis) {
  Alone inner(Softmax{2}, {5, 6}, GetParam());
  run_elements([&] { softmax_kernel(inner.x.data(), inner.blocks * 5, inner.together, 6, 1, inner.y.data()); });
  EXPECT_LE(inner.deviation(), 1);
  Alone outer(Softmax{1}, {5, 6}, GetParam());
  run_elements([&] { softmax_kernel(outer.x.data(), outer.blocks * 6, outer.together, 5, 6, outer.y.data()); });
  EXPECT_LE(outer.deviation(), 1);
}

TEST_P(EmulatedElements, ReductionsAreOverTheirAxes) {
  for (const auto& [kind, own] : {std::pair{Reduce::Kind::sum, Reduction::Kind::sum},
                                  {Reduce::Kind::product, Reduction::Kind::product},
                                  {Reduce::Kind::maximum, Reduction::Kind::maximum},
                                  {Reduce::Kind::minimum, Reduction::Kind::minimum}}) {
    Alone one(Reduce{kind, {1, 3}}, {3, 4, 2}, GetParam());
    const std::vector<Index> places{0, 2, 4, 6, 0, 1, 8, 9, 16, 17};
    const Reduction reduction{own, one.blocks, one.together, one.elements, 4, 6};
    run_elements([&] { reduce_kernel(one.x.data(), reduction, places.data(), one.y.data()); });
    EXPECT_LE(one.deviation(), 1);
  }
}

TEST_P(EmulatedElements, GatheredElementsComeFromTheirPlacesOrAreFilledIn) {
  Alone one(Pad{{0, 1, -1}, {0, 0, 2}, -0.5F}, {2, 3}, GetParam());
  const std::vector<Index> table{kNowhere, kNowhere, kNowhere, kNowhere, 1,        2,
                                 kNowhere, kNowhere, 4,        5,        kNowhere, kNowhere};
  const Gathering gathering{one.blocks, one.together, one.elements, 12, -0.5F};
  run_elements([&] { gather_kernel(one.x.data(), gathering, table.data(), one.y.data()); });
  EXPECT_LE(one.deviation(), 1);
}

TEST_P(EmulatedElements, ResizedPlanesLieBetweenElements) {
  for (const auto kind : {Resize::Kind::nearest, Resize::Kind::linear}) {
    const Resize node{.kind = kind, .place = Resize::Place::half_pixel, .size = {7, 9}, .scale = {7 / 5.F, 9 / 4.F}};
    Alone one(node, {2, 5, 4}, GetParam());
    std::vector<Interpolation> taps;
    const Extent in[2] = {5, 4};
    for (std::size_t axis = 0; axis < 2; ++axis)
      for (Extent i = 0; i < node.size[axis]; ++i) {
        const Between between = between_elements(node, axis, in[axis], i);
        if (kind == Resize::Kind::nearest)
          taps.push_back({static_cast<Index>(nearest_element(node, axis, in[axis], i))});
        else
          taps.push_back({static_cast<Index>(between.first), static_cast<Index>(between.second), between.weight});
      }
    const Resizing resizing{one.blocks * 2, one.together, {5, 4}, {7, 9}, kind == Resize::Kind::linear};
    run_elements([&] { resize_kernel(one.x.data(), resizing, taps.data(), one.y.data()); });
    EXPECT_LE(one.deviation(), 1);
  }
}

/// Calls work(pool, pooling, one) for pools of images of 3 x 7 x 5, whose windows are padded.
template <class Work>
void for_each_pool(Index together, const Work& work) {
  for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average})
    for (const bool count_padding : {false, true}) {
      const Window window{
          .kernel = {3, 2}, .stride = {2, 1}, .dilation = {1, 2}, .pad_begin = {1, 0}, .pad_end = {1, 1}};
      Alone one(Pool{.kind = kind, .window = window, .count_padding = count_padding}, {3, 7, 5}, together);
      Pooling pooling{window_axes({kImages, 3, 7, 5}, image_extents(one.expected.shape), window)};
      std::copy(window.pad_end.begin(), window.pad_end.end(), pooling.pad_end);
      pooling.maximum = kind == Pool::Kind::max;
      pooling.count_padding = count_padding;
      work(pooling, one);
    }
}

/// The kernel on numbers that lie as `Numbers` does.
template <class Numbers>
void run_pool(const void* x, std::size_t planes, Index together, const Pooling& pooling, void* y) {
  run_elements([&] {
    pool_kernel(static_cast<const Numbers*>(x), planes, together / Numbers::kNumbers, pooling,
                static_cast<Numbers*>(y));
  });
}

TEST_P(EmulatedElements, PoolsAreOverWindows) {
  for_each_pool(GetParam(), [](const Pooling& pooling, Alone& one) {
    const auto run = one.together == 1 ? run_pool<FloatOfPlace> : run_pool<FloatsOfPlace>;
    run(one.x.data(), one.blocks * 3, one.together, pooling, one.y.data());
    EXPECT_LE(one.deviation(), 1) << pooling.maximum << pooling.count_padding;
  });
}

TEST(EmulatedHalves, PoolsAreOverWindowsAndKeepNaN) {
  constexpr Index kTogether = 64;  // images, of which 40 exist
  constexpr std::size_t kElement = 2 * 35 + 17;
  for_each_pool(1, [](const Pooling& pooling, Alone& one) {
    std::vector<__half> x(one.elements * kTogether), y(one.results * kTogether);
    for (std::size_t i = 0; i < one.x.size(); ++i)
      x[i % one.elements * kTogether + i / one.elements] = __float2half_rn(one.x[i]);
    x[kElement * kTogether + 3] = __float2half_rn(NAN);
    run_pool<HalvesOfPlace>(x.data(), 3, kTogether, pooling, y.data());
    bool is_nan = false;
    for (std::size_t i = 0; i < one.expected.values.size(); ++i) {
      const float found = __half2float(y[i % one.results * kTogether + i / one.results]);
      const bool other = i / one.results != 3 || i % one.results < one.results / 3 * 2;
      is_nan = is_nan || std::isnan(found);
      if (other) {
        EXPECT_NEAR(found, one.expected.values[i], 1e-3);
      }
    }
    EXPECT_TRUE(is_nan) << pooling.maximum;
  });
}

/// The largest ratio to the bound of a product of two values, of which those without kBatchExtent are constants.
double ratio_of_matrices(const MatMul& node, const std::array<Shape, 2>& shapes, Index together) {
  testing::Rng rng(11);
  testing::ModelBuilder builder;
  std::vector<ValueId> values;
  std::vector<Tensor> inputs;
  std::array<OperandShape, 2> operands;
  std::array<std::vector<float>, 2> numbers;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor tensor = testing::random_tensor(rng, with_batch(shapes[k], kImages));
    operands[k] = {tensor.shape, shapes[k].front() == kBatchExtent};
    numbers[k] = {tensor.values.begin(), tensor.values.end()};
    values.push_back(operands[k].has_images ? builder.input(shapes[k]) : builder.constant(tensor));
    if (!operands[k].has_images) continue;
    inputs.push_back(tensor);
    if (together > 1) numbers[k] = blocked(tensor, kImages, tensor.values.size() / kImages);
  }
  const Bounded expected = evaluate(builder.finish({builder.add(node, values)}), inputs)[0];
  const MatrixProduct product{.matrices = broadcast_over(expected.shape, operands, 2).value(),
                              .rows = static_cast<Index>(expected.shape[expected.shape.size() - 2]),
                              .terms = static_cast<Index>(shapes[0].back()),
                              .columns = static_cast<Index>(expected.shape.back()),
                              .transposed = node.transposed};
  const std::size_t results = expected.values.size() / kImages;
  const std::size_t blocks = (kImages + together - 1) / together;
  const std::size_t matrices = blocks * results / product.rows / product.columns;
  std::vector<float> y(blocks * results * together, NAN);
  run_elements([&] {
    product_kernel(numbers[0].data(), numbers[1].data(),
                   matrices * squares_of(product.rows) * squares_of(product.columns), together, product, y.data());
  });
  return largest_ratio(expected, together == 1 ? Array<float>(y) : in_rows(y, kImages, results));
}

TEST_P(EmulatedElements, ProductsOfMatricesAreOfEachImageOrOfAConstant) {
  constexpr Extent kN = kBatchExtent;
  const std::array<Shape, 2> cases[] = {{Shape{kN, 5, 6}, {kN, 6, 9}},              // of each image
                                        {Shape{kN, 4, 6}, {6, 8}},                  // of a constant
                                        {Shape{5, 6}, {kN, 6, 1}},                  // of a constant on the left
                                        {Shape{kN, 3, 1, 6}, {kN, 3, 6, 9}},        // of several matrices
                                        {Shape{kN, 3, 5, 6}, {kN, 1, 6, 9}},        // of one for all of them
                                        {Shape{kN, 1, 5, 1}, {1, 3, 1, 9}},         // of one term
                                        {Shape{kN, 2, 3, 5, 6}, {kN, 1, 3, 6, 9}},  // of two axes
                                        {Shape{kN, 2, 1, 5, 6}, {3, 6, 9}}};
  for (const bool transposed : {false, true})
    for (std::array<Shape, 2> shapes : cases) {
      Shape& b = shapes[1];
      if (transposed) std::swap(b[b.size() - 1], b[b.size() - 2]);
      EXPECT_LE(ratio_of_matrices({transposed}, shapes, GetParam()), 1) << shape_text(shapes[0]) << shape_text(b);
    }
}

TEST(Broadcasts, AreOfImagesOrOfConstantsWithoutThem) {
  EXPECT_FALSE(broadcast_over({40}, {OperandShape{{40}, true}, {{}, false}}, 0));            // no axis of an image
  EXPECT_FALSE(broadcast_over({40, 5}, {OperandShape{{40, 6}, true}, {{6, 5}, false}}, 2));  // images within matrices
  EXPECT_FALSE(broadcast_over({40, 3}, {OperandShape{{40, 3}, true}, {{40, 3}, false}}, 0));
  const Shape deep(kMostAxes + 2, 2);
  EXPECT_FALSE(broadcast_over(deep, {OperandShape{deep, true}, {deep, true}}, 0));
  EXPECT_TRUE(broadcast_over(deep, {OperandShape{deep, true}, {deep, true}}, 2));
}

TEST(EmulatedRows, PlanesArePooledByWarps) {
  for (const Pool::Kind kind : {Pool::Kind::max, Pool::Kind::average})
    for (const Extent width : {1, 4, 15}) {
      Alone one(GlobalPool{kind}, {3, 5, width}, 1);
      run_elements([&] {
        pool_planes_kernel(one.x.data(), one.blocks * 3, static_cast<Index>(5 * width), kind == Pool::Kind::max,
                           one.y.data());
      });
      EXPECT_LE(one.deviation(), 1) << width;
    }
}

TEST(EmulatedRows, SoftmaxIsAlongItsAxis) {
  Alone inner(Softmax{2}, {5, 70}, 1);
  run_elements([&] { softmax_rows_kernel(inner.x.data(), inner.blocks * 5, 70, 1, inner.y.data()); });
  EXPECT_LE(inner.deviation(), 1);
  Alone outer(Softmax{1}, {35, 3}, 1);
  run_elements([&] { softmax_rows_kernel(outer.x.data(), outer.blocks * 3, 35, 3, outer.y.data()); });
  EXPECT_LE(outer.deviation(), 1);
}

}  // namespace
}  // namespace spdnn::cuda

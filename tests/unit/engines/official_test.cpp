// The CPU engines on the official 1024 x 120 problem, generated from MNIST.

#include <gtest/gtest.h>

#include <algorithm>

#include "data/generate.hpp"
#include "data/official/problems.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "support/shared_data.hpp"

namespace spdnn {
namespace {

/// Images (0-based) on the unstable fixed point 0.3: rounding drops them, exact arithmetic would keep them.
constexpr Index kUnstable1 = 11865;
constexpr Index kUnstable2 = 49258;

struct Problem {
  Network network = generate_official_network(1024, 120);
  ImageSet images = generate_official_images(read_mnist(shared_mnist()), 1024);
};

Outcome infer(const char* variant, Precision precision, const Problem& problem, const ImageSet& images,
              const char* passes) {
  RunOptions options;
  options.engine.precision = precision;
  return run(find_variant(variant), make_plan(problem.network, parse_passes(passes)), images, options).outcome;
}

TEST(OfficialEngines, CategoriesAreTheOfficialOnes) {
  if (!exists(shared_mnist())) GTEST_SKIP() << "no MNIST at " << shared_mnist();
  const Problem problem;
  const std::string_view truth = official_problem(1024)->category_digest;
  const Outcome all = infer("cpu_openmp", Precision::fp32, problem, problem.images, "all");
  EXPECT_EQ(digest(all.categories), truth);
  EXPECT_EQ(digest(infer("cpu_openmp", Precision::fp64, problem, problem.images, "all").categories), truth);
  const Outcome dead = infer("cpu_openmp", Precision::fp32, problem, problem.images, "dead");
  EXPECT_EQ(digest(dead.categories), truth);
  EXPECT_EQ(dead.alive, all.alive);

  // Every edge of every image computed, for the unstable images and some others.
  std::vector<Index> chosen{kUnstable1, kUnstable2};
  for (Index image = 0; image < 1000; ++image) chosen.push_back(image * 60);
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  const ImageSet some = problem.images.select(chosen);
  Categories expected;
  for (Index i = 0; i < chosen.size(); ++i)
    if (std::binary_search(all.categories.begin(), all.categories.end(), chosen[i])) expected.push_back(i);
  EXPECT_GT(expected.size(), 10U);
  EXPECT_EQ(infer("cpu_openmp", Precision::fp32, problem, some, "none").categories, expected);
  EXPECT_EQ(infer("cpu_openmp", Precision::fp64, problem, some, "none").categories, expected);
  EXPECT_EQ(infer("cpu_reference", Precision::fp64, problem, some, "dead").categories, expected);
}

}  // namespace
}  // namespace spdnn

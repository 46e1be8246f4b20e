// The verdict of a model's run in its own words, for each way in which its comparisons may end.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "inference/model/verify.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn {
namespace {

constexpr Index kOfVerdict = 8;

LogitCheck right(const char* against, Index images = kOfVerdict) {
  return {.against = against,
          .images = images,
          .outputs = {{.largest_ratio = 0.25, .largest_bound = 0.5, .largest_expected = 100, .largest_excess = 0.125}}};
}
LogitCheck saying_little(const char* against) {
  LogitCheck check = right(against);
  check.outputs[0].largest_bound = 2;
  return check;
}
LogitCheck beyond(const char* against) {
  LogitCheck check = right(against);
  check.beyond = 1;
  check.outputs[0].largest_excess = 3;
  return check;
}
LogitCheck undecided(const char* against) {
  LogitCheck check = right(against);
  check.undecided = 1;
  return check;
}
NodeCheck nodes(double ratio, Index images = kOfVerdict) {
  return {.images = images, .nodes = 3, .largest_ratio = ratio, .worst = "conv1"};
}
Accuracy accuracy(Index correct) { return {.images = kOfVerdict, .correct = correct, .at_least = 0.5}; }

/// `P: ...`, `F: ...` or `U: ...`, by the status.
template <class Change>
std::string verdict(const Change& change) {
  ModelReport report;
  report.images = kOfVerdict;
  change(report);
  const Judgement judgement = verdict_of(report);
  return fmt::format("{}: {}", to_string(judgement.status).substr(0, 1), judgement.against);
}
using R = ModelReport;

TEST(ModelVerdict, SaysWhatHeldAndWhatDidNot) {
  EXPECT_EQ(verdict([](R&) {}), "U: nothing: verification was not requested");
  EXPECT_EQ(verdict([](R& r) { r.expected = right("file"); }), "P: file: largest deviation 0.25 of the bound");
  EXPECT_EQ(verdict([](R& r) { r.expected = right("file", kOfVerdict - 1); }),
            "U: file: largest deviation 0.25 of the bound; --verify all compares node by node");
  EXPECT_EQ(verdict([](R& r) { r.expected = right("file"), r.overflow = "node 1"; }),
            "U: file: largest deviation 0.25 of the bound, but sums may have overflowed");
  EXPECT_EQ(verdict([](R& r) { r.expected = beyond("file"); }),
            "F: file: largest deviation 0.25 of the bound, but 3 times the tolerance");
  EXPECT_EQ(verdict([](R& r) { r.expected = beyond("file"), r.recomputed = right("reference"); }),
            "F: file: largest deviation 0.25 of the bound, but 3 times the tolerance, though not against reference: "
            "largest deviation 0.25 of the bound");
  EXPECT_EQ(verdict([](R& r) { r.expected = saying_little("file"); }),
            "U: file: largest deviation 0.25 of the bound, which says little: bounds are up to 2, logits up to 100; "
            "within the tolerance, 0.125 of it, which proves nothing; --verify all compares node by node");
  EXPECT_EQ(verdict([](R& r) { r.expected = undecided("file"), r.nodes_checked = nodes(0.5); }),
            "U: node by node: largest deviation 0.5 of the bound, at conv1; file: largest deviation 0.25 of the bound, "
            "but 0.125 times the tolerance, which proves nothing: values between two steps may be rounded to either, "
            "which may move outputs as far");
  EXPECT_EQ(
      verdict([](R& r) { r.recomputed = saying_little("reference"), r.nodes_checked = nodes(0.5); }),
      "P: reference: largest deviation 0.25 of the bound; node by node: largest deviation 0.5 of the bound, at conv1");
  EXPECT_EQ(
      verdict([](R& r) { r.recomputed = right("reference", 2), r.nodes_checked = nodes(0.5, 2); }),
      "U: reference: largest deviation 0.25 of the bound; node by node: largest deviation 0.5 of the bound, at conv1");
  EXPECT_EQ(verdict([](R& r) { r.recomputed = right("reference"), r.nodes_checked = nodes(1.5); }),
            "F: node by node: largest deviation 1.5 of the bound, at conv1, though not against reference: largest "
            "deviation 0.25 of the bound");
  EXPECT_EQ(verdict([](R& r) { r.accuracy = accuracy(4); }),
            "P: labels of 8 images: accuracy 0.5000, at least 0.5 required");
  EXPECT_EQ(verdict([](R& r) { r.accuracy = accuracy(3); }),
            "F: labels of 8 images: accuracy 0.3750, at least 0.5 required");
  EXPECT_EQ(verdict([](R& r) {
              r.accuracy = accuracy(3);
              r.expected = right("file");
              r.expected->outputs.push_back({.name = "boxes", .largest_ratio = 0.75, .largest_expected = 1});
            }),
            "F: labels of 8 images: accuracy 0.3750, at least 0.5 required, though not against file: largest deviation "
            "0.75 of the bound (output boxes of 2)");
}

}  // namespace
}  // namespace spdnn

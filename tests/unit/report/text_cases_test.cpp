// Lines of the text report that not every run has, and where one begins to speak.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "report/answers.hpp"
#include "report/baselines.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/report.hpp"
#include "support/message_of.hpp"

namespace spdnn {
namespace {

/// The lines of a text that contain certain words.
std::string lines_with(const std::string& text, const std::string& words) {
  std::string found;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    if (const std::string line = text.substr(at, end - at); line.find(words) != std::string::npos) found += line + "\n";
  return found;
}

ModelReport answered(std::vector<float> scores, Index images, Index classes) {
  ModelReport r;
  r.images = r.available = images;
  r.batch = 1;
  r.classes = classes;
  r.score = "logit";
  r.outputs = {{"y", {kBatchExtent, classes}, {{images, classes}, std::move(scores)}}};
  r.predictions.assign(images, 0);
  return r;
}

TEST(TextCases, AnswersAreTheFiveBestOfTenImages) {
  EXPECT_EQ(
      answers_text(answered({1, NAN, 3, 3, -2, 3, 0.5F}, 1, 7)),
      "answers          image 1: class 2, logit 3; class 3, logit 3; class 5, logit 3; class 0, logit 1; class 6, "
      "logit 0.5\n");
  EXPECT_EQ(answers_text(answered({NAN, NAN, 2}, 1, 3)),
            "answers          image 1: class 2, logit 2; class 0, logit nan; class 1, logit nan\n");
  EXPECT_EQ(lines_with(answers_text(answered(std::vector<float>(10, 1), 10, 1)), "first"), "");
  const std::string more = answers_text(answered(std::vector<float>(11, 1), 11, 1));
  EXPECT_EQ(lines_with(more, "image 1"),
            "answers          image 1: class 0, logit 1\n"
            "                 image 10: class 0, logit 1\n");
  EXPECT_EQ(lines_with(more, "first"), "                 the first 10 of 11 images; --predictions FILE writes all\n");
  EXPECT_EQ(lines_with(more, "image 11"), "");
  ModelReport none = answered({1}, 1, 1);
  none.predictions.clear();
  EXPECT_EQ(answers_text(none), "");
  none = answered({1}, 1, 1);
  none.classes = 0;
  EXPECT_EQ(answers_text(none), "");
}

TEST(TextCases, WidthsAreShownUpToEightLayers) {
  Report r;
  r.neurons = {9, 8, 7, 6, 5, 4, 3, 2, 1};
  EXPECT_EQ(lines_with(to_text(r), "problem").substr(17, 35), "9-8-7-6-5-4-3-2-1 neurons, 8 layers");
  r.neurons = {9, 8, 7, 6, 5, 4, 3, 2, 1, 10};
  EXPECT_EQ(lines_with(to_text(r), "problem").substr(17, 27), "9-...-10 neurons, 9 layers,");
}

TEST(TextCases, CheckpointsAndLostPartsSpeakForThemselves) {
  Report r;
  r.seconds.infer = {1, 2, 3, 8};
  r.seconds.checkpoint = 2;
  r.checkpoints = CheckpointSummary{.every = {}, .written = 1, .bytes = 3, .lost_parts = 0, .lost_seconds = 5};
  EXPECT_EQ(lines_with(to_text(r), "checkpoints"),
            "checkpoints      1 written during the run: 3 bytes, 25 % of infer\n");
  EXPECT_EQ(lines_with(to_text(r), "lost"), "");
  r.checkpoints->written = 0;
  r.checkpoints->lost_parts = 1;
  EXPECT_EQ(lines_with(to_text(r), "checkpoints"), "");
  EXPECT_EQ(lines_with(to_text(r), "lost"),
            "lost             1 part ended without a stop; at most 5 s of work was done again\n");
}

TEST(TextCases, TrialsAreFarApartFromFiveTimesOn) {
  Report r;
  r.trials = 3;
  r.seconds.infer = {1, 3, 5, 9};
  EXPECT_NE(lines_with(to_text(r), "took 5 times as long"), "");
  r.seconds.infer = {1, 1, 4.875, 9};
  EXPECT_EQ(lines_with(to_text(r), "as long as the fastest"), "");
}

TEST(TextCases, InfiniteBoundsProveNothing) {
  ModelReport r;
  r.expected = LogitCheck{.against = "a file", .outputs = {{.name = "y", .largest_bound = INFINITY}}};
  EXPECT_EQ(lines_with(to_text(r), "infinite bounds prove nothing").find('\n', 1) + 1,
            lines_with(to_text(r), "infinite bounds prove nothing").size())
      << "of a single output in one line";
  EXPECT_EQ(lines_with(to_text(r), "predictions"), "") << "of outputs that are no classes";
  r.expected->outputs[0] = {.name = "y", .largest_bound = 1, .largest_expected = INFINITY, .widened = 1.5};
  EXPECT_EQ(lines_with(to_text(r), "infinite bounds prove nothing"), "");
  EXPECT_NE(lines_with(to_text(r), "the tolerance is 1.5 times the usual one"), "");
  EXPECT_EQ(lines_with(to_text(r), "expected").substr(0, 48), "expected         a file: largest deviation 0 of ");
}

TEST(TextCases, BaselinesNeedTheirColumns) {
  const std::string head =
      "system,processor,count,neurons,layers,images,seconds,edges_per_second,counted,measured,source";
  const auto said = [](const std::string& text) {
    return testing::message_of<DataError>([&] { read_baselines("f", text); });
  };
  EXPECT_EQ(said(""), "f:1:1: expected the columns " + head);
  EXPECT_EQ(said("system\n"), "f:1:1: expected the columns " + head);
  EXPECT_EQ(said(head + "\nS,P,2,1024,120,60000,1,,,published,x"), "f:2:25: '' is empty");
  EXPECT_EQ(said(head + "\nS,P,2,1024,120,60000,1,,c,published,"), "f:2:37: '' is empty");
  EXPECT_TRUE(read_baselines("f", head + "\n").empty());
  const Baseline one = read_baselines("f", head + "\nS,P,2,3,4,5,,6e9,c,published,x\n").at(0);
  EXPECT_EQ(one.system + one.processor + one.counted + one.measured + one.source, "SPcpublishedx");
  EXPECT_EQ(one.count * 1000 + one.neurons * 100 + one.layers * 10 + one.images, 2345U);
  EXPECT_FALSE(one.seconds);
  EXPECT_EQ(one.edges_per_second, 6e9);
}

}  // namespace
}  // namespace spdnn

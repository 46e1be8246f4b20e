#include "spdnn/inference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "inference/network/run_report.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/planned_network.hpp"
#include "support/message_of.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Two layers of four neurons. Each neuron adds its own input and the next one's, and needs both.
Network two_layers() {
  Layer layer;
  layer.weights = make_csr(4, 4, {0, 2, 4, 6, 8}, {0, 1, 1, 2, 2, 3, 0, 3});
  layer.bias.uniform = -1.0;
  Network network;
  network.layers = {layer, layer};
  return network;
}

/// 1 1 1 0; 0 1 0 0, which dies in the first layer; 1 1 1 1; and nothing.
ImageSet four_images() { return make_image_set(make_csr(4, 4, {0, 3, 4, 8, 8}, {0, 1, 2, 1, 0, 1, 2, 3})); }

Report report_of(const InferenceSpec& spec) {
  Inference inference(spec);
  inference.load(two_layers(), four_images());
  inference.plan();
  inference.run();
  inference.verify();
  return inference.report();
}

TEST(Inference, OfWhatIsInMemoryIsVerified) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  spec.truth.everything = true;
  const Report report = report_of(spec);
  EXPECT_EQ(report.outcome.categories, (Categories{0, 2}));
  EXPECT_EQ(report.verdict.status, Verdict::Status::passed);
  EXPECT_EQ(report.empty_images, 1U);
  EXPECT_GT(report.seconds.read, 0.0);
  EXPECT_GT(report.seconds.total, report.seconds.read);
}

TEST(Inference, EachPhaseHasItsTime) {
  for (const int warm_up : {0, 2}) {
    InferenceSpec spec;
    spec.variant = "cpu_openmp";
    spec.trials = 3;
    spec.warm_up = warm_up;
    spec.compare = true;
    const Report report = report_of(spec);
    const PhaseSeconds& seconds = report.seconds;
    EXPECT_GT(seconds.plan, 0);
    EXPECT_GT(seconds.upload_images, 0);
    EXPECT_GT(seconds.upload, seconds.upload_images);
    EXPECT_EQ(seconds.warm_up > 0, warm_up > 0);
    for (const Spread& infer : {seconds.infer, report.compared->infer}) {
      EXPECT_GT(infer.min, 0);
      EXPECT_GE(infer.sum, infer.min + infer.median + infer.max * (1 - 1e-9));
    }
    EXPECT_GT(seconds.gather, 0);
    EXPECT_EQ(seconds.share, 0);
    EXPECT_EQ(seconds.checkpoint, 0);
  }
}

TEST(Inference, CountsTheEdgesThatWereComputed) {
  for (const char* variant : {"cpu_openmp", "cpu_reference"}) {
    InferenceSpec spec;
    spec.variant = variant;
    spec.passes = parse_passes("dead");
    EXPECT_EQ(report_of(spec).computed_edges, 3 * 8 + 2 * 8) << variant;
    spec.batch = 1;
    EXPECT_EQ(report_of(spec).computed_edges, 3 * 8 + 2 * 8) << variant;
    spec.passes = {};
    EXPECT_EQ(report_of(spec).computed_edges, 3 * 8 + 3 * 8) << variant;
  }
}

/// Whichever of the passes lets images go, the images after each layer are those that an engine counted.
TEST(Inference, CountsTheEdgesOfImagesThatWereStillThere) {
  Plan plan = make_plan(two_layers(), {});
  const auto first = static_cast<double>(plan.shape(0).edges);
  const auto second = static_cast<double>(plan.shape(1).edges);
  const Outcome counted{.categories = {}, .alive = {}, .active = {2, 1}, .borderline = {}};
  const Outcome unknown{.categories = {}, .alive = {}, .active = {-1, 1}, .borderline = {}};
  EXPECT_EQ(computed_edges(plan, counted, 7), 7 * (first + second)) << "all images, without any pass";
  EXPECT_EQ(computed_edges(plan, unknown, 7), 7 * (first + second));
  for (const char* const pass : {"dead", "saturated", "identical"}) {
    plan.passes = parse_passes(pass);
    EXPECT_EQ(computed_edges(plan, counted, 7), 7 * first + 2 * second) << pass;
    EXPECT_EQ(computed_edges(plan, unknown, 7), std::nullopt) << pass;
  }
}

TEST(Inference, TellsHowManyLayersAreDone) {
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.trials = 2;
  std::vector<std::string> works;
  std::uint64_t total = 0;
  spec.progress = [&](const ProgressUpdate& update) { works.emplace_back(update.work), total = update.total; };
  report_of(spec);
  ASSERT_FALSE(works.empty());
  EXPECT_EQ(works.back(), "infer");
  EXPECT_EQ(total, 4U) << "two layers in two trials";
}

/// The name of a file is that of the network in errors, and whether its plan was used is said.
TEST(Inference, OfAFileNamesItAndSaysWhetherItsPlanIsUsed) {
  const TemporaryDirectory directory;
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.passes = parse_passes("dead");
  spec.network.path = (directory / "n.spdnn").string();
  spec.images.path = (directory / "i.spdnn").string();
  Network network = two_layers();
  write_images(spec.images.path, four_images());
  const auto notes = [&](bool with_plan) {
    if (with_plan) {
      Plan plan = make_plan(network, spec.passes);
      plan.set_network_digest(network_digest(network));
      write_network_with_plan(spec.network.path, network, plan);
    } else {
      write_network(spec.network.path, Form::packed, network);
    }
    Inference inference(spec);
    inference.load();
    inference.plan();
    inference.run();
    const std::vector<std::string>& all = inference.report().notes;
    EXPECT_GT(inference.report().seconds.read, 0);
    return std::count(all.begin(), all.end(), "the plan was stored with the network");
  };
  EXPECT_EQ(notes(false), 0);
  EXPECT_EQ(notes(true), 1);
  network.layers[1].bias.uniform = -1e39;
  write_network(spec.network.path, Form::packed, network);
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              Inference inference(spec);
              inference.load();
              inference.plan();
              inference.run();
            }),
            "precision: " + spec.network.path + ": layer 2: a bias of -1e+39 is beyond fp32; expected fp64");
}

TEST(Inference, WhereNoCheckpointCanBeWrittenIsRefusedAtOnce) {
  const TemporaryDirectory directory;
  InferenceSpec spec;
  spec.checkpoint = (directory / "none" / "c.json").string();
  EXPECT_THROW(Inference{spec}, Error);
  spec.checkpoint = (directory / "c.json").string();
  EXPECT_NO_THROW(Inference{spec});
}

TEST(Inference, IsUnverifiedUntilItIsAskedFor) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  Inference inference(spec);
  EXPECT_THROW(inference.plan(), std::logic_error);
  EXPECT_THROW(inference.run(), std::logic_error);
  inference.load(two_layers(), four_images());
  inference.plan();
  EXPECT_THROW(inference.verify(), std::logic_error);
  inference.run();
  EXPECT_EQ(inference.report().verdict.status, Verdict::Status::unverified);
  EXPECT_EQ(inference.report().verdict.against, "nothing: verification was not requested");
}

TEST(Inference, RefusesWhatDoesNotFitTogether) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  Inference inference(spec);
  EXPECT_THROW(inference.load(two_layers(), make_image_set(make_csr(1, 5, {0, 1}, {4}))), std::invalid_argument);
  EXPECT_THROW(inference.load(two_layers(), {make_csr(1, 4, {0, 1}, {4})}), std::invalid_argument);
  Network broken = two_layers();
  broken.cap = -1.0;
  EXPECT_THROW(inference.load(broken, four_images()), std::invalid_argument);
}

TEST(Inference, LoadsOnce) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  Inference inference(spec);
  inference.load(two_layers(), four_images());
  EXPECT_THROW(inference.load(two_layers(), four_images()), std::logic_error);
  EXPECT_THROW(inference.load(), std::logic_error);
  inference.plan();
  inference.run();
  EXPECT_EQ(inference.report().outcome.categories, (Categories{0, 2})) << "as loaded the first time";
}

TEST(Inference, OfAPlannedNetworkDoesNotPlanAgain) {
  const PlannedNetwork planned(two_layers(), parse_passes("twins,dead"));
  EXPECT_EQ(to_string(planned.passes()), "twins,dead");
  EXPECT_EQ(planned.stored_edges(), 16U);
  EXPECT_EQ(planned.describe().size(), 2U);
  for (int time = 0; time < 2; ++time) {
    InferenceSpec spec;
    spec.device = Device::cpu;
    spec.truth.everything = true;
    spec.compare = true;
    Inference inference(spec);
    inference.load(planned, four_images());
    inference.plan();
    inference.run();
    inference.verify();
    EXPECT_EQ(inference.report().outcome.categories, (Categories{0, 2}));
    EXPECT_EQ(inference.report().verdict.status, Verdict::Status::passed);
    EXPECT_EQ(to_string(inference.report().passes), "twins,dead") << "the plan's, not the specification's";
    EXPECT_EQ(inference.report().seconds.plan, 0.0);
    EXPECT_GT(inference.report().seconds.read, 0.0);
  }
  Network broken = two_layers();
  broken.cap = -1.0;
  EXPECT_THROW(PlannedNetwork(broken, kExactPasses), std::invalid_argument);
}

/// Of all neurons twins are left alone, which the pass dead keeps.
TEST(Inference, OfWhichTheRunToCompareWithDoesNotFitEndsBeforeItBegins) {
  Network network;
  network.layers.assign(2, testing::make_layer(256, testing::Rows(256, {{0, 1.F}, {1, 2.F}}), -1));
  const ImageSet images{testing::make_matrix(256, testing::Rows(4, {{0, 1.F}}))};
  const std::size_t unreduced = make_plan(network, parse_passes("dead")).bytes();
  ASSERT_GT(unreduced, make_plan(network, kExactPasses).bytes());
  InferenceSpec spec;
  spec.variant = "cpu_reference";
  spec.threads = 1;
  for (const bool fits : {false, true}) {
    spec.host_memory = unreduced + images.bytes() + (fits ? 1U << 20U : 1U);
    for (const bool compare : {false, true}) {
      spec.compare = compare;
      Inference inference(spec);
      inference.load(network, images);
      inference.plan();
      if (compare && !fits)
        EXPECT_THROW(inference.run(), DeviceError);
      else
        inference.run();
    }
  }
}

TEST(Inference, TakesAListForTheTruth) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  spec.truth.list = Categories{0, 2};
  EXPECT_EQ(report_of(spec).verdict.status, Verdict::Status::passed);
  spec.truth.list = Categories{0};
  EXPECT_EQ(report_of(spec).verdict.extra, 1U);
  spec.truth.path = "truth.tsv";
  EXPECT_THROW(report_of(spec), UsageError) << "two truths";
}

TEST(Inference, IsCancelledWhereverItIs) {
  for (const char* variant : {"cpu_openmp", "cpu_reference"}) {
    int questions = 0;
    InferenceSpec spec;
    spec.variant = variant;
    spec.threads = 1;
    spec.cancelled = [&] { return ++questions < 0; };
    EXPECT_EQ(report_of(spec).outcome.categories, (Categories{0, 2})) << variant;
    const int of_the_run = questions;
    EXPECT_GE(of_the_run, 3) << variant << ": before the run, and in both layers";
    spec.truth.everything = true;  // by several threads, of which one asks at least once
    for (int last = 1; last <= of_the_run + 1; ++last) {
      questions = 0;
      spec.cancelled = [&] { return ++questions >= last; };
      EXPECT_THROW(report_of(spec), Cancelled) << variant << " at question " << last;
      EXPECT_EQ(questions, last);
    }
  }
}

/// The field of a specification that is refused; empty if it is not.
std::string refused_field(void (*change)(InferenceSpec&)) {
  InferenceSpec spec;
  spec.device = Device::cpu;
  spec.checkpoint = "not_written";
  change(spec);
  try {
    report_of(spec);
  } catch (const UsageError& error) {
    return error.field();
  }
  return {};
}

TEST(Inference, RefusesSettingsThatContradictOneAnother) {
  using S = InferenceSpec;
  EXPECT_EQ(refused_field([](S& spec) { spec.trials = 2; }), "checkpoint");
  EXPECT_EQ(refused_field([](S& spec) { spec.warm_up = 1; }), "checkpoint");
  EXPECT_EQ(refused_field([](S& spec) { spec.deal = Deal::counter; }), "deal");
  EXPECT_EQ(refused_field([](S& spec) { spec.activations = true; }), "activations");
  EXPECT_EQ(refused_field([](S& spec) { spec.max_time = -1; }), "max_time");
  EXPECT_EQ(refused_field([](S& spec) { spec.max_time = std::nan(""); }), "max_time");
  EXPECT_EQ(refused_field([](S& spec) { spec.checkpoint_every = 0; }), "checkpoint_every");
  EXPECT_EQ(refused_field([](S& spec) { spec.checkpoint_every = std::nan(""); }), "checkpoint_every");
  const auto without = [](void (*change)(S&)) {
    S spec;
    spec.device = Device::cpu;
    change(spec);
    try {
      return report_of(spec).outcome.categories.size() == 2 ? std::string() : "other categories";
    } catch (const UsageError& error) {
      return error.field();
    }
  };
  EXPECT_EQ(without([](S& spec) { spec.max_time = 1; }), "max_time");
  EXPECT_EQ(without([](S& spec) { spec.trials = 2, spec.warm_up = 1; }), "");
  EXPECT_EQ(without([](S& spec) { spec.deal = Deal::counter; }), "");
  EXPECT_EQ(without([](S& spec) { spec.trials = 0; }), "trials");
  EXPECT_EQ(without([](S& spec) { spec.warm_up = -1; }), "warm_up");
  EXPECT_EQ(without([](S& spec) { spec.activations = true, spec.passes = parse_passes("merge"); }), "activations");
}

/// The errors that the command line shows as those of its options.
TEST(Inference, NamesTheFieldThatAnErrorIsAbout) {
  InferenceSpec spec;
  spec.trials = 0;
  try {
    const Inference none(spec);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.field(), "trials");
  }
  spec.trials = 1;
  spec.variant = "cpu_openmp";
  spec.precision = Precision::fp16;
  try {
    report_of(spec);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.field(), "precision");
    EXPECT_STREQ(error.what(), "precision: cpu_openmp does not compute in 'fp16', but in fp32 or fp64");
  }
}

}  // namespace
}  // namespace spdnn

// Every variant of this build, in each of its precisions, against the oracle. (fp16 and tf32 round more than the
// oracle; tests/gpu/resident_fp16_test.cpp and dense_precision_test.cpp test these.)

#include "support/battery.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <string_view>

#include "spdnn/error.hpp"

namespace spdnn {
namespace {

using testing::Case;
using testing::MakeEngine;

const std::vector<Case>& cases() {
  static const std::vector<Case> all = testing::battery();
  return all;
}

const testing::Truth& truth_of(std::size_t number) {
  static std::vector<std::unique_ptr<testing::Truth>> truths(cases().size());
  if (!truths[number]) truths[number] = std::make_unique<testing::Truth>(testing::oracle(cases()[number]));
  return *truths[number];
}

using testing::Configuration;

std::vector<Configuration> configurations() {
  return testing::configurations_that([](const Variant&, Precision precision) { return !below_fp32(precision); });
}

double tolerance_of(Precision precision) { return precision == Precision::fp64 ? 1e-12 : 2e-5; }

struct Run {
  std::string_view passes;
  int threads;
};
constexpr std::string_view kAll = "dead,saturated,identical";
constexpr std::array<Run, 6> kRuns{{{"none", 1}, {"dead", 2}, {"identical", 3}, {kAll, 1}, {kAll, 2}, {kAll, 3}}};

using Parameter = std::tuple<std::size_t, std::size_t>;  // configuration, case

std::string battery_name(const ::testing::TestParamInfo<Parameter>& test) {
  const Configuration c = configurations()[std::get<0>(test.param)];
  return std::string(c.variant->name) + "_" + std::string(to_string(c.precision)) + "_" +
         cases()[std::get<1>(test.param)].name;
}

class Battery : public ::testing::TestWithParam<Parameter> {};

TEST_P(Battery, AgreesWithTheOracle) {
  const Configuration configuration = configurations()[std::get<0>(GetParam())];
  const Case& c = cases()[std::get<1>(GetParam())];
  const testing::Truth& truth = truth_of(std::get<1>(GetParam()));
  const Support support = support_of(*configuration.variant, testing::unreduced_plan(c.network), batch_info(c.images),
                                     {.precision = configuration.precision});
  if (!support.takes()) return;  // counted below
  try {
    for (const auto& [passes, threads] : kRuns)
      EXPECT_EQ(testing::difference(truth, c, configuration.variant->make, parse_passes(passes),
                                    {.precision = configuration.precision, .threads = threads},
                                    tolerance_of(configuration.precision)),
                "")
          << "passes " << passes << ", " << threads << " threads";
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Battery,
                         ::testing::Combine(::testing::Range<std::size_t>(0, configurations().size()),
                                            ::testing::Range<std::size_t>(0, cases().size())),
                         battery_name);

TEST(BatteryCoverage, SaysWhatIsRefused) {
  for (const auto& [variant, precision] : configurations()) {
    const testing::BatteryCount count = testing::run_battery(*variant, precision, cases(), [](const Case&) {});
    if (!count.refused.empty())
      std::cout << "*** " << variant->name << " in " << to_string(precision) << " takes " << count.taken << " of "
                << cases().size() << " cases and refuses\n";
    for (const std::string& refused : count.refused) std::cout << "***   " << refused << '\n';
    EXPECT_GT(count.taken, 0) << variant->name << " is not tested";
    if (variant->device == Device::cpu) {
      EXPECT_TRUE(count.refused.empty()) << variant->name;
    }
  }
}

/// An engine that runs another plan than the given one.
class Mutant final : public InspectableEngine {
 public:
  explicit Mutant(const Plan& spoiled) : engine_(testing::oracle_engine(spoiled, 1)) {}
  void load(const ImageSet& images) override { engine_->load(images); }
  void reset() override { engine_->reset(); }
  Index advance(Index first, Index until) override { return engine_->advance(first, until); }
  Outcome outcome() override { return engine_->outcome(); }
  std::vector<double> activations() override { return engine_->activations(); }

 private:
  std::unique_ptr<InspectableEngine> engine_;
};

/// The layer without the last term of each row.
void drop_last_terms(Plan& plan) {
  for (Layer& layer : plan.layers) {
    testing::Rows rows(layer.outputs());
    for (Index j = 0; j < layer.outputs(); ++j)
      for (Offset k = layer.weights.offsets[j]; k + 1 < layer.weights.offsets[j + 1]; ++k)
        rows[j].emplace_back(layer.weights.indices[k], layer.weights.entry_value(k));
    layer.weights = testing::make_matrix(layer.inputs(), rows);
  }
}

void change_bias(Plan& plan) {
  for (Layer& layer : plan.layers) layer.bias.uniform += 1e-3;
}

void forget_bias_of_neurons(Plan& plan) {
  for (Layer& layer : plan.layers) layer.bias.values = {};
}

void turn_rule(Plan& plan) {
  plan.bias_rule = plan.bias_rule == BiasRule::everywhere ? BiasRule::non_zeros : BiasRule::everywhere;
}

TEST(BatteryMutants, AreCaught) {
  struct Spoiled {
    std::string name;
    std::function<void(Plan&)> spoil;
  };
  const std::vector<Spoiled> mutants = {
      {"drops the last term of every sum", drop_last_terms},
      {"adds another bias", change_bias},
      {"takes one bias for all neurons", forget_bias_of_neurons},
      {"adds the bias by the other rule", turn_rule},
      {"forgets the cap", [](Plan& plan) { plan.cap.reset(); }},
      {"settles images at the cap too early",
       [](Plan& plan) {
         plan.passes.saturated = plan.cap.has_value();
         plan.certificates.saturated_from = 0;
       }},
      {"settles dead images where a bias revives them",
       [](Plan& plan) {
         plan.passes.dead = true;
         plan.certificates.dead_from = 0;
       }},
  };
  for (const auto& mutant : mutants) {
    const MakeEngine make = [&](const std::shared_ptr<const Plan>& plan, const BatchInfo&, const EngineOptions&) {
      Plan spoiled = *plan;
      mutant.spoil(spoiled);
      return std::make_unique<Mutant>(spoiled);
    };
    int caught = 0;
    for (std::size_t i = 0; i < cases().size(); ++i)
      caught += testing::difference(truth_of(i), cases()[i], make, {}, {Precision::fp64, 1}, 1e-12).empty() ? 0 : 1;
    EXPECT_GT(caught, 0) << "no case catches an engine that " << mutant.name;
  }
}

}  // namespace
}  // namespace spdnn

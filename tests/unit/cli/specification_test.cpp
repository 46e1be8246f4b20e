// Options of the command line become the fields of a specification, each its own.

#include "cli/specification.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::cli {
namespace {

/// The values of these options; empty texts are those of switches.
po::variables_map options_given(const std::map<std::string, std::string>& options) {
  po::variables_map values;
  for (const auto& [name, text] : options) values.insert({name, po::variable_value(boost::any(text), false)});
  return values;
}

std::string refused_spec(const std::map<std::string, std::string>& options) {
  return testing::message_of<UsageError>([&] { network_spec(options_given(options)); });
}

TEST(Specification, OfANetworkHasEachOfItsOptions) {
  const NetworkSpec spec = network_spec(options_given({{"network", "n"},
                                                       {"neurons", "4,3,2"},
                                                       {"layers", "2"},
                                                       {"bias", "-0.25"},
                                                       {"bias-rule", "everywhere"},
                                                       {"cap", "16"},
                                                       {"allow-missing-newline", ""}}));
  EXPECT_EQ(spec.path, "n");
  EXPECT_EQ(spec.neurons, (std::vector<Index>{4, 3, 2}));
  EXPECT_EQ(spec.layers, 2U);
  EXPECT_EQ(spec.bias, -0.25);
  EXPECT_EQ(spec.bias_rule, BiasRule::everywhere);
  ASSERT_TRUE(spec.cap);
  EXPECT_EQ(spec.cap->value, 16);
  EXPECT_TRUE(spec.allow_missing_newline);
  const NetworkSpec none = network_spec(options_given({{"network", "n"}}));
  EXPECT_TRUE(none.neurons.empty());
  EXPECT_FALSE(none.layers || none.bias || none.bias_rule || none.cap || none.allow_missing_newline);
}

TEST(Specification, OfAnOfficialNetworkHasNoParametersOfItsOwn) {
  EXPECT_EQ(network_spec(options_given({{"generate", "official"}, {"neurons", "1024"}, {"layers", "120"}})).layers,
            120U);
  const std::string either = "give either --network PATH or --generate official; for models, --model MODEL";
  EXPECT_EQ(refused_spec({}), either);
  EXPECT_EQ(refused_spec({{"network", "n"}, {"generate", "official"}}), either);
  EXPECT_EQ(refused_spec({{"generate", "other"}}), "--generate: 'other' is unknown; expected official");
  const std::string needs = "--generate official needs --neurons and --layers";
  EXPECT_EQ(refused_spec({{"generate", "official"}, {"neurons", "1024"}}), needs);
  EXPECT_EQ(refused_spec({{"generate", "official"}, {"layers", "2"}}), needs);
  for (const char* const option : {"bias", "cap", "allow-missing-newline"})
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, std::string("--") + option,
                        refused_spec({{"generate", "official"}, {"neurons", "1024"}, {"layers", "2"}, {option, "1"}}));
}

TEST(Specification, OfImagesHasOneFileOrTheOfficialOnes) {
  using Files = std::vector<std::string>;
  const auto spec = [](const Files& files, const std::map<std::string, std::string>& options) {
    po::variables_map values = options_given(options);
    if (!files.empty()) values.insert({"inputs", po::variable_value(boost::any(files), false)});
    return image_spec(values);
  };
  EXPECT_EQ(spec({"i.tsv"}, {}).path, "i.tsv");
  EXPECT_EQ(spec({"i.tsv"}, {{"images", "7"}}).images, 7U);
  EXPECT_EQ(spec({}, {{"mnist", "train.gz"}}).mnist, "train.gz");
  const auto refused = [&](const Files& files, const std::map<std::string, std::string>& options) {
    return testing::message_of<UsageError>([&] { spec(files, options); });
  };
  EXPECT_EQ(refused({"i.tsv", "j.tsv"}, {}), "--inputs: expected one file; several are images of a model (--model)");
  EXPECT_EQ(refused({}, {}), "give either --inputs PATH or --mnist IDX");
  EXPECT_EQ(refused({"i.tsv"}, {{"mnist", "train.gz"}}), "give either --inputs PATH or --mnist IDX");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--images", refused({}, {{"mnist", "train.gz"}, {"images", "7"}}));
}

TEST(Specification, OfARunHasEachOfItsOptions) {
  InferenceSpec spec;
  fill_run(options_given({{"precision", "fp64"},
                          {"trials", "3"},
                          {"warm-up", "2"},
                          {"batch", "5"},
                          {"host-memory", "4096b"},
                          {"share-devices", ""},
                          {"device-state", ""},
                          {"compare", ""}}),
           spec);
  EXPECT_EQ(spec.precision, Precision::fp64);
  EXPECT_EQ(spec.trials, 3);
  EXPECT_EQ(spec.warm_up, 2);
  EXPECT_EQ(spec.batch, 5U);
  EXPECT_EQ(spec.host_memory, 4096U);
  EXPECT_TRUE(spec.share_devices && spec.device_state && spec.compare);
  InferenceSpec usual;
  fill_run(options_given({{"trials", "1"}, {"warm-up", "0"}, {"batch", "auto"}, {"host-memory", "auto"}}), usual);
  EXPECT_FALSE(usual.precision || usual.share_devices || usual.device_state || usual.compare);
  EXPECT_EQ(usual.batch + usual.host_memory, 0U);
  TruthSpec truth;
  fill_sample(options_given({{"verify", "4"}}), truth);
  EXPECT_EQ(truth.sample, 4U);
  EXPECT_FALSE(truth.everything);
  fill_sample(options_given({{"verify", "all"}}), truth);
  EXPECT_TRUE(truth.everything);
}

TEST(Specification, OfAnEngineHasEachOfItsOptions) {
  InferenceSpec spec;
  fill_engine(options_given({{"reduce", "twins,dead"},
                             {"plan-device", "cuda"},
                             {"variant", "cpu_openmp"},
                             {"device", "cpu"},
                             {"threads", "3"},
                             {"progress", "never"}}),
              spec);
  EXPECT_EQ(spec.passes, parse_passes("twins,dead"));
  EXPECT_EQ(spec.plan_device, Device::cuda);
  EXPECT_EQ(spec.variant, "cpu_openmp");
  EXPECT_EQ(spec.device, Device::cpu);
  EXPECT_EQ(spec.threads, 3);
  EXPECT_FALSE(spec.progress);
  InferenceSpec usual;
  fill_engine(options_given({{"reduce", "all"}, {"variant", "auto"}, {"progress", "auto"}}), usual);
  EXPECT_EQ(usual.passes, kExactPasses);
  EXPECT_EQ(usual.variant, "");
  EXPECT_FALSE(usual.device || usual.plan_device);
  EXPECT_EQ(usual.threads, 0);
  const auto refused = [](const char* option, const char* value) {
    std::map<std::string, std::string> options{{"reduce", "all"}, {"variant", "auto"}, {"progress", "auto"}};
    options[option] = value;
    return testing::message_of<UsageError>([&] {
      InferenceSpec refused_spec;
      fill_engine(options_given(options), refused_spec);
    });
  };
  EXPECT_EQ(refused("progress", "always"), "--progress: 'always' is neither auto nor never");
  EXPECT_EQ(refused("threads", "0").find("--threads: 0 is outside 1.."), 0U);
  EXPECT_EQ(refused("plan-device", "tpu"), "--plan-device: 'tpu' is neither auto, cpu nor cuda");
}

TEST(Specification, DevicesAreNamedOrAnyIsTaken) {
  const auto device = [](const char* text) { return device_of(options_given({{"device", text}}), "device"); };
  EXPECT_EQ(device_of({}, "device"), std::nullopt);
  EXPECT_EQ(device("auto"), std::nullopt);
  EXPECT_EQ(device("cpu"), Device::cpu);
  EXPECT_EQ(device("cuda"), Device::cuda);
  const auto refused = [&](const char* text) { return testing::message_of<UsageError>([&] { device(text); }); };
  EXPECT_EQ(refused("tpu"), "--device: 'tpu' is neither auto, cpu nor cuda");
  EXPECT_EQ(refused("GPU"), "--device: 'GPU' is neither auto, cpu nor cuda; did you mean cuda?");
}

TEST(Specification, TheFormOfANetworkFollowsFromItsName) {
  using Form = spdnn::Form;
  EXPECT_EQ(network_form("n.spdnn", {}), Form::packed);
  EXPECT_EQ(network_form("n", {}), Form::tsv);
  EXPECT_EQ(network_form("n", "tsv"), Form::tsv);
  EXPECT_EQ(network_form("n", "tsv.gz"), Form::tsv_gz);
  EXPECT_EQ(network_form("n", "mtx"), Form::matrix_market);
  EXPECT_EQ(network_form("n", "packed"), Form::packed);
  EXPECT_EQ(network_form("n.spdnn", "packed"), Form::packed);
  for (const char* const file : {"n.tsv", "n.tsv.gz", "n.mtx", "n.mtx.gz"})
    EXPECT_EQ(testing::message_of<UsageError>([&] { network_form(file, {}); }),
              std::string("OUT ") + file + ": a network goes into a directory or a .spdnn file");
  EXPECT_EQ(testing::message_of<UsageError>([] { network_form("n.spdnn", "tsv"); }),
            "--form tsv cannot be used with OUT n.spdnn");
  EXPECT_EQ(testing::message_of<UsageError>([] { network_form(".", "packed"); }),
            "--form packed cannot be used with OUT .")
      << "a directory";
}

}  // namespace
}  // namespace spdnn::cli

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/packed_samples.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Bytes;
using testing::expect_equal;
using testing::small_merged_plan;
using testing::small_plan;
using testing::stored_network;

TEST(Packed, PlanRoundTrip) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  Network network = stored_network();
  for (const Plan& plan : {small_plan(network), small_merged_plan(network)}) {
    write_network_with_plan(path, network, plan);
    expect_equal(read_plan(path), plan);
    expect_equal(read_packed_network(path, {}).network, network);
    write_packed(path, {.plan = &plan});
    expect_equal(read_plan(path), plan);
  }
  network.bias_rule = BiasRule::everywhere;
  Plan plan = small_plan(network);
  plan.certificates.dead_from = 3;
  write_network_with_plan(path, network, plan);
  expect_equal(read_plan(path), plan);
}

TEST(Packed, APlanMayHaveNoLayers) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network;
  Plan plan;
  plan.cap = network.cap;
  plan.provenance.given_neurons = {0};
  plan.provenance.network_digest = network_digest(network);
  write_network_with_plan(path, network, plan);
  expect_equal(read_plan(path), plan);
}

TEST(Packed, APlanHoldsWhatItsPassesNeed) {
  const Plan merged = small_merged_plan(stored_network());
  check_plan(merged);
  const auto refuses = [&](const std::function<void(Plan&)>& change) {
    Plan plan = merged;
    change(plan);
    EXPECT_THROW(check_plan(plan), std::invalid_argument);
  };
  refuses([](Plan& plan) { plan.fallback->in_order.reset(); });
  refuses([](Plan& plan) { plan.fallback->error_bounds.clear(); });
  refuses([&](Plan& plan) { plan.fallback->in_order = std::make_shared<Plan>(merged); });
  refuses([](Plan& plan) {
    plan.passes.saturated = true;
    plan.cap.reset();
  });
}

TEST(Packed, AnotherNetworksPlanIsRefused) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network = stored_network();
  Plan plan = small_plan(network);
  plan.provenance.network_digest ^= 1;
  EXPECT_EQ(testing::message_of<DataError>([&] { write_network_with_plan(path, network, plan); }),
            path.string() + ": cannot write: the plan was made for another network");
  EXPECT_FALSE(std::filesystem::exists(path));

  plan.provenance.network_digest ^= 1;
  Bytes file({.network = &network, .plan = &plan});
  file.patch(offsetof(packed::Header, network_digest), plan.provenance.network_digest ^ 1);
  packed::seal(file.bytes);
  EXPECT_NE(
      testing::message_of<DataError>([&] { load_plan(file.open()); }).find("its plan was made for another network"),
      std::string::npos);
}

/// The error of a plan that was changed in memory and put into a file with right checksums.
std::string error_of_plan(const std::function<void(Plan&)>& change, bool merged) {
  const Network network = stored_network();
  Plan plan = merged ? small_merged_plan(network) : small_plan(network);
  change(plan);
  const TemporaryDirectory directory;
  return testing::message_of<DataError>(
      [&] { write_packed(directory / "p.spdnn", {.network = &network, .plan = &plan}); });
}

TEST(Packed, APlanWithMergeHasBoundsAndAPlanInOrder) {
  const auto error = [](const std::function<void(Plan&)>& change, bool merged = true) {
    const std::string text = error_of_plan(change, merged);
    return text.substr(text.rfind(": ") == std::string::npos ? 0 : text.find("cannot write: "));
  };
  const auto in_order = [](Plan& plan, const std::function<void(Plan&)>& change) {
    Plan other = *plan.fallback->in_order;
    change(other);
    plan.fallback->in_order = std::make_shared<Plan>(other);
  };
  EXPECT_EQ(error([](Plan&) {}), "no error");
  EXPECT_EQ(error([](Plan& p) { p.fallback->in_order = nullptr; }),
            "cannot write: the pass merge is in effect, expected an in-order plan");
  EXPECT_EQ(error([](Plan& p) { p.fallback->error_bounds.clear(); }),
            "cannot write: expected one error bound for each layer");
  EXPECT_EQ(error(
                [](Plan& p) {
                  p.fallback = Fallback{{0.0}, nullptr};
                },
                false),
            "cannot write: error bounds or an in-order plan without the pass merge");
  EXPECT_EQ(error([](Plan& p) { p.passes.merge = false; }),
            "cannot write: error bounds or an in-order plan without the pass merge");
  for (const std::function<void(Plan&)>& change : std::vector<std::function<void(Plan&)>>{
           [](Plan& o) { o.provenance.given_edges = 1; }, [](Plan& o) { o.provenance.given_neurons.back() += 1; },
           [](Plan& o) { ++o.provenance.network_digest; }, [](Plan& o) { o.cap = 31; },
           [](Plan& o) { o.bias_rule = BiasRule::everywhere; }})
    EXPECT_EQ(error([&](Plan& p) { in_order(p, change); }),
              "cannot write: its in-order plan belongs to another network");
  for (const std::function<void(Plan&)>& change : std::vector<std::function<void(Plan&)>>{
           [](Plan& o) { o.passes.merge = true; }, [](Plan& o) { o.passes.twins = !o.passes.twins; }})
    EXPECT_EQ(error([&](Plan& p) { in_order(p, change); }), "cannot write: its in-order plan has different passes");
  for (const double bound : {-1e-9, std::nan("")})
    EXPECT_EQ(error([&](Plan& p) { p.fallback->error_bounds[1] = bound; }),
              "cannot write: an error bound is negative or not a number");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers[0].bias.uniform = 0; }); }),
            "cannot write: layer 1: its in-order plan has different biases");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers[1].bias.values = Array<double>({0.3}); }); }),
            "cannot write: layer 2: its in-order plan has different biases");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers.pop_back(); }); }),
            "cannot write: layer 3: missing in its in-order plan");
  for (const bool merged : {false, true}) {
    EXPECT_EQ(error(
                  [](Plan& p) {
                    p.expansion[0] = Array<Index>({0, 1, 2});
                  },
                  merged),
              "cannot write: layer 1: an expansion of 3 neurons, expected 4");
    EXPECT_EQ(error(
                  [](Plan& p) {
                    p.expansion[0] = Array<Index>({0, 1, 2, 0, 1});
                  },
                  merged),
              "cannot write: layer 1: an expansion of 5 neurons, expected 4");
    EXPECT_EQ(error([](Plan& p) { p.expansion[1] = Array<Index>(); }, merged),
              "cannot write: layer 2: its expansion is missing");
  }
  EXPECT_EQ(error([](Plan& p) { p.provenance.given_neurons.back() = 0; }, false),
            "cannot write: a layer of no neurons");
  EXPECT_EQ(error(
                [](Plan& p) {
                  p.passes.saturated = true;
                  p.cap.reset();
                },
                false),
            "cannot write: images are retired at a cap, but it has no cap");
}

TEST(Packed, CertificatesOfAPlanAreLookedInto) {
  EXPECT_NE(error_of_plan([](Plan& p) { p.certificates.saturated_from = 0; }, false)
                .find("at the cap are certified to stay there from too early"),
            std::string::npos);
  EXPECT_NE(error_of_plan([](Plan& p) { p.certificates.saturated_from = 0, p.cap.reset(); }, false)
                .find("a cap that cannot be"),
            std::string::npos);
  EXPECT_NE(error_of_plan([](Plan& p) { p.bias_rule = BiasRule::everywhere; }, false).find("stay zero from too early"),
            std::string::npos);
}

TEST(Packed, APlansNumbersAreThoseOfItsNetwork) {
  const Network network = stored_network();
  Plan plan = small_plan(network);
  plan.provenance.given_edges = 4711;
  Bytes file({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }),
            "f.spdnn: its plan is for 4711 edges, expected the network's 12");
  file.patch(offsetof(packed::Header, edges), Offset{4711});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }), "no error");
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: its header does not match the layers or edges of its network");

  plan = small_plan(network);
  plan.cap = 31.0;
  const Bytes capped({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(capped.open()); }),
            "f.spdnn: its plan has a different bias rule or cap from its network");
  plan = small_plan(network);
  plan.provenance.given_neurons[2] = 3;
  plan.expansion[1] = Array<Index>({kAlwaysZero, 0, 0});
  const Bytes wider({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(wider.open()); }),
            "f.spdnn: its plan has different numbers of neurons from its network");
}

TEST(Packed, APlanInOrderWithoutErrorBoundsIsRefused) {
  const Network network = stored_network();
  const Plan plan = small_merged_plan(network);
  Bytes file({.network = &network, .plan = &plan});
  const PackedFile whole = file.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::plan, "plan")).offset;
  file.patch(record + offsetof(packed::ChainRecord, error_bounds), packed::kNone);
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }),
            "f.spdnn: is corrupted: its plan: expected one error bound for each layer");
}

}  // namespace
}  // namespace spdnn

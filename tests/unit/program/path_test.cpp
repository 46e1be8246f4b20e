// The cheapest path against all programs that the kernels can make of a model, with drawn prices.

#include "program/path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "model/graph/magnitudes.hpp"
#include "program/compile.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using program::Choice;
using program::CompileOptions;
using program::Layout;
using program::Offer;
using program::Order;
using program::Request;
using testing::ModelBuilder;

/// The prices of one model, drawn when they are first asked for.
class Prices {
 public:
  explicit Prices(std::uint32_t seed) : dice_(seed) {}
  double of(const std::string& what, double least, double most) {
    return all_.try_emplace(what, dice_.real(least, most)).first->second;
  }

 private:
  testing::Rng dice_;
  std::map<std::string, double> all_;
};

/// Computes nodes of any kind in one layout, with or without those that follow, and changes layouts.
class OfOneLayout final : public program::Kernel {
 public:
  OfOneLayout(std::string name, Order order, Prices& prices) : name_(std::move(name)), order_(order), prices_(prices) {}
  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> all;
    for (const bool fused : {false, true}) {
      if (fused && request.step.fused.empty()) continue;
      Offer& offer = all.emplace_back(free_offer());
      offer.inputs.assign(fused ? request.inputs.size() : request.own_inputs(), {order_});
      offer.output = {order_};
      offer.fused = fused;
      offer.seconds = prices_.of(name_ + std::to_string(request.step.node) + (fused ? "+" : ""), 0.1, 3);
    }
    return all;
  }
  Offer change(const program::Change& change) const override {
    Offer offer = free_offer();
    offer.seconds = prices_.of(text(change.from) + text(change.to) + std::to_string(change.shape.size()), 0.05, 1);
    return offer;
  }

 private:
  static Offer free_offer() {
    Offer offer;
    offer.bind = [] { return program::bound([](const program::Operands&) {}); };
    return offer;
  }

  std::string name_;
  Order order_;
  Prices& prices_;
};

/// A chain in which convolutions have functions to be fused, three values are outputs, and one node is a view; with
/// `shortcut`, an early value is added at the end.
Model priced_model(bool shortcut) {
  testing::Rng rng(5);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 5, 4, 6});
  const auto convolve = [&](ValueId value) {
    return builder.add(testing::random_convolution(rng, 5, 5, {}, 0.5), {value});
  };
  const ValueId early = builder.add(Activation{}, {convolve(x)});
  const ValueId seen = builder.add(testing::make_activation(Activation::Kind::tanh), {early});
  const ValueId viewed = builder.add(Reshape{{kBatchExtent, 5, 6, 4}}, {seen});
  ValueId last = builder.add(Activation{}, {convolve(viewed)});
  last = builder.add(testing::make_activation(Activation::Kind::sigmoid), {last});
  if (shortcut) {
    const ValueId back = builder.add(Reshape{{kBatchExtent, 5, 4, 6}}, {last});
    last = builder.add(Elementwise{}, {early, back});
  }
  return builder.finish({last, seen, early});
}

/// The least seconds of all programs: each is made by a list of choices, and the lists are gone through like numbers.
double least_of_all(const Model& model, const Magnitudes& magnitudes, CompileOptions options) {
  std::vector<std::size_t> picks;
  std::vector<std::size_t> counts;
  options.chooser = [&, kernels = options.kernels](const Request& request) {
    std::vector<Choice> all;
    for (const program::Kernel* const kernel : kernels)
      for (Offer& offer : kernel->offers(request)) all.push_back({.kernel = kernel, .offer = std::move(offer)});
    counts.push_back(all.size());
    if (picks.size() < counts.size()) picks.push_back(0);
    return std::move(all[picks[counts.size() - 1]]);
  };
  double least = std::numeric_limits<double>::infinity();
  while (true) {
    counts.clear();
    least = std::min(least, compile(model, magnitudes, 2, options).seconds());
    picks.resize(counts.size());
    while (!picks.empty() && picks.back() + 1 == counts[picks.size() - 1]) picks.pop_back();
    if (picks.empty()) return least;
    ++picks.back();
  }
}

TEST(Path, OfAChainIsAsCheapAsTheCheapestOfAllPrograms) {
  const Model model = priced_model(false);
  const Magnitudes magnitudes(model);
  for (std::uint32_t seed = 0; seed < 5; ++seed)
    for (const bool fuses : {false, true}) {
      Prices prices(seed);
      const OfOneLayout rows("rows", Order::rows, prices);
      const OfOneLayout nhwc("nhwc", Order::nhwc, prices);
      const CompileOptions options{.epilogues = fuses, .kernels = {&rows, &nhwc}};
      const double least = least_of_all(model, magnitudes, options);
      EXPECT_NEAR(program::cheapest_path(model, 2, options).seconds, least, 1e-9) << seed << fuses;
      EXPECT_NEAR(compile(model, magnitudes, 2, options).seconds(), least, 1e-9) << seed << fuses;
    }
}

TEST(Path, WhereBranchesJoinIsThatOfAProgramAndSeldomDearerThanTheCheapest) {
  const Model model = priced_model(true);
  const Magnitudes magnitudes(model);
  int cheapest = 0;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    Prices prices(seed);
    const OfOneLayout rows("rows", Order::rows, prices);
    const OfOneLayout nhwc("nhwc", Order::nhwc, prices);
    CompileOptions options{.kernels = {&rows, &nhwc}};
    const double least = least_of_all(model, magnitudes, options);
    const program::Path path = program::cheapest_path(model, 2, options);
    cheapest += path.seconds <= least + 1e-9 ? 1 : 0;
    EXPECT_LE(compile(model, magnitudes, 2, options).seconds(), path.seconds + 1e-9) << seed;
    options.chooser = [&, kernels = options.kernels](const Request& request) {
      return program::choose(kernels, request, &path.offers.at(request.step.node));
    };
    EXPECT_NEAR(compile(model, magnitudes, 2, options).seconds(), path.seconds, 1e-9) << seed;
  }
  EXPECT_GE(cheapest, 5);
}

/// A kernel that takes nodes for which it has a reason, or says why not.
class Reluctant final : public program::Kernel {
 public:
  explicit Reluctant(Index taken) : taken_(taken) {}
  std::string_view name() const override { return "reluctant"; }
  std::vector<Offer> offers(const Request& request) const override {
    Offer offer;
    offer.inputs.assign(request.own_inputs(), {Order::rows});
    offer.bind = [] { return program::bound([](const program::Operands&) {}); };
    offer.remark = "for a reason";
    if (request.step.node != taken_) offer.why_not = "not this one";
    return {std::move(offer)};
  }

 private:
  Index taken_;
};

TEST(Path, ANodeThatNoKernelTakesIsNamed) {
  ModelBuilder builder;
  const ValueId x = builder.add(Activation{}, {builder.input({kBatchExtent, 5})});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::tanh), {x})});
  const Reluctant kernel(0);
  const CompileOptions options{.epilogues = false, .kernels = {&kernel, &kernel}};
  for (const bool whole : {false, true}) try {
      whole ? static_cast<void>(compile(model, Magnitudes(model), 2, options))
            : static_cast<void>(program::cheapest_path(model, 2, options));
      ADD_FAILURE() << "no error";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("no kernel supports node 2"), std::string::npos) << error.what();
      EXPECT_EQ(
          std::string(error.what()).find("; reluctant: not this one; reluctant: not this one") != std::string::npos,
          whole);
    }
}

}  // namespace
}  // namespace spdnn

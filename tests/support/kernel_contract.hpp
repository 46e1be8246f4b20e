#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "engines/kernel_families.hpp"
#include "model/oracle/evaluate.hpp"
#include "program/engine.hpp"
#include "support/models.hpp"

namespace spdnn::testing {

/// The kernels of a family of the program.
inline program::Kernels kernels_of(std::string_view name, Precision precision = Precision::fp32) {
  for (const program::Family& family : kernel_families())
    if (family.name == name) return family.kernels(precision).kernels;
  return {};
}

/// The largest deviation of the kernels' results from the oracle's, over a model's outputs, in units of the bound.
inline double ratio_by_kernels(const program::Kernels& kernels, const ModelCase& one) {
  const auto batch = static_cast<Index>(one.inputs.front().shape.front());
  const auto engine = program::make(std::make_shared<const Model>(one.model), {.batch = batch, .threads = 2}, kernels);
  const auto depth = static_cast<Index>(one.model.nodes.size());
  engine->load(one.inputs.front());
  for (Index next = 0; next < depth;) next = engine->advance(next, depth);
  const std::vector<Tensor> found = engine->outputs();
  const std::vector<Bounded> expected = evaluate(one.model, one.inputs);
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, largest_ratio(expected[i], found[i].values));
  return largest;
}

/// A kernel whose offers have a negative price: they are chosen wherever there are any, whatever the layout change.
class Favoured final : public program::Kernel {
 public:
  explicit Favoured(const program::Kernel& kernel) : kernel_(kernel) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<program::Offer> offers(const program::Request& request) const override {
    std::vector<program::Offer> offers = kernel_.offers(request);
    for (program::Offer& offer : offers) offer.seconds = -1;
    return offers;
  }
  program::Offer change(const program::Change& change) const override { return kernel_.change(change); }

 private:
  const program::Kernel& kernel_;
};

/// A kernel's fault: an offer that no step can take, or a result outside of the oracle's bound; empty if there is none.
/// The kernel is run wherever it makes an offer; the family plain runs the other steps.
inline std::string contract_fault(const program::Kernel& kernel, const std::vector<ModelCase>& cases) {
  program::Kernels kernels = kernels_of("plain");
  const Favoured favoured(kernel);
  kernels.insert(kernels.begin(), &favoured);
  for (const ModelCase& one : cases) try {
      if (!(ratio_by_kernels(kernels, one) <= 1)) return one.name + ": not the result that the oracle has";
    } catch (const std::exception& error) {
      return one.name + ": " + error.what();
    }
  return {};
}

}  // namespace spdnn::testing

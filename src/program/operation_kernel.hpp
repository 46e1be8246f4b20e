#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

/// A kernel of one operation: a name, and the function that makes its offers for a node with that operation.
class OperationKernel final : public Kernel {
 public:
  template <class Operation>
  OperationKernel(std::string_view name, std::vector<Offer> (*offers_for)(const Request&, const Operation&))
      : name_(name), offers_([offers_for](const Request& request) {
          const auto* const operation = std::get_if<Operation>(&request.node().operation);
          return operation == nullptr ? std::vector<Offer>() : offers_for(request, *operation);
        }) {}

  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override { return offers_(request); }

 private:
  std::string_view name_;
  std::function<std::vector<Offer>(const Request&)> offers_;
};

/// The addresses of kernels that are never destroyed.
template <class OneKernel, std::size_t count>
Kernels all_of(const OneKernel (&kernels)[count]) {
  Kernels all;
  for (const OneKernel& kernel : kernels) all.push_back(&kernel);
  return all;
}

/// A list of the one offer.
inline std::vector<Offer> only(Offer offer) {
  std::vector<Offer> all;
  all.push_back(std::move(offer));
  return all;
}

}  // namespace spdnn::program

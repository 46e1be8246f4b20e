#pragma once

#include <list>
#include <string_view>

#include "engines/model_engine.hpp"

namespace spdnn {

/// The variants' answers for one model, each asked for once: an answer takes as long as compiling the model.
class KnownSupport {
 public:
  /// The model must outlive it.
  explicit KnownSupport(const Model& model) : model_(model) {}

  const Model& model() const { return model_; }
  /// support_of() these. The reference stays valid.
  const Support& of(const ModelVariant& variant, const ModelEngineOptions& options);

 private:
  struct Known {
    std::string_view variant;
    ModelEngineOptions options;
    Support support;
  };

  const Model& model_;
  std::list<Known> known_;
};

}  // namespace spdnn

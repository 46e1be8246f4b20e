#pragma once

#include <string>
#include <string_view>

#include "io/models/architecture/node.hpp"
#include "spdnn/array.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The tensors of an architecture, by name.
class StoredWeights {
 public:
  StoredWeights() = default;
  StoredWeights(const StoredWeights&) = delete;
  StoredWeights& operator=(const StoredWeights&) = delete;
  virtual ~StoredWeights() = default;

  /// The name of the weights in messages.
  virtual const std::string& name() const = 0;
  /// The digest of the weights if they are a file of their own; otherwise empty.
  virtual std::string digest() const { return {}; }
  /// The tensor, which must have this shape. A DataError that names the node reports a missing tensor, another shape,
  /// or a number that is not finite.
  virtual Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const = 0;
  /// The same as weights: the first axis makes the rows, the others make the columns.
  virtual Weights weights(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const = 0;
};

/// Builds the model whose graph is the text of an `architecture.json` (docs/files.md); all shapes are inferred. `place`
/// is the text's name in messages. A DataError that names place and node reports an invalid text, one that does not
/// match the weights, or an unsupported feature.
Model read_architecture(const StoredWeights& weights, const std::string& place, std::string_view text);

}  // namespace spdnn

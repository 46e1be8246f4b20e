#pragma once

#include <string>
#include <string_view>

#include "io/import/architecture_node.hpp"
#include "spdnn/array.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Where the numbers of an architecture are: tensors by name.
class StoredWeights {
 public:
  StoredWeights() = default;
  StoredWeights(const StoredWeights&) = delete;
  StoredWeights& operator=(const StoredWeights&) = delete;
  virtual ~StoredWeights() = default;

  /// What the weights are called in messages.
  virtual const std::string& name() const = 0;
  /// The digest of the file where it is one by itself, or nothing.
  virtual std::string digest() const { return {}; }
  /// The tensor, which the node needs in this shape. DataError, which names the node, where there is none of that name
  /// or shape; also where a number is not finite.
  virtual Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const = 0;
  /// The same as a matrix without zeros: the first axis makes the rows, the others make the columns.
  virtual CsrMatrix matrix(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const = 0;
};

/// The model whose graph is this text, that of an `architecture.json`, which docs/files.md describes; all shapes are
/// inferred. `place` stands for the text in messages. DataError, naming place and node, where the text is not sound,
/// does not fit the weights, or asks for something that is not supported.
Model read_architecture(const StoredWeights& weights, const std::string& place, std::string_view text);

}  // namespace spdnn

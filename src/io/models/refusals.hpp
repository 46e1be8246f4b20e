#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "spdnn/error.hpp"

namespace spdnn {

/// Collects the nodes of a file that are not supported, so that its user learns of all of them at once.
class Refusals {
 public:
  /// `file` begins the messages of all nodes, and `operators` ends the message if an operator is not supported.
  Refusals(std::string file, std::string operators) : file_(std::move(file)), operators_(std::move(operators)) {}

  /// `kind` is the node's operator, and `node` its name as it follows `file` in the message of the error. An error that
  /// names no node, as of a damaged tensor, is thrown, unless nodes were refused before.
  void add(const std::string& kind, const std::string& node, const DataError& refusal);
  /// The same for an operator that is not supported.
  void add_unsupported(const std::string& kind, const std::string& node);
  /// DataError: the message of a single node as it is; of more, how many there are of each kind, and the first of each.
  void throw_if_any() const;

 private:
  struct Kind {
    std::string name;
    std::size_t nodes;
    std::string first;    ///< the first node
    std::string problem;  ///< with it; empty if the operator is not supported
  };
  void add(const std::string& kind, const std::string& node, const std::string& problem);

  std::string file_;
  std::string operators_;
  std::vector<Kind> kinds_;
};

}  // namespace spdnn

#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/json.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The fields of one node of architecture.json. Every field must be read or ignored explicitly, because an unknown
/// field could change the node's result.
class ArchitectureNode {
 public:
  /// `place` is the file; `number` counts from 1. DataError if the node is not an object with a name and an op.
  ArchitectureNode(const std::string& place, std::size_t number, const Json& json);

  /// The beginning of messages: the file and the node.
  const std::string& place() const { return place_; }
  const std::string& name() const { return name_; }
  const std::string& op() const { return op_; }
  const std::vector<std::string>& inputs() const { return inputs_; }

  bool has(const char* field) const { return json_.contains(field); }
  /// A whole number from `least` to kMaxIndex; `otherwise` if the field is missing, or DataError without a default.
  Index count(const char* field, Index least, std::optional<Index> otherwise = std::nullopt);
  /// H and W: a single number means both, a list of two gives each. With one dimension, the number or the list of one
  /// is W, and H is `of_height`.
  std::array<Index, 2> pair(const char* field, Index dims, Index least, Index of_height,
                            std::optional<Index> otherwise = std::nullopt);
  float number(const char* field, std::optional<float> otherwise = std::nullopt);
  /// A list of two numbers.
  std::array<float, 2> two_numbers(const char* field);
  bool truth(const char* field, bool otherwise);
  /// A list of whole numbers up to kMaxIndex; if `open`, one may be "N", which is kBatchExtent.
  std::vector<Extent> extents(const char* field, bool open = false);
  /// A list of whole numbers from -kMaxIndex to kMaxIndex.
  std::vector<Extent> offsets(const char* field);
  /// The index of the field's text among `names`.
  std::size_t choice(const char* field, std::span<const std::string_view> names);
  /// A field that changes nothing.
  void ignore(const char* field) { asked_.insert(field); }

  /// DataError if the node has a field that was not read.
  void check_all_asked() const;
  /// Throws a DataError that names file and node.
  [[noreturn]] void fail(const std::string& problem) const;

 private:
  const Json* find(const char* field, bool required);
  std::string text(const char* field);
  float checked_number(const char* field, const Json& value) const;
  Index checked(const char* field, const Json& value, Index least) const;

  std::string place_;
  const Json& json_;
  std::set<std::string> asked_;
  std::string name_;
  std::string op_;
  std::vector<std::string> inputs_;
};

}  // namespace spdnn

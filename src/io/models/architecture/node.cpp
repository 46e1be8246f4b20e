#include "io/models/architecture/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/text/json_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

ArchitectureNode::ArchitectureNode(const std::string& place, std::size_t number, const Json& json)
    : place_(fmt::format("{}: node {}", place, number)), json_(json) {
  if (!json.is_object()) fail(fmt::format("{}, expected an object", shown(json)));
  name_ = text("name");
  place_ += fmt::format(" '{}'", name_);
  op_ = text("op");
  const Json& inputs = *find("inputs", true);
  const auto is_text = [](const Json& input) { return input.is_string(); };
  if (!inputs.is_array() || !std::all_of(inputs.begin(), inputs.end(), is_text))
    fail(fmt::format("inputs {}, expected a list of names", shown(inputs)));
  for (const Json& input : inputs) inputs_.push_back(input.get<std::string>());
  ignore("role");
}

Index ArchitectureNode::count(const char* field, Index least, std::optional<Index> otherwise) {
  const Json* const value = find(field, !otherwise);
  return value == nullptr ? *otherwise : checked(field, *value, least);
}

std::array<Index, 2> ArchitectureNode::pair(const char* field, Index dims, Index least, Index of_height,
                                            std::optional<Index> otherwise) {
  const Json* const value = find(field, !otherwise);
  if (value != nullptr && value->is_array()) {
    if (value->size() != dims) fail(fmt::format("{} {}, expected {} numbers", field, shown(*value), dims));
    return {dims == 1 ? of_height : checked(field, (*value)[0], least), checked(field, value->back(), least)};
  }
  const Index both = value == nullptr ? *otherwise : checked(field, *value, least);
  return {dims == 1 ? of_height : both, both};
}

float ArchitectureNode::number(const char* field, std::optional<float> otherwise) {
  const Json* const value = find(field, !otherwise);
  return value == nullptr ? *otherwise : checked_number(field, *value);
}

std::array<float, 2> ArchitectureNode::two_numbers(const char* field) {
  const Json& value = *find(field, true);
  if (!value.is_array() || value.size() != 2)
    fail(fmt::format("{} {}, expected a list of 2 numbers", field, shown(value)));
  return {checked_number(field, value[0]), checked_number(field, value[1])};
}

std::vector<Extent> ArchitectureNode::extents(const char* field, bool open) {
  const Json& value = *find(field, true);
  if (!value.is_array()) fail(fmt::format("{} {}, expected a list of whole numbers", field, shown(value)));
  std::vector<Extent> extents;
  for (const Json& one : value) extents.push_back(open && one == "N" ? kBatchExtent : Extent{checked(field, one, 0)});
  return extents;
}

std::vector<Extent> ArchitectureNode::offsets(const char* field) {
  const Json& value = *find(field, true);
  if (!value.is_array()) fail(fmt::format("{} {}, expected a list of whole numbers", field, shown(value)));
  std::vector<Extent> offsets;
  for (const Json& one : value) {
    const bool below_zero = one.is_number_integer() && !one.is_number_unsigned();
    const Extent number = below_zero ? one.get<std::int64_t>() : Extent{checked(field, one, 0)};
    if (number < -Extent{kMaxIndex})
      fail(fmt::format("{} {}, expected a whole number from -{} to {}", field, shown(one), kMaxIndex, kMaxIndex));
    offsets.push_back(number);
  }
  return offsets;
}

std::size_t ArchitectureNode::choice(const char* field, std::span<const std::string_view> names) {
  const std::string name = text(field);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) fail(fmt::format("{} '{}', expected one of {}", field, name, fmt::join(names, ", ")));
  return static_cast<std::size_t>(found - names.begin());
}

bool ArchitectureNode::truth(const char* field, bool otherwise) {
  const Json* const value = find(field, false);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) fail(fmt::format("{} {}, expected true or false", field, shown(*value)));
  return value->get<bool>();
}

void ArchitectureNode::check_all_asked() const {
  for (const auto& [field, value] : json_.items())
    if (!asked_.contains(field)) fail(fmt::format("field '{}' is not understood for op '{}'", field, op_));
}

void ArchitectureNode::fail(const std::string& problem) const { throw DataError(place_ + ": " + problem); }

const Json* ArchitectureNode::find(const char* field, bool required) {
  asked_.insert(field);
  const Json* const found = json_.find(field);
  if (found == nullptr && required) fail(fmt::format("has no field '{}'", field));
  return found;
}

std::string ArchitectureNode::text(const char* field) {
  const Json& value = *find(field, true);
  if (!value.is_string()) fail(fmt::format("{} {}, expected a text", field, shown(value)));
  return value.get<std::string>();
}

float ArchitectureNode::checked_number(const char* field, const Json& value) const {
  const float number = value.is_number() ? value.get<float>() : NAN;
  if (!std::isfinite(number)) fail(fmt::format("{} {}, expected a number", field, shown(value)));
  return number;
}

Index ArchitectureNode::checked(const char* field, const Json& value, Index least) const {
  const std::uint64_t number = value.is_number_unsigned() ? value.get<std::uint64_t>() : kMaxIndex + std::uint64_t{1};
  if (number < least || number > kMaxIndex)
    fail(fmt::format("{} {}, expected a whole number from {} to {}", field, shown(value), least, kMaxIndex));
  return static_cast<Index>(number);
}

}  // namespace spdnn

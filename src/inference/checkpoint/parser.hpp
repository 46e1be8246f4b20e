#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text/json_text.hpp"
#include "inference/checkpoint/checkpoint.hpp"
#include "io/packed/format.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

inline constexpr const char* kCheckpointSchema = "spdnn-checkpoint-5";
inline constexpr const char* kAnyCheckpointSchema = "spdnn-checkpoint-";  ///< followed by the number of a version

/// The checksum of a checkpoint's line without its checksum, in hexadecimal.
inline std::string checkpoint_checksum(Json json) {
  json.erase("checksum");
  const std::string text = json_text(json);
  return fmt::format("{:016x}", packed::hash_block(std::as_bytes(std::span(text))));
}

/// Reads the parts of a checkpoint's line of JSON. Refuses malformed parts; all messages contain the name.
class CheckpointParser {
 public:
  static constexpr int kMostParts = 1000000;  ///< of a run

  CheckpointParser(std::string name, Index depth) : name_(std::move(name)), depth_(depth) {}

  [[noreturn]] void fail(const std::string& what) const { throw DataError(name_ + ": " + what); }

  Json parse(const std::string& text) const {
    Json json = parse_json_or_null(text);
    const Json& field = std::as_const(json)["schema"];
    const std::string schema = field.is_string() ? field.get<std::string>() : "";
    if (schema != kCheckpointSchema && schema.starts_with(kAnyCheckpointSchema))
      fail(fmt::format("was written by another version of spdnn, as {}; expected {}", schema, kCheckpointSchema));
    if (schema != kCheckpointSchema)
      fail(fmt::format("is not a checkpoint; expected one line of JSON, schema {}", kCheckpointSchema));
    if (at(json, "checksum") != checkpoint_checksum(json)) fail("is corrupted: its checksum differs");
    return json;
  }

  const Json& at(const Json& json, const char* key) const {
    const Json* const found = json.find(key);
    if (found == nullptr) fail(fmt::format("has no {}", key));
    return *found;
  }
  /// A whole number of at most `most`.
  std::uint64_t number(const Json& json, const char* what, std::uint64_t most) const {
    if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most)
      fail(fmt::format("{}: expected a number in 0..{}", what, most));
    return json.get<std::uint64_t>();
  }
  double seconds(const Json& json, const char* what) const {
    if (!json.is_number() || !(json.get<double>() >= 0)) fail(fmt::format("{}: expected seconds", what));
    return json.get<double>();
  }
  std::string text(const Json& json, const char* what) const {
    if (!json.is_string()) fail(fmt::format("{}: expected a text", what));
    return json.get<std::string>();
  }
  Passes passes(const Json& json) const {
    try {
      return parse_passes(text(json, "passes"));
    } catch (const UsageError& error) {
      fail(error.what());
    }
  }
  CheckpointSummary costs(const Json& json) const {
    constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60U;
    CheckpointSummary costs;
    if (const Json& every = at(json, "every"); !every.is_null()) costs.every = seconds(every, "every");
    costs.written = static_cast<int>(number(at(json, "written"), "written", kMostParts));
    costs.bytes = number(at(json, "bytes"), "bytes", kMostBytes);
    costs.lost_parts = static_cast<int>(number(at(json, "lost_parts"), "lost_parts", kMostParts));
    costs.lost_seconds = seconds(at(json, "lost_seconds"), "lost_seconds");
    return costs;
  }
  const Json& list(const Json& json, const char* what) const {
    if (!json.is_array()) fail(fmt::format("{}: expected a list", what));
    return json;
  }
  /// The ids in ranges of one or more images.
  std::vector<Index> ids(const Json& ranges, Index images) const {
    std::vector<Index> all;
    for (const Json& range : list(ranges, "images")) {
      if (list(range, "images").size() != 2) fail("images: expected pairs of a first id and a count");
      const auto first = static_cast<Index>(number(range[0], "images", images));
      const auto count = static_cast<Index>(number(range[1], "images", images - first));
      if (all.size() + count > images) fail("images: an image comes twice");
      for (Index i = 0; i < count; ++i) all.push_back(first + i);
    }
    return all;
  }
  std::vector<Index> ascending(const Json& json, const char* what, Index images) const {
    std::vector<Index> all;
    for (const Json& one : list(json, what)) {
      const auto id = static_cast<Index>(number(one, what, images));
      if (id == images || (!all.empty() && id <= all.back())) fail(fmt::format("{}: ids do not ascend", what));
      all.push_back(id);
    }
    return all;
  }
  std::vector<std::int64_t> counts(const Json& json, const char* what, bool may_be_empty) const {
    std::vector<std::int64_t> all;
    for (const Json& one : list(json, what)) {
      if (!one.is_number_integer()) fail(fmt::format("{}: expected numbers", what));
      all.push_back(one.get<std::int64_t>());
    }
    if (all.size() != depth_ && !(may_be_empty && all.empty())) fail(fmt::format("{}: expected one per layer", what));
    return all;
  }
  Outcome outcome(const Json& json, Index images) const {
    Outcome known{.categories = ascending(at(json, "categories"), "categories", images),
                  .alive = counts(at(json, "alive"), "alive", true),
                  .active = counts(at(json, "active"), "active", false),
                  .saturated = static_cast<std::int64_t>(number(at(json, "saturated"), "saturated", kMaxIndex)),
                  .identical = static_cast<std::int64_t>(number(at(json, "identical"), "identical", kMaxIndex)),
                  .borderline = ascending(at(json, "borderline"), "borderline", images)};
    for (const Json& one : list(at(json, "overflow"), "overflow")) {
      if (list(one, "overflow").size() != 2 || images == 0 || depth_ == 0) fail("overflow: expected image and layer");
      known.overflow.push_back({static_cast<Index>(number(one[0], "overflow", images - 1)),
                                static_cast<Index>(number(one[1], "overflow", depth_ - 1))});
    }
    return known;
  }
  std::vector<Work> left(const Json& json, Index images) const {
    std::vector<Work> all;
    std::vector<bool> seen(images, false);
    for (const Json& piece : list(json, "left")) {
      Work work{.layer = static_cast<Index>(number(at(piece, "layer"), "layer", depth_ == 0 ? 0 : depth_ - 1)),
                .ids = ids(at(piece, "images"), images)};
      for (const Index id : work.ids) {
        if (seen[id]) fail("images: an image comes twice");
        seen[id] = true;
      }
      all.push_back(std::move(work));
    }
    return all;
  }

 private:
  std::string name_;
  Index depth_;
};

}  // namespace spdnn

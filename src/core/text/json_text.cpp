#include "core/text/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#define JSON_ASSERT(condition) static_cast<void>(0)  // of values that are made here alone
#include <nlohmann/json.hpp>

namespace spdnn {

namespace {

using Library = nlohmann::ordered_json;

constexpr std::size_t kDeepest = 64;

/// The position of the first bracket beyond the deepest level, or npos.
std::size_t too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepest) return i;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return std::string_view::npos;
}

/// The library's message without its prefix, number and position.
std::string reason_of(const std::exception& error) {
  const std::string what = error.what();
  const std::size_t at = what.rfind("; ");
  return at == std::string::npos ? what : what.substr(at + 2);
}

/// Makes the value of a text from what the library's parser finds in it.
class Builder {
 public:
  explicit Builder(bool strict) : strict_(strict) {}

  Json result() {
    if (problem_) throw JsonProblem(*problem_);
    return std::move(values_.front());
  }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t number) { return add(number); }
  bool number_unsigned(std::uint64_t number) { return add(number); }
  bool number_float(double number, const std::string&) { return add(number); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Library::binary_t&) { return false; }  // is not in texts
  bool start_array(std::size_t) { return open(); }
  bool start_object(std::size_t) { return open(); }
  bool end_array() {
    std::vector<Json> elements = taken(values_, open_.back().values);
    open_.pop_back();
    return add(std::move(elements));
  }
  bool end_object() {
    std::vector<Json> values = taken(values_, open_.back().values);
    std::vector<std::string> names = taken(names_, open_.back().names);
    std::vector<Json::Member> members;
    members.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) members.push_back({std::move(names[i]), std::move(values[i])});
    if (strict_) std::ranges::sort(members, {}, &Json::Member::name);
    open_.pop_back();
    return add(std::move(members));
  }
  bool key(std::string& name) {
    open_.back().repeated = place_of(name);
    if (!open_.back().repeated)
      names_.push_back(std::move(name));
    else if (strict_)
      problem_ = {0, fmt::format("an object has two keys {}, expected each key once", shown(name))};
    return !problem_;
  }
  bool parse_error(std::size_t, const std::string&, const std::exception& error) {
    const auto* const syntax = dynamic_cast<const Library::parse_error*>(&error);
    problem_ = {syntax == nullptr ? 0 : std::max<std::size_t>(1, syntax->byte) - 1, "not JSON: " + reason_of(error)};
    return false;
  }

 private:
  /// An object or a list that has not ended: where its members begin.
  struct Open {
    std::size_t names = 0;
    std::size_t values = 0;
    std::optional<std::size_t> repeated{};        ///< the place of the member whose value comes again
    std::map<std::string, std::size_t> places{};  ///< of the members of a large object
  };

  bool open() {
    open_.push_back({names_.size(), values_.size()});
    return true;
  }

  bool add(Json value) {
    if (!open_.empty() && open_.back().repeated)
      values_[open_.back().values + *open_.back().repeated] = std::move(value);
    else
      values_.push_back(std::move(value));
    return true;
  }

  /// The place of the member of that name in the innermost object, if it has one.
  std::optional<std::size_t> place_of(const std::string& name) {
    constexpr std::size_t kLarge = 64;
    Open& object = open_.back();
    const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(object.names);
    const std::size_t count = names_.size() - object.names;
    if (count < kLarge) {
      const auto found = std::find(begin, names_.end(), name);
      return found == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - begin));
    }
    for (std::size_t i = object.places.size(); i < count; ++i)
      object.places.emplace(begin[static_cast<std::ptrdiff_t>(i)], i);
    const auto found = object.places.find(name);
    return found == object.places.end() ? std::nullopt : std::optional(found->second);
  }

  /// The last elements of a list from that place on, which leave it.
  template <class T>
  static std::vector<T> taken(std::vector<T>& all, std::size_t begin) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<T> last(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    return last;
  }

  bool strict_;
  std::vector<Open> open_;
  std::vector<std::string> names_;  ///< of members of all open objects
  std::vector<Json> values_;        ///< likewise, of open lists, too
  std::optional<JsonProblem> problem_;
};

Json parse(std::string_view text, bool strict) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos)
    throw JsonProblem{at, fmt::format("nested too deeply, expected at most {} levels", kDeepest)};
  Builder builder(strict);
  Library::sax_parse(text, &builder);
  return builder.result();
}

/// The library's value, whose texts may be any bytes.
Library library_value(const Json& json) {
  if (json.is_object()) {
    Library::object_t members;
    members.reserve(json.size());
    // Its own way to add one would search all.
    std::vector<Library::object_t::value_type>& all = members;
    for (const auto& [name, value] : json.items()) all.emplace_back(name, library_value(value));
    return members;
  }
  if (json.is_array()) {
    Library list = Library::array();
    for (const Json& element : json) list.push_back(library_value(element));
    return list;
  }
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  return nullptr;
}

std::string formatted(const Json& json, bool ascii) {
  return library_value(json).dump(-1, ' ', ascii, Library::error_handler_t::replace);
}

}  // namespace

Json parse_json(std::string_view text) { return parse(text, false); }
Json parse_strict_json(std::string_view text) { return parse(text, true); }
Json parse_json_or_null(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const JsonProblem&) {
    return {};
  }
}

std::string json_text(const Json& json, int indent) {
  try {
    return library_value(json).dump(indent);
  } catch (const Library::type_error& error) {
    throw UnexpectedJson(error.what());
  }
}
std::string json_line(const Json& json) { return formatted(json, false) + "\n"; }
std::string ascii_json(const Json& json) { return formatted(json, true); }

std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = ascii_json(value);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace spdnn

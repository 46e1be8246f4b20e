#include "core/text/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace spdnn {

namespace {

constexpr std::size_t kDeepest = 64;

/// nlohmann's message without its prefix, number and position.
std::string reason_of(const nlohmann::json::exception& error) {
  const std::string what = error.what();
  const std::size_t at = what.rfind("; ");
  return at == std::string::npos ? what : what.substr(at + 2);
}

template <class Json>
Json parse(std::string_view text) {
  if (const std::size_t at = too_deep_json(text); at != std::string_view::npos)
    throw JsonProblem{at, fmt::format("nested too deeply, expected at most {} levels", kDeepest)};
  try {
    return Json::parse(text);
  } catch (const typename Json::parse_error& error) {
    throw JsonProblem{std::max<std::size_t>(1, error.byte) - 1, "not JSON: " + reason_of(error)};
  } catch (const typename Json::exception& error) {
    throw JsonProblem{0, "not JSON: " + reason_of(error)};
  }
}

/// Stops at a repeated key of an object, or at invalid JSON. (A callback of Json::parse would also see keys, but
/// whenever a nested object or list ends, nlohmann searches all values of the enclosing object.)
class KeysOnce final : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::optional<std::string>& repeated() const { return repeated_; }

  bool start_object(std::size_t) override { return open_.emplace_back(), true; }
  bool end_object() override { return open_.pop_back(), true; }
  bool key(string_t& name) override {
    if (open_.back().insert(name).second) return true;
    repeated_ = name;
    return false;
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> repeated_;
};

template <class Json>
std::string shown_json(const Json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

std::size_t too_deep_json(std::string_view text) {
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

OrderedJson parse_json(std::string_view text) { return parse<OrderedJson>(text); }

nlohmann::json parse_strict_json(std::string_view text) {
  KeysOnce keys;
  if (too_deep_json(text) == std::string_view::npos) nlohmann::json::sax_parse(text, &keys);
  if (keys.repeated())
    throw JsonProblem{
        0, fmt::format("an object has two keys {}, expected each key once", shown(nlohmann::json(*keys.repeated())))};
  return parse<nlohmann::json>(text);
}

std::string shown(const OrderedJson& value) { return shown_json(value); }
std::string shown(const nlohmann::json& value) { return shown_json(value); }

}  // namespace spdnn

#include "core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/json_nesting.hpp"

namespace spdnn {

namespace {

/// What nlohmann says after its own name, number and place.
std::string reason_of(const nlohmann::json::exception& error) {
  const std::string what = error.what();
  const std::size_t at = what.rfind("; ");
  return at == std::string::npos ? what : what.substr(at + 2);
}

template <class Json>
Json parse(std::string_view text, const typename Json::parser_callback_t& callback) {
  if (const std::size_t at = too_deep_json(text); at != std::string_view::npos)
    throw JsonProblem{at, fmt::format("nested too deeply, expected at most {} levels", kDeepestJson)};
  try {
    return Json::parse(text, callback);
  } catch (const typename Json::parse_error& error) {
    throw JsonProblem{std::max<std::size_t>(1, error.byte) - 1, "not JSON: " + reason_of(error)};
  } catch (const typename Json::exception& error) {
    throw JsonProblem{0, "not JSON: " + reason_of(error)};
  }
}

/// Notices keys that an object repeats.
class KeysOnce {
 public:
  bool operator()(int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(value.get<std::string>()).second)
      throw JsonProblem{0, fmt::format("an object has two keys {}, expected each key once", shown(value))};
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;
};

template <class Json>
std::string shown_json(const Json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

OrderedJson parse_json(std::string_view text) { return parse<OrderedJson>(text, nullptr); }

nlohmann::json parse_strict_json(std::string_view text) {
  KeysOnce keys;
  return parse<nlohmann::json>(text, [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    return keys(depth, event, value);
  });
}

std::string shown(const OrderedJson& value) { return shown_json(value); }
std::string shown(const nlohmann::json& value) { return shown_json(value); }

}  // namespace spdnn

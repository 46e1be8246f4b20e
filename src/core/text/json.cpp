#include "core/text/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace spdnn {

namespace {

[[noreturn]] void fail(std::string_view expected) { throw UnexpectedJson(fmt::format("expected {}", expected)); }

template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;

bool same_members(const Json& a, const Json& b) {
  return a.size() == b.size() && std::all_of(a.items().begin(), a.items().end(), [&](const Json::Member& member) {
           const Json* const other = b.find(member.name);
           return other != nullptr && *other == member.value;
         });
}

}  // namespace

Json::Json() noexcept = default;
Json::Json(std::nullptr_t) noexcept {}
Json::Json(bool value) noexcept : value_(value) {}
Json::Json(int number) noexcept : Json(static_cast<long long>(number)) {}
Json::Json(unsigned number) noexcept : value_(std::uint64_t{number}) {}
Json::Json(long number) noexcept : Json(static_cast<long long>(number)) {}
Json::Json(unsigned long number) noexcept : value_(std::uint64_t{number}) {}
Json::Json(long long number) noexcept : value_(static_cast<std::uint64_t>(number)) {
  if (number < 0) value_ = std::int64_t{number};
}
Json::Json(unsigned long long number) noexcept : value_(std::uint64_t{number}) {}
Json::Json(double number) noexcept : value_(number) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) noexcept : value_(std::move(text)) {}
Json::Json(std::vector<Json> elements) noexcept : value_(std::move(elements)) {}
Json::Json(std::vector<Member> members) noexcept : value_(std::move(members)) {}
Json::Json(std::initializer_list<Pair> members) : value_(Members()) {
  auto& all = std::get<Members>(value_);
  all.reserve(members.size());
  for (const Pair& one : members) all.push_back({std::string(one.name), std::move(one.value)});
}
Json Json::array(std::initializer_list<Json> elements) { return Elements(elements); }
Json Json::object() { return Members(); }
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_number_integer() || std::holds_alternative<double>(value_); }
bool Json::is_number_integer() const { return is_number_unsigned() || std::holds_alternative<std::int64_t>(value_); }
bool Json::is_number_unsigned() const { return std::holds_alternative<std::uint64_t>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Elements>(value_); }
bool Json::is_object() const { return std::holds_alternative<Members>(value_); }

template <class T>
T Json::get() const {
  if constexpr (kIsList<T>) {
    T list;
    for (const Json& one : *this) list.push_back(one.get<typename T::value_type>());
    return list;
  } else {
    return std::visit(
        [](const auto& value) -> T {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, Value>)
            return value;
          else if constexpr (kIsNumber<T> && kIsNumber<Value>)
            return static_cast<T>(value);
          else
            fail(std::is_same_v<T, std::string> ? "a text" : kIsNumber<T> ? "a number" : "true or false");
        },
        value_);
  }
}
template bool Json::get() const;
template unsigned Json::get() const;
template std::int64_t Json::get() const;
template std::uint64_t Json::get() const;
template float Json::get() const;
template double Json::get() const;
template std::string Json::get() const;
template std::vector<std::int64_t> Json::get() const;
template std::vector<double> Json::get() const;
template std::vector<std::string> Json::get() const;

std::size_t Json::size() const { return is_array() ? elements().size() : items().size(); }

const Json::Elements& Json::elements() const {
  if (!is_array()) fail("a list");
  return std::get<Elements>(value_);
}
const Json* Json::begin() const { return elements().data(); }
const Json* Json::end() const { return elements().data() + elements().size(); }
const Json& Json::operator[](std::size_t index) const {
  if (index >= elements().size()) fail(fmt::format("a list of more than {} elements", index));
  return elements()[index];
}
Json& Json::operator[](std::size_t index) { return const_cast<Json&>(std::as_const(*this)[index]); }
void Json::push_back(Json element) {
  if (is_null()) value_ = Elements();
  elements();
  std::get<Elements>(value_).push_back(std::move(element));
}

const std::vector<Json::Member>& Json::items() const {
  static const Members none;
  return is_object() ? std::get<Members>(value_) : none;
}
const Json* Json::find(std::string_view name) const {
  const Members& members = items();
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.name == name; });
  return found == members.end() ? nullptr : &found->value;
}
const Json& Json::at(std::string_view name) const {
  const Json* const found = find(name);
  if (found == nullptr) fail(fmt::format("an object with '{}'", name));
  return *found;
}
const Json& Json::operator[](std::string_view name) const {
  const Json* const found = find(name);
  static const Json null;
  return found == nullptr ? null : *found;
}
Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Members();
  if (!is_object()) fail("an object");
  if (const Json* const found = find(name)) return const_cast<Json&>(*found);
  return std::get<Members>(value_).emplace_back(Member{std::string(name), {}}).value;
}
void Json::update(Json other) {
  if (!other.is_object()) fail("an object");
  for (Member& one : std::get<Members>(other.value_)) (*this)[one.name] = std::move(one.value);
}
void Json::erase(std::string_view name) {
  if (is_object()) std::erase_if(std::get<Members>(value_), [&](const Member& one) { return one.name == name; });
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) return same_members(a, b);
  if (a.value_.index() != b.value_.index()) return a.is_number() && b.is_number() && a.get<double>() == b.get<double>();
  return std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Json::Members>)
          return false;
        else
          return value == std::get<Value>(b.value_);
      },
      a.value_);
}

}  // namespace spdnn

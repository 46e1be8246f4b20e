#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace spdnn {

/// A JSON value. Its functions are compiled once, and those that make a value take few instructions to call: reports
/// call hundreds of them.
class Json {
 public:
  struct Member;
  struct Pair;

  Json() noexcept;  ///< null
  Json(std::nullptr_t) noexcept;
  Json(bool value) noexcept;
  Json(int number) noexcept;
  Json(unsigned number) noexcept;
  Json(long number) noexcept;
  Json(unsigned long number) noexcept;
  Json(long long number) noexcept;
  Json(unsigned long long number) noexcept;
  Json(double number) noexcept;
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text) noexcept;
  Json(const void*) = delete;
  Json(std::vector<Json> elements) noexcept;
  Json(std::vector<Member> members) noexcept;
  /// An object: `Json{{"name", name}, {"seconds", 1.5}}`.
  Json(std::initializer_list<Pair> members);
  template <class T>
  Json(const std::vector<T>& elements) : Json(std::vector<Json>(elements.begin(), elements.end())) {}
  template <class T, std::size_t count>
  Json(const std::array<T, count>& elements) : Json(std::vector<Json>(elements.begin(), elements.end())) {}
  static Json array(std::initializer_list<Json> elements = {});
  static Json object();
  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  bool is_null() const;
  bool is_boolean() const;
  bool is_number() const;
  bool is_number_integer() const;
  bool is_number_unsigned() const;  ///< a whole number from 0
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;

  /// As bool, a number, std::string, or a vector of std::string, double or std::int64_t. UnexpectedJson if it is of
  /// another kind.
  template <class T>
  T get() const;

  /// Elements or members; 0 for other kinds.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Elements of an array. UnexpectedJson if it is none, or has too few.
  const Json* begin() const;
  const Json* end() const;
  const Json& operator[](std::size_t index) const;
  Json& operator[](std::size_t index);
  const Json& front() const { return (*this)[0]; }
  const Json& back() const { return (*this)[size() - 1]; }
  void push_back(Json element);  ///< makes null an array

  /// The members of an object, in their order; none of other kinds.
  const std::vector<Member>& items() const;
  /// Null if it is no object, or lacks the member.
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// UnexpectedJson if it is missing.
  const Json& at(std::string_view name) const;
  /// A JSON null if it is missing.
  const Json& operator[](std::string_view name) const;
  Json& operator[](std::string_view name);  ///< adds it if it is missing, and makes null an object
  void update(Json other);                  ///< sets the members of `other`
  void erase(std::string_view name);

  /// Numbers are equal if their values are, whole or not, and objects in whatever order their members are.
  friend bool operator==(const Json& a, const Json& b);

 private:
  using Elements = std::vector<Json>;
  using Members = std::vector<Member>;
  const Elements& elements() const;

  /// Whole numbers are std::int64_t only below 0.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Elements, Members> value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

/// A member in a list from which an object is made, which takes its value.
struct Json::Pair {
  std::string_view name;
  mutable Json value;
};

/// A value is of another kind than expected, or lacks a member or an element.
struct UnexpectedJson : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value; null of an empty optional, text or list.
template <class Value>
Json json_or_null(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return value ? Json(*value) : Json();
  else
    return value.empty() ? Json() : Json(value);
}

}  // namespace spdnn

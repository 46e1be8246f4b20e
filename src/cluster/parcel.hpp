#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "spdnn/array.hpp"

namespace spdnn {

/// A value serialized for sending: a small description, and the value's arrays, which may be large and are not copied.
/// Arrays that several parts of the value share are sent once, and shared again where it arrives.
///
/// Which parts a type has is written once, in a function fields(archive, value) that hands all of them to the archive:
/// to a Packer, which takes values apart, or an Unpacker, which puts them together. Sender and receiver are the same
/// program, so there are no versions and no checks beyond the lengths.
struct Parcel {
  static constexpr std::size_t kAlignment = 64;

  std::vector<std::byte> description;
  std::vector<std::span<const std::byte>> arrays;  ///< one after another, each on the next 64-byte bound
  std::size_t array_bytes = 0;                     ///< with the gaps
};

/// The offset of the next array.
constexpr std::size_t aligned_in_parcel(std::size_t bytes) {
  return (bytes + Parcel::kAlignment - 1) / Parcel::kAlignment * Parcel::kAlignment;
}

class Packer {
 public:
  explicit Packer(Parcel& parcel) : parcel_(parcel) {}

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      put_bytes(&value, sizeof(value));
    else
      fields(*this, value);
  }
  void put(const std::string& text) {
    put(text.size());
    put_bytes(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(values.size());
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      put_bytes(values.data(), values.size() * sizeof(T));
    else
      for (const T& value : values) put(value);
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& values) {
    for (const T& value : values) put(value);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class... T>
  void put(const std::variant<T...>& value) {
    put(value.index());
    std::visit([this](const auto& held) { put(held); }, value);
  }
  template <class T>
  void put(const std::shared_ptr<const T>& value) {
    put(value != nullptr);
    if (value) put(*value);
  }
  template <class T>
  void put(const Array<T>& array) {
    const auto [known, added] = places_.try_emplace({array.data(), array.size()}, parcel_.array_bytes);
    if (added) {
      parcel_.arrays.push_back(std::as_bytes(array.span()));
      parcel_.array_bytes += aligned_in_parcel(array.bytes());
    }
    put(array.size());
    put(known->second);
  }
  void put_bytes(const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    parcel_.description.insert(parcel_.description.end(), begin, begin + bytes);
  }

  Parcel& parcel_;
  std::map<std::pair<const void*, std::size_t>, std::size_t> places_;  ///< the offsets of arrays
};

class Unpacker {
 public:
  /// Arrays point into `arrays`, which they keep.
  Unpacker(std::span<const std::byte> description, std::shared_ptr<const std::byte> arrays)
      : rest_(description), arrays_(std::move(arrays)) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      get_bytes(&value, sizeof(value));
    else
      fields(*this, value);
  }
  void get(std::string& text) {
    text.resize(size());
    get_bytes(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values) {
    values.resize(size());
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      get_bytes(values.data(), values.size() * sizeof(T));
    else
      for (T& value : values) get(value);
  }
  template <class T, std::size_t N>
  void get(std::array<T, N>& values) {
    for (T& value : values) get(value);
  }
  template <class T>
  void get(std::optional<T>& value) {
    if (flag()) get(value.emplace());
  }
  template <class... T>
  void get(std::variant<T...>& value) {
    const std::array<void (*)(std::variant<T...>&), sizeof...(T)> make{
        [](std::variant<T...>& to) { to.template emplace<T>(); }...};
    make.at(size())(value);
    std::visit([this](auto& held) { get(held); }, value);
  }
  template <class T>
  void get(std::shared_ptr<const T>& value) {
    if (!flag()) return;
    const auto made = std::make_shared<T>();
    get(*made);
    value = made;
  }
  template <class T>
  void get(Array<T>& array) {
    const std::size_t count = size();
    const std::size_t begin = size();
    const auto* const first = reinterpret_cast<const T*>(arrays_.get() + begin);
    array = Array<T>({arrays_, first}, count);
  }
  std::size_t size() {
    std::size_t value = 0;
    get_bytes(&value, sizeof(value));
    return value;
  }
  bool flag() {
    bool value = false;
    get_bytes(&value, sizeof(value));
    return value;
  }
  void get_bytes(void* to, std::size_t bytes) {
    if (bytes > rest_.size()) throw std::logic_error("Unpacker: the description ends too early");
    if (bytes > 0) std::memcpy(to, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

  std::span<const std::byte> rest_;
  std::shared_ptr<const std::byte> arrays_;
};

template <class T>
Parcel pack(const T& value) {
  Parcel parcel;
  Packer packer(parcel);
  packer(value);
  return parcel;
}

template <class T>
T unpack(std::span<const std::byte> description, std::shared_ptr<const std::byte> arrays = {}) {
  T value;
  Unpacker unpacker(description, std::move(arrays));
  unpacker(value);
  return value;
}

}  // namespace spdnn

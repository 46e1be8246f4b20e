#include "model/graph/model_digest.hpp"

#include <xxhash.h>

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

namespace spdnn {

namespace {

/// Collects small numbers, and the hashes of arrays.
class ModelHash {
 public:
  template <class... T>
  void add(const T&... parts) {
    (put(parts), ...);
  }
  std::uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

#define SPDNN_OPERATION(Type, ...)         \
  void operator()(const Type& operation) { \
    const auto& [__VA_ARGS__] = operation; \
    add(__VA_ARGS__);                      \
  }
#include "spdnn/operations.def"
#undef SPDNN_OPERATION

 private:
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put(const T& number) {
    const auto bytes = std::as_bytes(std::span(&number, 1));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void put_numbers(const T* numbers, std::size_t count) {
    put(count);
    put(XXH3_64bits(numbers, count * sizeof(T)));
  }
  template <class T>
  void put(const std::vector<T>& numbers) {
    put_numbers(numbers.data(), numbers.size());
  }
  template <class T>
  void put(const Array<T>& numbers) {
    put_numbers(numbers.data(), numbers.size());
  }
  template <class T, std::size_t N>
  void put(const std::array<T, N>& numbers) {
    put_numbers(numbers.data(), N);
  }
  void put(const Window& w) { add(w.kernel, w.stride, w.dilation, w.pad_begin, w.pad_end); }
  /// A value that is stored once gives the same numbers as one for each entry.
  void put(const CsrMatrix& m) {
    add(m.rows, m.cols, m.offsets, m.indices);
    if (m.uniform())
      add(std::vector<float>(m.entries(), m.value));
    else
      add(m.values);
  }
  void put(const Weights& weights) { put(weights.csr()); }

  std::vector<std::byte> bytes_;
};

}  // namespace

std::uint64_t model_digest(const Model& model) {
  ModelHash hash;
  hash.add(model.inputs, model.outputs, model.values.size(), model.nodes.size());
  for (const Value& value : model.values) {
    hash.add(value.shape, value.constant.has_value());
    if (value.constant) hash.add(value.constant->shape, value.constant->values);
  }
  for (const Node& node : model.nodes) {
    hash.add(node.operation.index(), node.inputs, node.output);
    std::visit(hash, node.operation);
  }
  return hash.value();
}

}  // namespace spdnn

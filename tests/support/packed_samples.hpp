#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "core/types/plan.hpp"
#include "io/files/input_file.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"
#include "io/packed/read_write.hpp"
#include "spdnn/array.hpp"
#include "spdnn/csr_matrix.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "support/matrix_builder.hpp"
#include "temporary_directory.hpp"

namespace spdnn::testing {

/// A matrix whose rows have entries in these columns: all 1, or the values in their order.
inline CsrMatrix matrix_of(Index cols, const std::vector<std::vector<Index>>& rows, std::vector<float> values = {}) {
  MatrixBuilder builder(cols);
  for (const auto& row : rows) {
    for (const Index column : row) builder.add(column);
    builder.end_row();
  }
  CsrMatrix matrix = builder.uniform();
  matrix.values = Array<float>(std::move(values));
  return matrix;
}

/// One row of `count` entries 0, 1, ... with `different` distinct values.
inline CsrMatrix row_of_values(Index count, Index different) {
  std::vector<Index> columns(count);
  std::iota(columns.begin(), columns.end(), 0U);
  std::vector<float> values(count);
  for (Index i = 0; i < count; ++i) values[i] = static_cast<float>(i * std::uint64_t{7919} % different) - 100.5F;
  return matrix_of(count, {columns}, values);
}

/// Layers of every kind: regular, with an empty and a heavy row, and without edges; with one bias and with several.
inline Network stored_network() {
  Network network;
  network.layers.push_back({matrix_of(3, {{0, 2}, {1, 2}, {0, 1}, {2, 0}}), {-0.3, {}}});
  network.layers.push_back(
      {matrix_of(4, {{}, {0, 1, 2, 3}}, {0.5F, -0.0F, 0.5F, 1e-38F}), {0, Array<double>({-0.1, 0.2})}});
  network.layers.push_back({matrix_of(2, {{}, {}, {}}), {0.7, {}}});
  network.cap = 32.0;
  return network;
}

/// Three images of three neurons with two different values; the last image has none.
inline ImageSet small_images() { return {matrix_of(3, {{0}, {1, 2}, {}}, {0.5F, 0.25F, 0.5F})}; }

/// Three images of 65 neurons as bits, in two words each.
inline ImageSet small_bits() { return {ImageSet{matrix_of(65, {{0}, {}, {64}})}.to_bits()}; }

/// A plan for the stored network, with expansions, certificates and notes.
inline Plan small_plan(const Network& network) {
  Plan plan;
  plan.layers.push_back({matrix_of(3, {{0, 2}, {1, 2}, {0, 1}}), {-0.3, {}}});
  plan.layers.push_back({matrix_of(3, {{0, 1, 2, 0}}, {0.5F, 2.0F, 0.5F, 1e-38F}), {0, Array<double>({0.2})}});
  plan.layers.push_back({matrix_of(1, {{}, {}, {}}), {0.7, {}}});
  plan.bias_rule = network.bias_rule;
  plan.cap = network.cap;
  plan.passes = {.twins = true, .unused = true, .merge = false, .saturated = false, .dead = true, .identical = true};
  plan.provenance.requested = parse_passes("all");
  plan.provenance.notes = {"saturated stands aside: a weight is negative", ""};
  plan.expansion = {Array<Index>({0, 1, 2, 0}), Array<Index>({kAlwaysZero, 0}), Array<Index>()};
  plan.certificates.dead_from = 1;
  plan.certificates.saturated_from = 3;
  plan.provenance.given_edges = network.edges();
  plan.provenance.given_neurons = {3, 4, 2, 3};
  plan.provenance.network_digest = network_digest(network);
  return plan;
}

/// The small plan with the pass merge, so with error bounds and a plan in order.
inline Plan small_merged_plan(const Network& network) {
  Plan plan = small_plan(network);
  plan.fallback = Fallback{{1e-7, 2e-6, 0.0}, std::make_shared<Plan>(plan)};
  plan.passes.merge = true;
  return plan;
}

/// The network as it is read from a file to which it was written.
inline Network read_back(const Network& network) {
  const TemporaryDirectory directory;
  write_packed_network(directory / "n.spdnn", network);
  return read_packed_network(directory / "n.spdnn", {}).network;
}

/// A packed file in memory, which can be changed and loaded.
struct Bytes {
  explicit Bytes(const PackedParts& parts) {
    const TemporaryDirectory directory;
    write_packed(directory / "f.spdnn", parts);
    const InputFile file(directory / "f.spdnn");
    bytes.resize(file.size());
    file.read(0, bytes);
  }
  PackedFile open(std::size_t size) const {
    const std::shared_ptr<std::byte> copy = allocate_bytes(size);
    std::memcpy(copy.get(), bytes.data(), size);
    return {"f.spdnn", copy, size};
  }
  PackedFile open() const { return open(bytes.size()); }
  template <class T>
  void patch(std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  }
  std::vector<std::byte> bytes;
};

/// One thread, as several would only wait for one another in thousands of tiny loads.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// The offset of the only section of that many bytes.
inline std::uint64_t section_of(const Bytes& file, std::uint64_t bytes) {
  const PackedFile opened = file.open();
  std::uint64_t offset = 0;
  int found = 0;
  for (std::uint32_t section = 0; section < opened.sections(); ++section) {
    if (opened.entry(section).bytes != bytes) continue;
    offset = opened.entry(section).offset;
    ++found;
  }
  EXPECT_EQ(found, 1);
  return offset;
}

}  // namespace spdnn::testing

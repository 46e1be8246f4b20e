#include <fmt/format.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>

#include "io/files/input_file.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"
#include "io/packed/image_layout.hpp"
#include "io/packed/layers.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/equal.hpp"
#include "support/matrix_builder.hpp"
#include "support/message_of.hpp"
#include "support/streamed.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::expect_equal;

CsrMatrix matrix_of(Index cols, const std::vector<std::vector<Index>>& rows, std::vector<float> values = {}) {
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
CsrMatrix row_of_values(Index count, Index different) {
  std::vector<Index> columns(count);
  std::iota(columns.begin(), columns.end(), 0U);
  std::vector<float> values(count);
  for (Index i = 0; i < count; ++i) values[i] = static_cast<float>(i * std::uint64_t{7919} % different) - 100.5F;
  return matrix_of(count, {columns}, values);
}

/// Layers of every kind: regular, with an empty and a heavy row, and without edges; with one bias and with several.
Network stored_network() {
  Network network;
  network.layers.push_back({matrix_of(3, {{0, 2}, {1, 2}, {0, 1}, {2, 0}}), {-0.3, {}}});
  network.layers.push_back(
      {matrix_of(4, {{}, {0, 1, 2, 3}}, {0.5F, -0.0F, 0.5F, 1e-38F}), {0, Array<double>({-0.1, 0.2})}});
  network.layers.push_back({matrix_of(2, {{}, {}, {}}), {0.7, {}}});
  network.cap = 32.0;
  return network;
}

ImageSet small_images() { return {matrix_of(3, {{0}, {1, 2}, {}}, {0.5F, 0.25F, 0.5F})}; }

ImageSet small_bits() { return {ImageSet{matrix_of(65, {{0}, {}, {64}})}.to_bits()}; }

Plan small_plan(const Network& network) {
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

Plan small_merged_plan(const Network& network) {
  Plan plan = small_plan(network);
  plan.fallback = Fallback{{1e-7, 2e-6, 0.0}, std::make_shared<Plan>(plan)};
  plan.passes.merge = true;
  return plan;
}

Network read_back(const Network& network) {
  const TemporaryDirectory directory;
  write_packed_network(directory / "n.spdnn", network);
  return read_packed_network(directory / "n.spdnn", {}).network;
}

void expect_round_trip(const CsrMatrix& weights) {
  Network network;
  network.layers.push_back({weights, {}});
  const Network back = read_back(network);
  back.validate();
  expect_equal(back, network);
  EXPECT_EQ(network_digest(back), network_digest(network));
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

TEST(Packed, NetworkRoundTrip) {
  Network network = stored_network();
  const Network back = read_back(network);
  expect_equal(back, network);
  EXPECT_EQ(network_digest(back), network_digest(network));
  network.cap.reset();
  network.bias_rule = BiasRule::everywhere;
  expect_equal(read_back(network), network);
  expect_equal(read_back(Network{}), Network{});
}

TEST(Packed, ColumnsOnBothSidesOfTwoBytes) {
  expect_round_trip(matrix_of(65536, {{0, 65535}, {1, 65534}}));
  expect_round_trip(matrix_of(65537, {{0, 65536}, {1, 65535}}));
  expect_round_trip(matrix_of(0, {}));
  expect_round_trip(matrix_of(0, {{}, {}}));
  expect_round_trip(matrix_of(5, {}));
}

TEST(Packed, PalettesOfEverySize) {
  for (const Index different : {1U, 2U, 255U, 256U, 257U, 65535U, 65536U, 65537U})
    expect_round_trip(row_of_values(200000, different));
  expect_round_trip(row_of_values(300, 300));  // a palette would take more than the values
}

TEST(Packed, ABlockIsNoBoundary) {
  const auto count = static_cast<Index>(3 * packed::kBlockBytes / sizeof(std::uint16_t) / 8 + 1);
  std::vector<std::vector<Index>> rows(9 * packed::kBlockBytes / 8 / 10);
  for (std::size_t i = 0; i < rows.size(); i += 3) rows[i] = {static_cast<Index>(i % count), 7};
  expect_round_trip(matrix_of(count, rows));
  expect_round_trip(row_of_values(count, 1000));
}

TEST(Packed, TakesFewBytes) {
  const TemporaryDirectory directory;
  Network network;
  network.layers.push_back({matrix_of(64, std::vector(1000, std::vector<Index>{1, 2, 3, 63})), {}});
  write_packed_network(directory / "n", network);
  // Two bytes per edge, and once each: header, table and description.
  EXPECT_LT(std::filesystem::file_size(directory / "n"), 8000 + 600);
}

TEST(Packed, ImagesRoundTrip) {
  const TemporaryDirectory directory;
  const auto path = directory / "i.spdnn";
  const ImageSet sparse = small_images();
  write_packed_images(path, sparse);
  expect_equal(read_packed_images(path, 3, {}).sparse(), sparse.sparse());
  EXPECT_EQ(read_packed_images(path, {}, 5).images(), 5U);
  EXPECT_EQ(read_packed_images(path, {}, 5).nonzeros(), 3U);

  for (const Index neurons : {1U, 63U, 64U, 65U, 130U}) {
    const ImageSet bits{ImageSet{matrix_of(neurons, {{0}, {}, {neurons - 1}})}.to_bits()};
    write_packed_images(path, bits);
    const ImageSet back = read_packed_images(path, neurons, {});
    ASSERT_TRUE(back.is_bits());
    expect_equal(back.to_csr(), bits.to_csr());
    EXPECT_EQ(read_packed_images(path, {}, 7).nonzeros(), 2U);
  }
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, 131, {}); }),
            path.string() + ": images of 130 neurons, expected 131");
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, {}, 2); }),
            path.string() + ": 3 images, expected at most 2");
}

TEST(Packed, PlanRoundTrip) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network = stored_network();
  for (const Plan& plan : {small_plan(network), small_merged_plan(network)}) {
    write_network_with_plan(path, network, plan);
    expect_equal(read_plan(path), plan);
    expect_equal(read_packed_network(path, {}).network, network);
    write_packed(path, {.plan = &plan});
    expect_equal(read_plan(path), plan);
  }
}

TEST(Packed, APlanMayHaveNoLayers) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network;
  Plan plan;
  plan.cap = network.cap;
  plan.provenance.given_neurons = {0};
  plan.provenance.network_digest = network_digest(network);
  write_network_with_plan(path, network, plan);
  expect_equal(read_plan(path), plan);
}

TEST(Packed, ARowHoldsAColumnOnceInNetworksAndImages) {
  for (const Index cols : {4U, 70000U}) {  // columns of two bytes and of four
    Network network;
    network.layers.push_back({matrix_of(cols, {{}, {2, 0}, {3}, {3, 1}, {}, {1, 2}}), {}});  // need not ascend
    expect_equal(read_back(network), network);
    network.layers[0].weights = matrix_of(cols, {{0, 1}, {}, {2, 0, 2}, {2}});
    const Bytes file({.network = &network});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
              "f.spdnn: is corrupted: layer 1: row 3 holds column 3 twice, expected once");
    const ImageSet images{matrix_of(cols, {{0, 1}, {1, 1}}, {1.0F, 2.0F, 3.0F, 4.0F})};
    const Bytes other({.images = &images});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_images(other.open()); }),
              "f.spdnn: is corrupted: images: row 2 holds column 2 twice, expected once");
  }
  // Across the end of a block, and with rows of equal length.
  const std::size_t per_block = packed::kBlockBytes / sizeof(std::uint16_t);
  std::vector<std::vector<Index>> rows(per_block, {0, 1, 2});
  rows[per_block / 3] = {1, 2, 2};
  rows[per_block / 3][per_block % 3] = rows[per_block / 3][(per_block + 2) % 3];
  Network network;
  network.layers.push_back({matrix_of(3, rows), {}});
  const Bytes file({.network = &network});
  EXPECT_NE(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
}

TEST(Packed, APlanHoldsWhatItsPassesNeed) {
  const Plan merged = small_merged_plan(stored_network());
  check_plan(merged);
  const auto refuses = [&](const std::function<void(Plan&)>& change) {
    Plan plan = merged;
    change(plan);
    EXPECT_THROW(check_plan(plan), std::invalid_argument);
  };
  refuses([](Plan& plan) { plan.fallback->in_order.reset(); });
  refuses([](Plan& plan) { plan.fallback->error_bounds.clear(); });
  refuses([&](Plan& plan) { plan.fallback->in_order = std::make_shared<Plan>(merged); });
  refuses([](Plan& plan) {
    plan.passes.saturated = true;
    plan.cap.reset();
  });
}

TEST(Packed, AnotherNetworksPlanIsRefused) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network = stored_network();
  Plan plan = small_plan(network);
  plan.provenance.network_digest ^= 1;
  EXPECT_EQ(testing::message_of<DataError>([&] { write_network_with_plan(path, network, plan); }),
            path.string() + ": cannot write: the plan was made for another network");
  EXPECT_FALSE(std::filesystem::exists(path));

  plan.provenance.network_digest ^= 1;
  Bytes file({.network = &network, .plan = &plan});
  file.patch(offsetof(packed::Header, network_digest), plan.provenance.network_digest ^ 1);
  packed::seal(file.bytes);
  EXPECT_NE(
      testing::message_of<DataError>([&] { load_plan(file.open()); }).find("its plan was made for another network"),
      std::string::npos);
}

/// The error of a plan that was changed in memory and put into a file with right checksums.
std::string error_of_plan(const std::function<void(Plan&)>& change, bool merged) {
  const Network network = stored_network();
  Plan plan = merged ? small_merged_plan(network) : small_plan(network);
  change(plan);
  const TemporaryDirectory directory;
  return testing::message_of<DataError>(
      [&] { write_packed(directory / "p.spdnn", {.network = &network, .plan = &plan}); });
}

TEST(Packed, APlanWithMergeHasBoundsAndAPlanInOrder) {
  const auto error = [](const std::function<void(Plan&)>& change, bool merged = true) {
    const std::string text = error_of_plan(change, merged);
    return text.substr(text.rfind(": ") == std::string::npos ? 0 : text.find("cannot write: "));
  };
  const auto in_order = [](Plan& plan, const std::function<void(Plan&)>& change) {
    Plan other = *plan.fallback->in_order;
    change(other);
    plan.fallback->in_order = std::make_shared<Plan>(other);
  };
  EXPECT_EQ(error([](Plan&) {}), "no error");
  EXPECT_EQ(error([](Plan& p) { p.fallback->in_order = nullptr; }),
            "cannot write: the pass merge is in effect, expected an in-order plan");
  EXPECT_EQ(error([](Plan& p) { p.fallback->error_bounds.clear(); }),
            "cannot write: expected one error bound for each layer");
  EXPECT_EQ(error(
                [](Plan& p) {
                  p.fallback = Fallback{{0.0}, nullptr};
                },
                false),
            "cannot write: error bounds or an in-order plan without the pass merge");
  EXPECT_EQ(error([](Plan& p) { p.passes.merge = false; }),
            "cannot write: error bounds or an in-order plan without the pass merge");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.provenance.given_edges = 1; }); }),
            "cannot write: its in-order plan belongs to another network");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers[0].bias.uniform = 0; }); }),
            "cannot write: layer 1: its in-order plan has different biases");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers[1].bias.values = Array<double>({0.3}); }); }),
            "cannot write: layer 2: its in-order plan has different biases");
  EXPECT_EQ(error([&](Plan& p) { in_order(p, [](Plan& o) { o.layers.pop_back(); }); }),
            "cannot write: layer 3: missing in its in-order plan");
  for (const bool merged : {false, true}) {
    EXPECT_EQ(error(
                  [](Plan& p) {
                    p.expansion[0] = Array<Index>({0, 1, 2});
                  },
                  merged),
              "cannot write: layer 1: an expansion of 3 neurons, expected 4");
    EXPECT_EQ(error(
                  [](Plan& p) {
                    p.expansion[0] = Array<Index>({0, 1, 2, 0, 1});
                  },
                  merged),
              "cannot write: layer 1: an expansion of 5 neurons, expected 4");
    EXPECT_EQ(error([](Plan& p) { p.expansion[1] = Array<Index>(); }, merged),
              "cannot write: layer 2: its expansion is missing");
  }
  EXPECT_EQ(error(
                [](Plan& p) {
                  p.passes.saturated = true;
                  p.cap.reset();
                },
                false),
            "cannot write: images are retired at a cap, but it has no cap");
}

TEST(Packed, CertificatesOfAPlanAreLookedInto) {
  EXPECT_NE(error_of_plan([](Plan& p) { p.certificates.saturated_from = 0; }, false)
                .find("at the cap are certified to stay there from too early"),
            std::string::npos);
  EXPECT_NE(error_of_plan([](Plan& p) { p.certificates.saturated_from = 0, p.cap.reset(); }, false)
                .find("a cap that cannot be"),
            std::string::npos);
  EXPECT_NE(error_of_plan([](Plan& p) { p.bias_rule = BiasRule::everywhere; }, false).find("stay zero from too early"),
            std::string::npos);
}

TEST(Packed, APlansNumbersAreThoseOfItsNetwork) {
  const Network network = stored_network();
  Plan plan = small_plan(network);
  plan.provenance.given_edges = 4711;
  Bytes file({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }),
            "f.spdnn: its plan is for 4711 edges, expected the network's 12");
  file.patch(offsetof(packed::Header, edges), Offset{4711});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }), "no error");
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: its header does not match the layers or edges of its network");

  plan = small_plan(network);
  plan.cap = 31.0;
  const Bytes capped({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(capped.open()); }),
            "f.spdnn: its plan has a different bias rule or cap from its network");
  plan = small_plan(network);
  plan.provenance.given_neurons[2] = 3;
  plan.expansion[1] = Array<Index>({kAlwaysZero, 0, 0});
  const Bytes wider({.network = &network, .plan = &plan});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(wider.open()); }),
            "f.spdnn: its plan has different numbers of neurons from its network");
}

TEST(Packed, ContentsAreReadFromTheHeader) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network = stored_network();
  const ImageSet images = small_images();
  const Plan plan = small_plan(network);
  write_packed(path, {.network = &network, .images = &images, .plan = &plan});
  PackedContents contents = packed_contents(path);
  EXPECT_TRUE(contents.network && contents.images && contents.plan);
  EXPECT_EQ(contents.layers, 3U);
  EXPECT_EQ(contents.edges, network.edges());
  EXPECT_EQ(contents.network_digest, network_digest(network));

  write_packed_images(path, images);
  contents = packed_contents(path);
  EXPECT_TRUE(!contents.network && contents.images && !contents.plan);
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_network(path, {}); }),
            path.string() + ": holds no network");
  EXPECT_EQ(testing::message_of<DataError>([&] { read_plan(path); }), path.string() + ": holds no plan");
  write_packed_network(path, network);
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, {}, {}); }),
            path.string() + ": holds no images");
}

TEST(Packed, WhatTheCallerKnowsMustFit) {
  const TemporaryDirectory directory;
  const auto path = directory / "n.spdnn";
  write_packed_network(path, stored_network());
  const auto read = [&](std::vector<Index> neurons, std::optional<Index> layers) {
    return testing::message_of<DataError>([&] { read_packed_network(path, {neurons, layers, {}}); });
  };
  EXPECT_EQ(read({3, 4, 2, 3}, {}), "no error");
  EXPECT_EQ(read({3, 4, 2}, 2), "no error");
  EXPECT_EQ(read({}, 0), "no error");
  EXPECT_EQ(read({3, 4, 2}, {}), path.string() + ": 3 layers, expected 2");
  EXPECT_EQ(read({}, 4), path.string() + ": holds 3 layers, expected at least 4");
  EXPECT_EQ(read({3}, {}), path.string() + ": layer 1 has 3 inputs and 4 outputs, expected 3 and 3");
  write_packed_images(path, small_bits());
  const Index neurons = small_bits().neurons();
  const Index images = small_bits().images();
  const auto read_set = [&](Index of, Index count) {
    return testing::message_of<DataError>([&] { read_packed_images(path, of, count); });
  };
  EXPECT_EQ(read_set(neurons, images + 1), "no error");
  for (const Index other : {neurons - 1, neurons + 1})
    EXPECT_EQ(read_set(other, images),
              fmt::format("{}: images of {} neurons, expected {}", path.string(), neurons, other));
  EXPECT_EQ(read_set(neurons, images - 1),
            fmt::format("{}: {} images, expected at most {}", path.string(), images, images - 1));
}

TEST(Packed, EveryChangedByteIsNoticed) {
  const OneThread one_thread;
  const Network network = stored_network();
  const ImageSet images = small_images();
  const Plan plan = small_merged_plan(network);
  Bytes file({.network = &network, .images = &images, .plan = &plan});
  const auto load_all = [&] {
    const PackedFile opened = file.open();
    load_network(opened, {});
    load_images(opened);
    load_plan(opened);
  };
  EXPECT_NO_THROW(load_all());
  for (std::size_t at = 0; at < file.bytes.size(); ++at) {
    const auto flip = std::byte{1} << at % 8;
    file.bytes[at] ^= flip;
    EXPECT_THROW(load_all(), DataError) << "byte " << at;
    file.bytes[at] ^= flip;
  }
}

TEST(Packed, EveryCutIsNoticed) {
  const OneThread one_thread;
  const Network network = stored_network();
  const Bytes file({.network = &network});
  EXPECT_NO_THROW(file.open());
  for (std::size_t size = 0; size < file.bytes.size(); ++size) {
    const std::string error = testing::message_of<DataError>([&] { file.open(size); });
    EXPECT_NE(error.find(size < 8 ? "f.spdnn: is " : "is cut short"), std::string::npos) << size << ": " << error;
  }
  Bytes longer = file;
  longer.bytes.resize(file.bytes.size() + 1);
  EXPECT_EQ(
      testing::message_of<DataError>([&] { longer.open(); }),
      fmt::format("f.spdnn: is cut short or too long: {} bytes, expected {}", longer.bytes.size(), file.bytes.size()));
}

constexpr const char* kRefusals = R"(f.spdnn: # inputs, expected at most # in # bytes, or an explicit number
f.spdnn: has another byte order or is corrupted; expected a little-endian packed file
f.spdnn: has version # of the packed format; expected # to #
f.spdnn: has version # of the packed format; expected version #
f.spdnn: is corrupted: a record names a section of records
f.spdnn: is corrupted: images: # entries, expected # in each of # rows
f.spdnn: is corrupted: images: a column is outside #..#
f.spdnn: is corrupted: images: a neuron is outside #..#
f.spdnn: is corrupted: images: a value is not finite
f.spdnn: is corrupted: images: a value outside the palette
f.spdnn: is corrupted: images: empty rows without offsets
f.spdnn: is corrupted: images: it refers to a section that its values do not need
f.spdnn: is corrupted: images: its value is not finite
f.spdnn: is corrupted: images: more than #^#-# rows or columns
f.spdnn: is corrupted: images: offsets descend or lead outside the matrix
f.spdnn: is corrupted: invalid record of images
f.spdnn: is corrupted: it continues after its last section
f.spdnn: is corrupted: its description: an unknown bias rule
f.spdnn: is corrupted: its description: cap is not positive
f.spdnn: is corrupted: its description: not as long as its layers need
f.spdnn: is corrupted: its header does not match its sections
f.spdnn: is corrupted: its header does not match the layers or edges of its network
f.spdnn: is corrupted: its plan: a certificate begins after the last layer
f.spdnn: is corrupted: its plan: an error bound is negative or not a number
f.spdnn: is corrupted: its plan: expected one error bound for each layer
f.spdnn: is corrupted: its plan: its in-order plan belongs to another network
f.spdnn: is corrupted: its plan: its in-order plan has different passes
f.spdnn: is corrupted: its plan: its inputs differ from the network's
f.spdnn: is corrupted: its plan: layer #: its expansion is missing
f.spdnn: is corrupted: its plan: layer #: its expansion refers to neurons that are not stored
f.spdnn: is corrupted: its plan: layer #: its in-order plan has different biases
f.spdnn: is corrupted: its plan: layer #: its in-order plan has different neurons
f.spdnn: is corrupted: its plan: rows at the cap are certified to stay there from too early a layer
f.spdnn: is corrupted: layer #: # entries, expected # in each of # rows
f.spdnn: is corrupted: layer #: # inputs, expected #
f.spdnn: is corrupted: layer #: a bias is not finite
f.spdnn: is corrupted: layer #: a column is outside #..#
f.spdnn: is corrupted: layer #: a value is not finite
f.spdnn: is corrupted: layer #: a value outside the palette
f.spdnn: is corrupted: layer #: bias is not finite
f.spdnn: is corrupted: layer #: it refers to a section that its values do not need
f.spdnn: is corrupted: layer #: its value is not finite
f.spdnn: is corrupted: layer #: more than #^#-# rows or columns
f.spdnn: is corrupted: layer #: offsets descend or lead outside the matrix
f.spdnn: is corrupted: layer #: row # holds column # twice, expected once
f.spdnn: is corrupted: layer #: values of # bytes, expected #, #, # or #
f.spdnn: is corrupted: more than #^#-# images or neurons
f.spdnn: is corrupted: section # has # bytes, expected # numbers of # bytes
f.spdnn: is corrupted: section # has an unexpected kind
f.spdnn: is corrupted: section # is at an unexpected offset
f.spdnn: is corrupted: section # is used twice
f.spdnn: is corrupted: the gap before section # is not zero
f.spdnn: is corrupted: the plan has unknown passes
f.spdnn: is corrupted: the table of sections leads outside the file
f.spdnn: is corrupted: there is no section #
f.spdnn: is not a packed spdnn file: its first bytes differ
f.spdnn: its plan has a different bias rule or cap from its network
f.spdnn: its plan has different numbers of neurons from its network
f.spdnn: its plan is for # edges, expected the network's #
f.spdnn: its plan was made for another network (digest #, expected #)
no error
)";
constexpr const char* kRefusalsByNumber = R"(a bit is set beyond the last neuron
a neuron is out of range, or occurs twice
a value outside the palette
f.spdnn: has another byte order or is corrupted; expected a little-endian packed file
f.spdnn: has version # of the packed format; expected # to #
f.spdnn: has version # of the packed format; expected version #
f.spdnn: is corrupted: images: # entries, expected # in each of # rows
f.spdnn: is corrupted: images: a value is not finite
f.spdnn: is corrupted: images: empty rows without offsets
f.spdnn: is corrupted: images: it refers to a section that its values do not need
f.spdnn: is corrupted: images: its value is not finite
f.spdnn: is corrupted: images: offsets descend or lead outside the matrix
f.spdnn: is corrupted: its header does not match its sections
f.spdnn: is corrupted: its images have too many or too few entries
f.spdnn: is corrupted: more than #^#-# images or neurons, or no neurons
f.spdnn: is corrupted: section # has # bytes, expected # numbers of # bytes
f.spdnn: is corrupted: section # has an unexpected kind
f.spdnn: is corrupted: section # is at an unexpected offset
f.spdnn: is corrupted: the gap before section # is not zero
f.spdnn: is corrupted: the table of sections leads outside the file
f.spdnn: is corrupted: there is no section #
f.spdnn: is not a packed spdnn file: its first bytes differ
no error
)";

/// Loads what the file holds; what loads is sound.
void load_all(const PackedFile& file) {
  load_network(file, {}).network.validate();
  load_images(file).to_csr().validate();
  if (!file.find(packed::Kind::plan)) return;
  const Plan plan = load_plan(file);
  Network{plan.layers, plan.bias_rule, plan.cap}.validate();
}

/// The images one by one, as ranks load those that are dealt to them.
void load_by_number(const PackedFile& file) {
  const PackedImageLayout layout = read_image_layout(file);
  std::vector<Index> ids(layout.images);
  std::iota(ids.begin(), ids.end(), Index{0});
  read_some_images(file, layout, ids).to_csr().validate();
}

/// Decimal and hexadecimal numbers are one sign each.
std::string without_numbers(const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    const bool word = text.find_first_of("0123456789", at) >= end && end - at < 16;
    left += word ? text.substr(at, std::max(end - at, std::size_t{1})) : "#";
    at = std::max(end, at + 1);
  }
  return left;
}

/// Changes one byte, or eight to ones (no finite number, no section), with right checksums, as a faulty or hostile
/// writer would make them, and adds why the files are refused, without numbers.
void add_refusals(const Bytes& file, void (*load)(const PackedFile&), std::set<std::string>& all) {
  for (std::size_t at = 0; at < file.bytes.size(); ++at)
    for (const int change : {0x01, 0xff, 0x100}) {
      if (change == 0x100 && at % 8 != 0) continue;
      Bytes changed = file;
      if (change == 0x100)
        std::fill_n(changed.bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(8UL, file.bytes.size() - at),
                    std::byte{0xff});
      else
        changed.bytes[at] ^= std::byte(change);
      packed::seal(changed.bytes);
      all.insert(without_numbers(testing::message_of<DataError>([&] { load(changed.open()); })));
    }
}

TEST(Packed, BehindTheChecksumsEverythingIsChecked) {
  const OneThread one_thread;
  const Network network = stored_network();
  const ImageSet bits = small_bits();
  const Plan plan = small_merged_plan(network);
  const ImageSet numbers = small_images();
  Network coded;
  coded.layers.push_back({row_of_values(6, 2), {}});
  std::set<std::string> all;
  add_refusals(Bytes({.network = &network, .images = &bits, .plan = &plan}), load_all, all);
  add_refusals(Bytes({.network = &coded, .images = &numbers}), load_all, all);
  EXPECT_EQ(fmt::format("{}\n", fmt::join(all, "\n")), kRefusals);
  all.clear();
  add_refusals(Bytes({.images = &numbers}), load_by_number, all);
  add_refusals(Bytes({.images = &bits}), load_by_number, all);
  EXPECT_EQ(fmt::format("{}\n", fmt::join(all, "\n")), kRefusalsByNumber);
}

/// The offset of the only section of that many bytes.
std::uint64_t section_of(const Bytes& file, std::uint64_t bytes) {
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

TEST(Packed, StreamedLayersAreCheckedAsWholeNetworksAre) {
  const OneThread one_thread;
  Network coded;
  coded.layers.push_back({row_of_values(6, 2), {}});
  for (const Network& network : {stored_network(), coded}) {
    const Bytes file({.network = &network});
    for (std::size_t at = 0; at < file.bytes.size(); ++at)
      for (const int change : {0x01, 0xff}) {
        Bytes changed = file;
        changed.bytes[at] ^= std::byte(change);
        packed::seal(changed.bytes);
        const std::string whole =
            testing::message_of<DataError>([&] { load_network(changed.open(), {}).network.validate(); });
        const std::string streamed = testing::message_of<DataError>([&] {
          const std::shared_ptr<std::byte> copy = allocate_bytes(changed.bytes.size());
          std::memcpy(copy.get(), changed.bytes.data(), changed.bytes.size());
          const NetworkStream stream =
              open_network(std::make_unique<const PackedFile>("f.spdnn", copy, changed.bytes.size()), {});
          stream.layers->read_some(0, static_cast<Index>(stream.layers->shapes().size()));
        });
        EXPECT_EQ(whole == "no error", streamed == "no error") << at << ": " << whole << " | " << streamed;
      }
  }
}

TEST(Packed, StreamedLayersShareNoSection) {
  const Layer layer{matrix_of(2, {{0, 1}, {1}}, {1.0F, 2.0F, 3.0F}), {0, Array<double>({0.5, 0.25})}};
  const Network network{.layers = {layer, layer}};
  const Bytes sound({.network = &network});
  const PackedFile whole = sound.open();
  const std::size_t first =
      whole.entry(whole.require(packed::Kind::network, "network")).offset + sizeof(packed::ChainRecord);
  using packed::LayerRecord;
  for (const std::size_t field : {offsetof(LayerRecord, weights.offsets), offsetof(LayerRecord, weights.indices),
                                  offsetof(LayerRecord, weights.values), offsetof(LayerRecord, biases)}) {
    Bytes file = sound;
    std::uint32_t section = 0;
    std::memcpy(&section, file.bytes.data() + first + field, sizeof section);
    file.patch(first + sizeof(LayerRecord) + field, section);
    packed::seal(file.bytes);
    const std::shared_ptr<std::byte> copy = allocate_bytes(file.bytes.size());
    std::memcpy(copy.get(), file.bytes.data(), file.bytes.size());
    EXPECT_EQ(testing::message_of<DataError>(
                  [&] { open_network(std::make_unique<const PackedFile>("f.spdnn", copy, file.bytes.size()), {}); }),
              fmt::format("f.spdnn: is corrupted: section {} is used twice", section));
  }
}

TEST(Packed, ShapesOfStreamedLayersAreThoseOfTheLayers) {
  const TemporaryDirectory directory;
  const Network network = stored_network();
  write_packed_network(directory / "n.spdnn", network);
  const NetworkStream stream = open_packed_network(directory / "n.spdnn", {});
  EXPECT_EQ(stream.digest, network_digest(network));
  EXPECT_EQ(stream.cap, network.cap);
  const auto& shapes = stream.layers->shapes();
  ASSERT_EQ(shapes.size(), 3U);
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const Layer& layer = network.layers[k];
    EXPECT_EQ(shapes[k].inputs, layer.inputs());
    EXPECT_EQ(shapes[k].outputs, layer.outputs());
    EXPECT_EQ(shapes[k].edges, layer.weights.entries());
    expect_equal(std::vector<Layer>{stream.layers->read(static_cast<Index>(k))}, std::vector<Layer>{layer});
  }
  EXPECT_EQ(shapes[0].weight, std::optional(1.0F));
  EXPECT_EQ(shapes[1].weight, std::nullopt);
  EXPECT_EQ(shapes[0].bias, std::optional(-0.3));
  EXPECT_EQ(shapes[1].bias, std::nullopt);
  EXPECT_EQ(shapes[0].degree, std::optional<Offset>(2));
  EXPECT_EQ(shapes[1].degree, std::nullopt);
  EXPECT_EQ(open_packed_network(directory / "n.spdnn", {{}, 2, {}}).digest, 0U) << "of a part";
}

/// Layers of which one is another when it is read again.
class ChangingLayers final : public LayerStream {
 public:
  ChangingLayers(const Layer& first, Layer second)
      : LayerStream(testing::CopiedLayers({first}).shapes()), layers_{first, std::move(second)} {}
  Layer read(Index) const override { return layers_[std::min<std::size_t>(reads_++, 1)]; }

 private:
  std::vector<Layer> layers_;
  mutable std::size_t reads_ = 0;
};

TEST(Packed, AStreamIsWrittenAsItsNetworkUnlessItChangesMeanwhile) {
  const TemporaryDirectory directory;
  const Network network = stored_network();
  const NetworkStream stream{.layers = std::make_shared<testing::CopiedLayers>(network.layers),
                             .bias_rule = network.bias_rule,
                             .cap = network.cap};
  Plan plan = small_plan(network);
  plan.provenance.network_digest = 0;  // not known before the stream has been read
  write_packed(directory / "n.spdnn", {.stream = &stream, .plan = &plan});
  expect_equal(read_packed_network(directory / "n.spdnn", {}).network, network);
  plan.provenance.network_digest = network_digest(network);
  expect_equal(read_plan(directory / "n.spdnn"), plan);

  const Layer& layer = network.layers[0];
  Layer with_biases = layer;
  with_biases.bias.values = Array<double>({1, 2, 3, 4});
  Layer irregular = layer;
  irregular.weights = matrix_of(3, {{0, 2}, {1, 2, 0}, {0}, {2, 0}});
  for (const Layer& other : {with_biases, irregular}) {
    for (const bool first : {false, true}) {
      const NetworkStream changing{.layers =
                                       std::make_shared<ChangingLayers>(first ? other : layer, first ? layer : other)};
      EXPECT_EQ(testing::message_of<DataError>([&] { write_packed(directory / "c.spdnn", {.stream = &changing}); }),
                (directory / "c.spdnn").string() + ": cannot write: layer 1 has changed since its first pass");
    }
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "c.spdnn"));
}

/// Images whose values are all equal, of a palette, and as they are; of few neurons and of many.
std::vector<ImageSet> images_of_all_kinds() {
  std::vector<ImageSet> all;
  for (const Index neurons : {7U, 70000U}) {
    const std::vector<std::vector<Index>> rows{{0, neurons - 1}, {}, {1, 2, 6}, {neurons - 1}, {3}};
    all.push_back({matrix_of(neurons, rows)});
    all.push_back({matrix_of(neurons, rows, {0.5F, 0.25F, 0.5F, 0.25F, 0.5F, 0.25F, 0.5F})});
    all.push_back({matrix_of(neurons, rows, {1, 2, 3, 4, 5, 6, 7})});
    all.push_back({ImageSet{matrix_of(neurons, rows)}.to_bits()});
  }
  return all;
}

TEST(Packed, ImagesAreReadByNumberAsTheyAreReadTogether) {
  for (const ImageSet& images : images_of_all_kinds()) {
    const Bytes bytes({.images = &images});
    const PackedFile file = bytes.open();
    const PackedImageLayout layout = read_image_layout(file);
    EXPECT_EQ(layout.images, 5U);
    for (const std::vector<Index>& ids : std::vector<std::vector<Index>>{{0, 1, 2, 3, 4}, {2, 3}, {0, 2, 4}, {1}, {}})
      expect_equal(read_some_images(file, layout, ids).to_csr(), images.select(ids).to_csr());
    expect_equal(load_images(file).to_csr(), images.to_csr());
  }
}

TEST(Packed, DamagedImagesAreRefusedByNumberToo) {
  const auto error_of = [](const Bytes& bytes) {
    return testing::message_of<DataError>([&] {
      const PackedFile file = bytes.open();
      read_some_images(file, read_image_layout(file), std::vector<Index>{0, 1});
    });
  };
  for (const Index cols : {4U, 70000U}) {
    for (const std::vector<Index>& row : {std::vector<Index>{1, 1}, {2, 0, 2}}) {
      const ImageSet twice{matrix_of(cols, {{0}, row})};
      // Writing does not look for repeated entries.
      EXPECT_EQ(error_of(Bytes({.images = &twice})), "a neuron is out of range, or occurs twice");
    }
    const ImageSet unordered{matrix_of(cols, {{0}, {2, 0}})};
    EXPECT_EQ(error_of(Bytes({.images = &unordered})), "no error");
    const ImageSet last{matrix_of(cols, {{0, 1}, {cols - 1}})};
    Bytes outside({.images = &last});
    if (cols > packed::kNarrowColumns)
      outside.patch(section_of(outside, 3 * sizeof(Index)) + 2 * sizeof(Index), cols);
    else
      outside.patch(section_of(outside, 3 * sizeof(std::uint16_t)) + 2 * sizeof(std::uint16_t),
                    static_cast<std::uint16_t>(cols));
    packed::seal(outside.bytes);
    EXPECT_EQ(error_of(outside), "a neuron is out of range, or occurs twice");
  }
  const ImageSet coded{matrix_of(9, {{0, 1, 2, 3}, {4, 5, 6}}, {1, 2, 1, 2, 1, 2, 1})};
  Bytes palette({.images = &coded});
  palette.patch(section_of(palette, 7) + 6, std::uint8_t{2});
  packed::seal(palette.bytes);
  EXPECT_EQ(error_of(palette), "a value outside the palette");
  const ImageSet plain{matrix_of(9, {{0, 1}, {4, 5, 6}}, {1, 2, 3, 4, 5})};
  Bytes infinite({.images = &plain});
  infinite.patch(section_of(infinite, 5 * sizeof(float)) + 4 * sizeof(float), std::numeric_limits<float>::infinity());
  packed::seal(infinite.bytes);
  EXPECT_EQ(error_of(infinite), "a value is not finite");
}

TEST(Packed, FieldsThatNothingElseComparesAreChecked) {
  const Network network = stored_network();
  const Plan plan = small_plan(network);
  const Bytes sound({.network = &network, .plan = &plan});
  const PackedFile whole = sound.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::plan, "plan")).offset;
  const auto error_of = [&](std::size_t offset, auto value) {
    Bytes file = sound;
    file.patch(offset, value);
    packed::seal(file.bytes);
    return testing::message_of<DataError>([&] {
      const PackedFile opened = file.open();
      load_network(opened, {});
      load_plan(opened);
    });
  };
  for (const std::uint32_t layers : {2U, 4U})
    EXPECT_EQ(error_of(offsetof(packed::Header, layers), layers),
              "f.spdnn: is corrupted: its header does not match the layers or edges of its network");
  for (const Offset edges : {network.edges() - 1, network.edges() + 1})
    EXPECT_EQ(error_of(offsetof(packed::Header, edges), edges),
              "f.spdnn: is corrupted: its header does not match the layers or edges of its network");
  for (std::uint32_t section = 0; section < whole.sections(); ++section)
    EXPECT_EQ(error_of(sizeof(packed::Header) + section * sizeof(packed::SectionEntry) +
                           offsetof(packed::SectionEntry, reserved),
                       std::uint32_t{1}),
              fmt::format("f.spdnn: is corrupted: section {} has an unexpected kind", section));
  for (const std::size_t field : {offsetof(packed::ChainRecord, passes), offsetof(packed::ChainRecord, requested)}) {
    EXPECT_EQ(error_of(record + field, std::uint16_t{0x40}), "f.spdnn: is corrupted: the plan has unknown passes");
    EXPECT_EQ(error_of(record + field, std::uint16_t{0x8000}), "f.spdnn: is corrupted: the plan has unknown passes");
  }
}

TEST(Packed, AColumnTwiceIsFoundWhereverItIsInALongRow) {
  constexpr Index kCount = 70'000;                     // more than are looked over at a time
  for (const Index cols : {Index{65536}, kCount + 1})  // columns of two bytes and of four
    for (const Index place : {10U, 32769U}) {
      std::vector<Index> row(std::min<Index>(kCount, cols));
      std::iota(row.begin(), row.end(), Index{0});
      row[place] = row[place - 1];
      Network network;
      network.layers.push_back({matrix_of(cols, {row}), {}});
      const Bytes file({.network = &network});
      EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
                fmt::format("f.spdnn: is corrupted: layer 1: row 1 holds column {} twice, expected once", place));
    }
}

TEST(Packed, ZerosOfBothSignsAreKept) {
  expect_round_trip(matrix_of(4, {{0, 1, 2, 3}}, {0.0F, -0.0F, 0.0F, -0.0F}));
  expect_round_trip(matrix_of(4, {{0, 1, 2, 3}}, {-0.0F, -0.0F, -0.0F, -0.0F}));
}

TEST(Packed, APlanInOrderWithoutErrorBoundsIsRefused) {
  const Network network = stored_network();
  const Plan plan = small_merged_plan(network);
  Bytes file({.network = &network, .plan = &plan});
  const PackedFile whole = file.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::plan, "plan")).offset;
  file.patch(record + offsetof(packed::ChainRecord, error_bounds), packed::kNone);
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_plan(file.open()); }),
            "f.spdnn: is corrupted: its plan: expected one error bound for each layer");
}

TEST(Packed, ACapThatIsNoPositiveNumberIsRefused) {
  const Network network = stored_network();
  Bytes file({.network = &network});
  const PackedFile whole = file.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::network, "network")).offset;
  const auto error_of_cap = [&](double cap) {
    file.patch(record + offsetof(packed::ChainRecord, cap), cap);
    packed::seal(file.bytes);
    return testing::message_of<DataError>([&] { load_network(file.open(), {}); });
  };
  EXPECT_EQ(error_of_cap(*network.cap), "no error");
  for (const double cap : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(error_of_cap(cap), "f.spdnn: is corrupted: its description: cap is not positive");
}

TEST(Packed, AValueOutsideThePaletteIsRefused) {
  Network network;
  network.layers.push_back({row_of_values(100, 3), {}});
  Bytes file({.network = &network});
  const PackedFile opened = file.open();
  for (std::uint32_t section = 0; section < opened.sections(); ++section)
    if (opened.entry(section).bytes == 100) file.patch(opened.entry(section).offset + 99, std::uint8_t{3});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: layer 1: a value outside the palette");
}

TEST(Packed, OffsetsThatDescendBetweenTwoBlocksAreRefused) {
  constexpr std::size_t kOffsets = packed::kBlockBytes / sizeof(Offset);  // of a block, checked alone
  std::vector<std::vector<Index>> rows(2 * kOffsets);
  rows.back() = {0, 2};
  Network network;
  network.layers.push_back({matrix_of(3, rows), {}});
  Bytes file({.network = &network});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
  const std::uint64_t offsets = section_of(file, (rows.size() + 1) * sizeof(Offset));
  file.patch(offsets + (kOffsets - 1) * sizeof(Offset), Offset{1});  // 0 ... 0 1 | 0 0 ... 0 2
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: layer 1: offsets descend or lead outside the matrix");
}

TEST(Packed, ABitAfterTheLastNeuronIsRefusedInEveryBlock) {
  constexpr Index kImages = 30'000;  // of three words: blocks begin within images
  BitMatrix bits;
  bits.rows = kImages;
  bits.cols = 130;
  bits.words = Array<std::uint64_t>(std::vector<std::uint64_t>(std::size_t{3} * kImages, 3));
  const ImageSet images{bits};
  const Bytes sound({.images = &images});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_images(sound.open()); }), "no error");
  const std::uint64_t words = section_of(sound, std::uint64_t{3} * kImages * sizeof(std::uint64_t));
  constexpr Index kSecond = packed::kBlockBytes / sizeof(std::uint64_t) / 3;  // which the second block cuts
  for (const Index image : {Index{0}, kSecond - 1, kSecond, kSecond + 1, kImages - 1}) {
    Bytes file = sound;
    file.patch(words + (std::uint64_t{3} * image + 2) * sizeof(std::uint64_t), std::uint64_t{4});
    packed::seal(file.bytes);
    EXPECT_EQ(testing::message_of<DataError>([&] { load_images(file.open()); }),
              "f.spdnn: is corrupted: images: a neuron is outside 1..130")
        << image;
  }
}

TEST(Packed, AColumnAfterTheLastIsRefusedInNarrowAndWideMatrices) {
  for (const Index cols : {70000U, 300U}) {
    const bool wide = cols > packed::kNarrowColumns;
    Network network;
    network.layers.push_back({matrix_of(cols, {{0, 7, cols - 1}, {}}), {}});
    Bytes file({.network = &network});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
    const std::uint64_t columns = section_of(file, 3 * (wide ? sizeof(Index) : sizeof(std::uint16_t)));
    if (wide)
      file.patch(columns + 2 * sizeof(Index), cols);
    else
      file.patch(columns + 2 * sizeof(std::uint16_t), static_cast<std::uint16_t>(cols));
    packed::seal(file.bytes);
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
              "f.spdnn: is corrupted: layer 1: a column is outside 1.." + std::to_string(cols));
  }
}

TEST(Packed, ForeignFilesAreNamedAsSuch) {
  const TemporaryDirectory directory;
  const auto path = directory / "f.spdnn";
  const auto error_of = [&](const std::string& content) {
    std::ofstream(path) << content;
    return testing::message_of<DataError>([&] { packed_contents(path); });
  };
  EXPECT_EQ(error_of(""), path.string() + ": is empty; expected a packed spdnn file");
  EXPECT_EQ(error_of("1\t1\t0.0625\n"), path.string() + ": is not a packed spdnn file: its first bytes differ");
  EXPECT_EQ(error_of("\x89SPDNN\r\n"), path.string() + ": is cut short: 8 bytes, expected at least 128");

  const Network network = stored_network();
  Bytes file({.network = &network});
  Bytes changed = file;
  changed.bytes[sizeof(packed::Header)] ^= std::byte{1};
  EXPECT_EQ(testing::message_of<DataError>([&] { changed.open(); }),
            "f.spdnn: is corrupted: the table's checksum differs");
  file.patch(offsetof(packed::Header, version), std::uint32_t{2});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { file.open(); }),
            "f.spdnn: has version 2 of the packed format; expected version 1");
  file.patch(offsetof(packed::Header, byte_order), std::uint32_t{0x04030201});
  EXPECT_NE(testing::message_of<DataError>([&] { file.open(); }).find("byte order"), std::string::npos);
}

TEST(Packed, WhatIsNoNetworkIsNotWritten) {
  const TemporaryDirectory directory;
  const auto path = directory / "n.spdnn";
  Network network = stored_network();
  network.layers[1].weights.values = Array<float>({0.5F, 1, 2, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed_network(path, network); }),
            path.string() + ": cannot write: layer 2: a value is not finite");
  Plan plan = small_plan(stored_network());
  plan.expansion[0] = Array<Index>({0, 1, 2, 3});
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed(path, {.plan = &plan}); }),
            path.string() + ": cannot write: layer 1: its expansion refers to neurons that are not stored");
  for (const ImageSet& images :
       {ImageSet{matrix_of(3, {{0, 3}})}, ImageSet{matrix_of(3, {{0}}, {std::numeric_limits<float>::infinity()})}})
    EXPECT_NE(testing::message_of<DataError>([&] { write_packed_images(path, images); }).find(": cannot write: "),
              std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed_network("/dev/full", stored_network()); }),
            "/dev/full: cannot write: No space left on device");
}

/// The seeds of the fuzzer were written by the first program with version 1; every later program must read them.
TEST(Packed, FilesOfVersionOneStayReadable) {
  const auto seeds = std::filesystem::path(__FILE__).parent_path() / "../../../fuzz/corpus/packed";
  const Network network = stored_network();
  expect_equal(read_packed_network(seeds / "network.spdnn", {}).network, network);
  expect_equal(read_packed_images(seeds / "images.spdnn", {}, {}).sparse(), small_images().sparse());
  expect_equal(read_packed_images(seeds / "bits.spdnn", {}, {}).to_csr(), small_bits().to_csr());
  expect_equal(read_plan(seeds / "plan.spdnn"), small_merged_plan(network));
  EXPECT_EQ(packed_contents(seeds / "network.spdnn").network_digest, network_digest(network));
}

TEST(NetworkDigest, IsTheNetworksOwn) {
  const Network network = stored_network();
  const auto changed = [&](const std::function<void(Network&)>& change) {
    Network other = network;
    change(other);
    return network_digest(other);
  };
  const std::uint64_t digest = network_digest(network);
  EXPECT_NE(digest, changed([](Network& n) { n.cap = 31; }));
  EXPECT_NE(digest, changed([](Network& n) { n.cap.reset(); }));
  EXPECT_NE(digest, changed([](Network& n) { n.bias_rule = BiasRule::everywhere; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers.pop_back(); }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[0].bias.uniform = -0.35; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[0].weights.value = 0.5F; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[1].bias.values = Array<double>({-0.1, 0.3}); }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[2].weights.cols = 3; }));
  EXPECT_NE(digest, changed([](Network& n) {
              n.layers[0].weights.indices = Array<Index>({0, 2, 1, 2, 0, 1, 0, 2});  // summed in another order
            }));
  // The same numbers stored in another way.
  EXPECT_EQ(digest, changed([](Network& n) {
              n.layers[0].weights.values = Array<float>(std::vector<float>(8, 1.0F));
              n.layers[0].weights.value = 3.0F;
              n.layers[0].bias = {0.0, Array<double>(std::vector<double>(4, -0.3))};
              n.layers[2].weights.value = 5.0F;
            }));
}

}  // namespace
}  // namespace spdnn

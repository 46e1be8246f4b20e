#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"
#include "io/packed/image_layout.hpp"
#include "io/packed/layers.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/packed_samples.hpp"
#include "support/streamed.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Bytes;
using testing::expect_equal;
using testing::matrix_of;
using testing::OneThread;
using testing::row_of_values;
using testing::section_of;
using testing::small_plan;
using testing::stored_network;

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

}  // namespace
}  // namespace spdnn

// Packed files, changed section by section and given the right checksums again, so that the checks after those of the
// checksums are reached. What loads must be sound, and a bit changed afterwards must not go unnoticed.

#include <optional>

#include "fuzz/harness.hpp"
#include "fuzz/packed_editor.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"

namespace {

using namespace spdnn;
using fuzz::attempt;
using fuzz::require;

/// The digest of what could be loaded.
struct Loaded {
  std::optional<std::uint64_t> network, images, plan;
};

void require_padding(const ImageSet& images) {
  if (images.images() > 1000 || images.neurons() > 1000) return;
  const Index more = images.images() + images.neurons() % 70;
  const ImageSet padded = fit_images("fuzz.spdnn", images, images.neurons(), more);
  fuzz::require_sound(padded);
  require(padded.images() == more && padded.nonzeros() == images.nonzeros(), "images of zeros are added");
  require(fuzz::digest_of(padded.slice(0, images.images()).to_csr()) == fuzz::digest_of(images.to_csr()),
          "padding changes no image");
}

/// The digest of the network, read layer by layer.
std::optional<std::uint64_t> streamed_digest(const std::shared_ptr<const std::byte>& data, std::size_t size) {
  std::optional<std::uint64_t> digest;
  attempt([&] {
    const NetworkStream stream = open_network(std::make_unique<const PackedFile>("fuzz.spdnn", data, size), {});
    std::vector<std::uint64_t> layers;
    for (Index k = 0; k < stream.depth(); ++k) layers.push_back(layer_digest(stream.layers->read(k)));
    digest = network_digest(stream.bias_rule, stream.cap, layers);
  });
  return digest;
}

Loaded load_all(const std::shared_ptr<const std::byte>& data, std::size_t size) {
  Loaded loaded;
  attempt([&] {
    const PackedFile file("fuzz.spdnn", data, size);
    attempt([&] {
      const Network network = load_network(file, {}).network;
      network.validate();
      loaded.network = network_digest(network);
    });
    const auto streamed = streamed_digest(data, size);
    require(streamed == loaded.network, "a network is read in one go where it is layer by layer, and as the same");
    attempt([&] {
      const ImageSet images = load_images(file);
      fuzz::require_sound(images);
      require_padding(images);
      loaded.images = fuzz::digest_of(images);
    });
    attempt([&] {
      const Plan plan = load_plan(file);
      fuzz::require_sound(plan);
      loaded.plan = fuzz::digest_of(plan);
    });
  });
  return loaded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  const std::shared_ptr<std::byte> data = fuzz::packed_input(bytes, size);
  const Loaded before = load_all(data, size);
  if (!before.network && !before.images && !before.plan) return 0;

  std::mt19937 random(static_cast<unsigned>(size) + 31U * bytes[size / 2] + 8191U * bytes[size - 1]);
  data.get()[random() % size] ^= std::byte{1} << random() % 8;
  const Loaded after = load_all(data, size);
  for (const auto part : {&Loaded::network, &Loaded::images, &Loaded::plan})
    require(!(after.*part) || after.*part == before.*part, "no changed bit goes unnoticed");
  return 0;
}

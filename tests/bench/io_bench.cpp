// Read rates of files in the page cache. usage: io_bench [LAYERS_DIR NEURONS IMAGES.tsv]
// Without arguments it writes files of the official form (32 edges of weight 1/16 per neuron, images one tenth full,
// sorted as the official ones) and reads them back, and does the same for a packed network. Each figure is the median
// of kRuns. "per core" divides by the CPU time of all threads, spinning included, so that the figure does not flatter.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/threads/parallel.hpp"
#include "spdnn/files.hpp"

namespace {

using namespace spdnn;  // NOLINT(google-build-using-namespace): a program, not a header

constexpr int kRuns = 5;

struct Seconds {
  double wall;
  double cpu;
};

Seconds median_seconds(const std::function<void()>& work) {
  std::vector<double> wall;
  std::vector<double> cpu;
  for (int run = 0; run <= kRuns; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const std::clock_t cpu_begin = std::clock();
    work();
    if (run == 0) continue;  // brings the file into the page cache
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    cpu.push_back(static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  return {wall[kRuns / 2], cpu[kRuns / 2]};
}

void report(const std::string& what, std::uintmax_t bytes, const Seconds& seconds) {
  const double megabytes = static_cast<double>(bytes) / 1e6;
  fmt::print("{:<28} {:8.1f} MB {:8.1f} MB/s wall {:8.1f} MB/s per core\n", what, megabytes, megabytes / seconds.wall,
             megabytes / seconds.cpu);
}

CsrMatrix official_form_layer(Index neurons, std::mt19937_64& random) {
  constexpr Index kDegree = 32;
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index row = 0; row < neurons; ++row) {
    for (Index k = 0; k < kDegree; ++k)  // one in each 32nd part of the inputs: distinct and ascending
      indices.push_back(k * (neurons / kDegree) + static_cast<Index>(random() % (neurons / kDegree)));
    offsets.push_back(indices.size());
  }
  CsrMatrix layer;
  layer.rows = layer.cols = neurons;
  layer.offsets = Array<Offset>(std::move(offsets));
  layer.indices = Array<Index>(std::move(indices));
  layer.value = 0.0625F;
  return layer;
}

ImageSet official_form_images(Index neurons, Index images, std::mt19937_64& random) {
  BitMatrix bits;
  bits.rows = images;
  bits.cols = neurons;
  std::vector<std::uint64_t> words(images * bits.words_per_row());
  for (std::uint64_t& word : words) word = random() & random() & random();
  bits.words = Array<std::uint64_t>(std::move(words));
  return {bits};
}

void bench_tsv(const Path& layers, Index neurons, const Path& images) {
  std::uintmax_t layer_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(layers)) layer_bytes += entry.file_size();
  report("TSV layers", layer_bytes, median_seconds([&] { read_network(layers, {.neurons = {neurons}}); }));
  report("TSV images", std::filesystem::file_size(images), median_seconds([&] { read_images(images, neurons, {}); }));
}

/// Reads a packed network several times as large as the caches, and for comparison copies, with all threads, as many
/// bytes as it becomes in memory into memory that is as new as the reader's. (The reader also checks checksums and
/// indices.)
void bench_packed(const Path& file, const Layer& layer) {
  constexpr std::size_t kLayers = 64;
  Network network;
  network.layers.assign(kLayers, layer);
  write_network(file, Form::packed, network);
  const Seconds packed = median_seconds([&] { read_network(file, {}); });
  report("packed network, file", std::filesystem::file_size(file), packed);
  const std::size_t bytes = network.bytes();
  report("packed network, in memory", bytes, packed);
  const std::vector<std::byte> from(bytes, std::byte{1});
  const Seconds copy = median_seconds([&] {
    const auto to = allocate<std::byte>(bytes);
    parallel_ranges(bytes, static_cast<std::size_t>(host_threads()), [&](auto, auto begin, auto end) {
      std::copy(from.begin() + begin, from.begin() + end, to.get() + begin);
    });
  });
  report("plain copy of as many", bytes, copy);
  fmt::print("packed takes {:.2f} times the time and {:.2f} times the CPU time of the plain copy\n",
             packed.wall / copy.wall, packed.cpu / copy.cpu);
}

void bench_official_form(const Path& directory, Index neurons, Index layers, Index image_count) {
  std::mt19937_64 random(1);
  Network network;
  for (Index k = 0; k < layers; ++k) network.layers.push_back({official_form_layer(neurons, random), {}});
  fmt::print("{} neurons, {} layers, {} images\n", neurons, layers, image_count);
  const Path images = directory / fmt::format("sparse-images-{}.tsv", neurons);
  write_images(images, official_form_images(neurons, image_count, random));
  write_network(directory / "layers", Form::tsv, network);
  bench_tsv(directory / "layers", neurons, images);
  std::filesystem::remove_all(directory / "layers");
  std::filesystem::remove(images);
  if (neurons == 65536) bench_packed(directory / "network.spdnn", network.layers[0]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    bench_tsv(argv[1], narrow<Index>(std::stoul(argv[2])), argv[3]);
    return 0;
  }
  const Path directory = std::filesystem::temp_directory_path() / fmt::format("spdnn.io_bench.{}", ::getpid());
  std::filesystem::create_directories(directory);
  bench_official_form(directory, 1024, 120, 60000);
  bench_official_form(directory, 65536, 8, 6000);
  std::filesystem::remove_all(directory);
}

// How fast files are read from the page cache. usage: io_bench [LAYERS_DIR NEURONS IMAGES.tsv]
// Without arguments it writes files of the official form (32 edges of weight 1/16 a neuron, images one tenth full,
// sorted as the official ones) and reads them back. Each figure is the median of kRuns. "per core" divides by the CPU
// time that all threads took, so that it does not flatter: threads that wait in a spin count as working.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/parallel.hpp"
#include "io/files.hpp"
#include "io/tsv_reader.hpp"
#include "io/tsv_writer.hpp"

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
    for (Index k = 0; k < kDegree; ++k)  // one in each 32nd of the inputs: distinct and ascending
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

void bench(const Path& layers, Index neurons, const Path& images) {
  std::vector<Path> files;
  std::uintmax_t layer_bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(layers)) {
    files.push_back(entry.path());
    layer_bytes += entry.file_size();
  }
  report("TSV layers", layer_bytes, median_seconds([&] {
           parallel_for(files.size(), [&](std::size_t i) {
             TextSource source(files[i]);
             read_tsv_layer(source, neurons, neurons);
           });
         }));
  report("TSV images", std::filesystem::file_size(images), median_seconds([&] {
           TextSource source(images);
           read_tsv_images(source, neurons, {});
         }));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) {
    bench(argv[1], narrow<Index>(std::stoul(argv[2])), argv[3]);
    return 0;
  }
  const Path directory = std::filesystem::temp_directory_path() / fmt::format("io_bench.{}", std::clock());
  std::filesystem::create_directories(directory / "layers");
  std::mt19937_64 random(1);
  for (const Index neurons : {Index{1024}, Index{65536}}) {
    fmt::print("{} neurons\n", neurons);
    const Index layers = neurons == 1024 ? 60 : 2;
    std::filesystem::remove_all(directory / "layers");
    std::filesystem::create_directories(directory / "layers");
    for (Index k = 1; k <= layers; ++k)
      write_tsv_layer(directory / "layers" / fmt::format("n{}-l{}.tsv", neurons, k),
                      official_form_layer(neurons, random));
    const Path images = directory / fmt::format("sparse-images-{}.tsv", neurons);
    write_tsv_images(images, official_form_images(neurons, neurons == 1024 ? 60000 : 6000, random));
    bench(directory / "layers", neurons, images);
  }
  std::filesystem::remove_all(directory);
}

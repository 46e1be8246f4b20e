#include "harness.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "io/networks/text/gz.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

/// One thread does all the work: the pieces of a text are the same, and no time is spent on waking other threads.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  omp_set_num_threads(1);
  return 0;
}

namespace spdnn::fuzz {

namespace {

std::size_t peak_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

/// An XXH3 hash of what is added, piece by piece.
class Digest {
 public:
  template <class T>
  void add(std::span<const T> values) {
    add(values.size());
    sum_ = XXH3_64bits_withSeed(values.data(), values.size_bytes(), sum_);
  }
  void add(std::uint64_t number) { sum_ = XXH3_64bits_withSeed(&number, sizeof number, sum_); }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

void require_valid(const std::function<void()>& validate) {
  try {
    validate();
  } catch (const std::invalid_argument& error) {
    require(false, std::string("a file that is read is sound: ") + error.what());
  }
}

}  // namespace

void require(bool condition, std::string_view promise) {
  if (condition) return;
  std::fprintf(stderr, "broken promise: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

std::string attempt(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    require(*error.what() != '\0', "an error says what is wrong");
    return error.what();
  } catch (const std::filesystem::filesystem_error& error) {
    return error.what();
  }
}

std::uint8_t Bytes::take() {
  if (rest_.empty()) return 0;
  const std::uint8_t byte = rest_.front();
  rest_ = rest_.subspan(1);
  return byte;
}

std::uint32_t Bytes::below(std::uint32_t limit) {
  const std::uint32_t low = take();
  return (limit <= 256 ? low : low | std::uint32_t{take()} << 8U) % limit;
}

std::uint64_t digest_of(const CsrMatrix& matrix) {
  Digest digest;
  digest.add(std::uint64_t{matrix.rows});
  digest.add(std::uint64_t{matrix.cols});
  digest.add(matrix.offsets.span());
  digest.add(matrix.indices.span());
  std::vector<float> values(matrix.entries());
  for (Offset k = 0; k < matrix.entries(); ++k) values[k] = matrix.entry_value(k);
  digest.add(std::span<const float>(values));
  return digest.sum();
}

std::uint64_t digest_of(const ImageSet& images) {
  if (!images.is_bits()) return digest_of(images.sparse());
  Digest digest;
  digest.add(std::uint64_t{images.images()});
  digest.add(std::uint64_t{images.neurons()});
  digest.add(images.bits().words.span());
  return digest.sum();
}

std::uint64_t digest_of(const Plan& plan) {
  Digest digest;
  digest.add(network_digest({plan.layers, plan.bias_rule, plan.cap}));
  for (const Array<Index>& map : plan.expansion) digest.add(map.span());
  for (const std::string& note : plan.provenance.notes) digest.add(std::span<const char>(note));
  digest.add(std::span<const char>(to_string(plan.passes) + '/' + to_string(plan.provenance.requested)));
  if (plan.fallback) digest.add(std::span<const double>(plan.fallback->error_bounds));
  digest.add(std::span<const Index>(plan.provenance.given_neurons));
  for (const std::uint64_t number :
       std::array<std::uint64_t, 4>{plan.certificates.dead_from, plan.certificates.saturated_from,
                                    plan.provenance.given_edges, plan.provenance.network_digest})
    digest.add(number);
  if (plan.fallback) digest.add(digest_of(*plan.fallback->in_order));
  return digest.sum();
}

void require_sound(const CsrMatrix& matrix) {
  require_valid([&] { matrix.validate(); });
}

void require_sound(const ImageSet& images) {
  if (!images.is_bits()) return require_sound(images.sparse());
  const BitMatrix& bits = images.bits();
  require(bits.words.size() == bits.rows * bits.words_per_row(), "bits have their words");
  if (bits.cols % 64 == 0) return;
  for (Index image = 0; image < bits.rows; ++image)
    require((bits.row(image)[bits.words_per_row() - 1] >> (bits.cols % 64)) == 0, "no neuron beyond the last is lit");
}

std::string gzip_members(std::string_view text, std::size_t members) {
  std::string all;
  const std::size_t length = text.size() / members + 1;
  for (std::size_t begin = 0; begin < std::max<std::size_t>(text.size(), 1); begin += length)
    all += gzip(text.substr(begin, length));
  return all;
}

void require_sound(const Plan& plan) {
  require_valid([&] { Network{plan.layers, plan.bias_rule, plan.cap}.validate(); });
  require(plan.expansion.size() == plan.depth() && plan.provenance.given_neurons.size() == plan.depth() + 1,
          "a plan is complete");
  for (Index k = 0; k < plan.depth(); ++k) {
    const Array<Index>& map = plan.expansion[k];
    require((map.empty() ? plan.layers[k].outputs() : map.size()) == plan.provenance.given_neurons[k + 1],
            "an expansion is that of the given neurons");
    require(std::all_of(map.begin(), map.end(),
                        [&](Index neuron) {
                          return neuron < plan.layers[k].outputs() || neuron == kAlwaysZero || neuron == kNotComputed;
                        }),
            "an expansion leads to stored neurons");
  }
  if (plan.fallback) require_sound(*plan.fallback->in_order);
}

void age(const std::filesystem::path& file_or_directory) {
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(10);
  if (std::filesystem::is_directory(file_or_directory)) {
    for (const auto& entry : std::filesystem::directory_iterator(file_or_directory)) age(entry.path());
  } else {
    std::filesystem::last_write_time(file_or_directory, before);
  }
}

bool write_aged(const std::filesystem::path& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  require(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "the fuzzer can write");
  const struct timespec before[2] = {{0, 0}, {0, 0}};
  require(::futimens(file, before) == 0, "the fuzzer can change times");
  ::close(file);
  return true;
}

MemoryPeak::~MemoryPeak() {
  static const std::size_t at_first = peak_bytes();
  constexpr std::size_t kAllowance = 200'000'000;
  require(peak_bytes() <= at_first + kAllowance + 4 * input_bytes_, "memory follows the data");
}

}  // namespace spdnn::fuzz

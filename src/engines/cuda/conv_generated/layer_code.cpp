#include "engines/cuda/conv_generated/layer_code.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <stop_token>
#include <system_error>
#include <thread>

#include "core/system/cache_directory.hpp"
#include "core/system/run_apart.hpp"
#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

/// Threads that compile, as many as the process may use. They end when the process does.
class Compilers {
 public:
  static Compilers& all() {
    static Compilers compilers;
    return compilers;
  }

  std::future<void> add(std::function<void(const std::stop_token&)> work) {
    Task task(std::move(work));
    std::future<void> done = task.get_future();
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (threads_.size() < static_cast<std::size_t>(host_threads()))
      threads_.emplace_back([this](const std::stop_token& stop) { work_until(stop); });
    added_.notify_one();
    return done;
  }

 private:
  using Task = std::packaged_task<void(const std::stop_token&)>;

  void work_until(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex_);
      if (!added_.wait(lock, stop, [this] { return !tasks_.empty(); }) || stop.stop_requested()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task(stop);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any added_;
  std::deque<Task> tasks_;
  std::vector<std::jthread> threads_;  ///< the last member, so that all have ended before the others are destroyed
};

std::vector<std::byte> apart(const std::function<std::vector<std::byte>()>& compile,
                             const std::function<bool()>& cancelled) try {
  return run_apart(compile, cancelled);
} catch (const DeviceError& error) {
  throw DeviceError(fmt::format("the compiler failed: {}", error.what()));
}

// A layer's record, of which the cache directory has a file, and which a model may be stored with: the magic, the sizes
// of all kernels' code (64 bits each, after their number), the code, and a hash of all before it.
constexpr char kMagic[] = "spdnn-generated-code-1";

std::filesystem::path cache_file(const std::string& digest) {
  const std::filesystem::path directory = cache_directory();
  return directory.empty() ? directory : directory / "conv_generated" / (digest + ".cubins");
}

std::uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

void append_bytes(std::vector<std::byte>& to, const void* data, std::size_t size) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  to.insert(to.end(), bytes, bytes + size);
}

/// Empty if record() did not make it, or made it for another number of kernels.
std::vector<std::vector<std::byte>> code_in(std::span<const std::byte> file, std::size_t kernels) {
  const std::size_t head = sizeof(kMagic) + (kernels + 1) * sizeof(std::uint64_t);
  if (file.size() < head + sizeof(std::uint64_t)) return {};
  const auto body = file.first(file.size() - sizeof(std::uint64_t));
  const auto number_at = [&](std::size_t place) {
    std::uint64_t number = 0;
    std::memcpy(&number, file.data() + place, sizeof(number));
    return number;
  };
  if (number_at(body.size()) != hash_of(body) || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) return {};
  if (number_at(sizeof(kMagic)) != kernels) return {};
  std::vector<std::vector<std::byte>> code;
  std::size_t at = head;
  for (std::size_t i = 0; i < kernels; ++i) {
    const std::uint64_t size = number_at(sizeof(kMagic) + (i + 1) * sizeof(std::uint64_t));
    if (size > body.size() - at) return {};
    code.emplace_back(body.begin() + static_cast<std::ptrdiff_t>(at),
                      body.begin() + static_cast<std::ptrdiff_t>(at + size));
    at += size;
  }
  return code;
}

}  // namespace

struct LayerCode::State {
  std::atomic<bool> abandoned{false};
  std::mutex mutex;
  double seconds = 0;
  std::vector<std::vector<std::byte>> code;
  std::vector<std::future<void>> done;
};

LayerCode::LayerCode(Source source) : source_(std::move(source)), state_(std::make_shared<State>()) {
  take_record_of_model();
  if (code_.empty()) read_cache();
  if (!code_.empty()) return;
  state_->code.resize(source_.kernels);
  for (std::size_t kernel = 0; kernel < source_.kernels; ++kernel)
    state_->done.push_back(
        Compilers::all().add([state = state_, compile = source_.compile, kernel](const std::stop_token& stop) {
          if (state->abandoned) return;
          const Stopwatch watch;
          std::vector<std::byte> code =
              apart([&] { return compile(kernel); }, [&] { return state->abandoned || stop.stop_requested(); });
          const std::lock_guard lock(state->mutex);
          state->code[kernel] = std::move(code);
          state->seconds += watch.seconds();
        }));
}

LayerCode::~LayerCode() {
  state_->abandoned = true;
  for (std::future<void>& done : state_->done)
    if (done.valid()) done.wait();
}

const std::vector<std::vector<std::byte>>& LayerCode::get(std::chrono::steady_clock::time_point deadline) {
  if (!code_.empty()) return code_;
  if (!failure_.empty()) throw DeviceError(failure_);
  try {
    for (std::future<void>& done : state_->done)
      if (done.wait_until(deadline) != std::future_status::ready)
        throw DeviceError("the compiler needs more time than it is allowed");
      else
        done.get();
  } catch (const DeviceError& error) {
    state_->abandoned = true;
    failure_ = error.what();
    throw;
  }
  code_ = std::move(state_->code);
  write_cache();
  return code_;
}

double LayerCode::compile_seconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->seconds;
}

std::size_t LayerCode::bytes() const {
  std::size_t sum = 0;
  for (const auto& one : code_) sum += one.size();
  return sum;
}

std::vector<std::byte> LayerCode::record() const {
  std::vector<std::byte> record;
  append_bytes(record, kMagic, sizeof(kMagic));
  const std::uint64_t count = code_.size();
  append_bytes(record, &count, sizeof(count));
  for (const auto& one : code_) {
    const std::uint64_t size = one.size();
    append_bytes(record, &size, sizeof(size));
  }
  for (const auto& one : code_) append_bytes(record, one.data(), one.size());
  const std::uint64_t hash = hash_of(record);
  append_bytes(record, &hash, sizeof(hash));
  return record;
}

void LayerCode::take_record_of_model() {
  if (source_.of_model.empty()) return;
  code_ = code_in(source_.of_model.span(), source_.kernels);
  if (code_.empty())
    remark_ = "its code in the model was damaged, and is not used";
  else
    from_ = program::Prepared::Source::model;
}

void LayerCode::read_cache() {
  const std::filesystem::path path = cache_file(source_.digest);
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(path, missing);
  std::ifstream file(path, std::ios::binary);
  if (missing || !file) return;
  std::vector<std::byte> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  code_ = code_in(bytes, source_.kernels);
  if (!code_.empty())
    from_ = program::Prepared::Source::cache_directory;
  else
    remark_ = fmt::format("{} was damaged, and is made anew", path.string());
}

void LayerCode::write_cache() {
  const std::filesystem::path path = cache_file(source_.digest);
  if (path.empty()) return;
  static std::atomic<unsigned> number{0};  // two devices of a process may have a file each
  const std::filesystem::path unnamed = fmt::format("{}.{}.{}", path.string(), ::getpid(), number++);
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  errno = 0;
  std::ofstream file(unnamed, std::ios::binary);
  const std::vector<std::byte> bytes = record();
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) failure.assign(errno, std::generic_category());
  if (!failure) std::filesystem::rename(unnamed, path, failure);
  if (!failure) return;
  remark_ = fmt::format("its code is not kept in {}: {}", path.string(), failure.message());
  std::filesystem::remove(unnamed, failure);
}

}  // namespace spdnn::cuda

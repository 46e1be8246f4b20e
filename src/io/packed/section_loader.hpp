#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/packed/file.hpp"
#include "spdnn/array.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// Loads the sections of a packed file in parallel: arrays are requested first, then run() loads them. For each block
/// of a section, one thread reads it, compares its checksum, checks its numbers and converts them if their form in
/// memory differs, all while the block is in its cache. The checked data are the data used, whatever happens to the
/// file. Arrays are valid after run(), which throws DataError on failure. Cost: each section is read once, either into
/// its array or, for conversion, into a block buffer of the thread.
class SectionLoader {
 public:
  /// Arrays are allocated from slabs of `slab_bytes`, or a larger slab if necessary; 0 chooses by file size.
  explicit SectionLoader(const PackedFile& file, std::size_t slab_bytes = 0);

  /// The checks of a section's numbers. Sections of the second stage are checked after those of the first have passed.
  enum class Stage { first, second };
  template <class T>
  struct Checks {
    std::string complaint{};  ///< the message if a check fails
    /// Checks the numbers of a block, which start at index `first` of the section.
    std::function<bool(std::size_t first, std::span<const T> numbers)> block{};
    /// Checks the step from numbers[at - 1] to numbers[at] at each block boundary, once all numbers are loaded.
    std::function<bool(const T* numbers, std::size_t at)> step{};
    Stage stage = Stage::second;
  };

  /// Requests `count` numbers in the file's form.
  template <class T>
  Array<T> plain(std::uint32_t section, std::size_t count, Checks<T> checks) {
    claim(section, count, sizeof(T));
    const std::shared_ptr<T[]> target = storage<T>(count);
    Job& job = new_job(section, sizeof(T), checks, target.get());
    job.target = reinterpret_cast<std::byte*>(target.get());
    job.take = [to = target.get(), check = std::move(checks.block)](const std::byte*, std::size_t first,
                                                                    std::size_t n) {
      return !check || check(first, {to + first, n});
    };
    return {target, count};
  }

  /// Requests `count` numbers converted to another type. `convert` also checks them, like checks.block; its arguments
  /// are the index of the first number in the section, the numbers and the destination.
  template <class From, class To>
  Array<To> converted(std::uint32_t section, std::size_t count, Checks<To> checks,
                      std::function<bool(std::size_t first, std::span<const From>, To*)> convert) {
    claim(section, count, sizeof(From));
    const std::shared_ptr<To[]> target = storage<To>(count);
    Job& job = new_job(section, sizeof(From), checks, target.get());
    job.take = [to = target.get(), convert = std::move(convert)](const std::byte* block, std::size_t first,
                                                                 std::size_t n) {
      return convert(first, {reinterpret_cast<const From*>(block), n}, to + first);
    };
    return {target, count};
  }

  /// Reads and checks a small section immediately.
  template <class T>
  std::vector<T> now(std::uint32_t section, std::size_t count) {
    claim(section, count, sizeof(T));
    std::vector<T> numbers(count);
    read_now(section, std::as_writable_bytes(std::span(numbers)));
    return numbers;
  }

  /// Memory for `count` numbers, from an allocation shared by the arrays of many small layers.
  template <class T>
  std::shared_ptr<T[]> storage(std::size_t count) {
    const std::shared_ptr<std::byte[]> memory = bytes(count * sizeof(T));
    return {memory, reinterpret_cast<T*>(memory.get())};
  }

  void run(const ProgressCallback& callback);
  /// DataError if a section was not requested, so that no change of a file read as a whole goes unnoticed.
  void require_all_used() const;
  /// Forgets previous requests and gives later arrays their own memory: any section may be requested again.
  void begin_again();

 private:
  struct Job {
    std::uint32_t section = 0;
    std::size_t width = 0;  ///< bytes per number in the file
    /// The destination of numbers that are not converted; null: each thread reads into its own block.
    std::byte* target = nullptr;
    Stage stage = Stage::second;
    std::string complaint;
    std::function<bool(const std::byte* block, std::size_t first, std::size_t count)> take;
    std::function<bool(std::size_t at)> step;  ///< may be empty
    std::vector<std::uint64_t> hashes;
  };
  struct Block {
    std::size_t job;
    std::size_t number;
  };

  template <class T>
  Job& new_job(std::uint32_t section, std::size_t width, const Checks<T>& checks, const T* numbers) {
    Job& job = jobs_.emplace_back();
    job.section = section;
    job.width = width;
    job.stage = checks.stage;
    job.complaint = checks.complaint;
    if (checks.step) job.step = [numbers, step = checks.step](std::size_t at) { return step(numbers, at); };
    return job;
  }
  /// DataError if the section does not hold `count` numbers, or if another record has used it.
  void claim(std::uint32_t section, std::size_t count, std::size_t width);
  void read_now(std::uint32_t section, std::span<std::byte> to);
  void check_checksum(std::uint32_t section, std::span<const std::uint64_t> hashes) const;
  bool load(Job& job, std::size_t number, std::byte* scratch) const;
  bool steps_are_good(const Job& job) const;
  void run_stage(Stage stage, const ProgressCallback& callback);
  std::shared_ptr<std::byte[]> bytes(std::size_t count);

  const PackedFile& file_;
  std::vector<bool> used_;
  std::vector<Job> jobs_;
  std::size_t slab_bytes_;
  std::shared_ptr<std::byte[]> slab_;
  std::size_t slab_size_ = 0;
  std::size_t slab_used_ = 0;
};

}  // namespace spdnn

#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/packed_file.hpp"
#include "report/progress.hpp"
#include "spdnn/array.hpp"

namespace spdnn {

/// Loads the sections of a packed file in one parallel pass: ask for arrays, then run(). In the pass each block of a
/// section is checked against its checksum, its numbers are checked for what they may be and, where memory holds them
/// in another form, converted by the thread that just checked them. Arrays are valid after run(), which throws
/// DataError otherwise. Cost: each section is read once, and no array is written but converted ones.
class SectionLoader {
 public:
  explicit SectionLoader(const PackedFile& file) : file_(file), used_(file.sections(), false) {}

  /// Looks at numbers first .. first+count-1 of a section; false where they are not what they must be.
  using Check = std::function<bool(std::size_t first, std::size_t count)>;

  /// `count` numbers used where they lie in the file. `complaint` is the message where `check` says no.
  template <class T>
  Array<T> in_place(std::uint32_t section, std::size_t count, const std::string& complaint,
                    const std::function<bool(std::span<const T>)>& check) {
    const std::span<const T> numbers = claim<T>(section, count);
    jobs_.push_back({section,
                     sizeof(T),
                     complaint,
                     [=](std::size_t first, std::size_t n) { return check(numbers.subspan(first, n)); },
                     {}});
    return {std::shared_ptr<const T[]>(file_.owner(), numbers.data()), count};
  }

  /// `count` numbers of the file as numbers of another type. `convert` gets source, destination and their length.
  template <class From, class To>
  Array<To> converted(std::uint32_t section, std::size_t count, const std::string& complaint,
                      const std::function<bool(const From*, To*, std::size_t)>& convert) {
    const std::span<const From> numbers = claim<From>(section, count);
    const std::shared_ptr<To[]> target = storage<To>(count);
    To* const out = target.get();
    jobs_.push_back({section,
                     sizeof(From),
                     complaint,
                     [=](std::size_t first, std::size_t n) { return convert(&numbers[first], out + first, n); },
                     {}});
    return {target, count};
  }

  /// A small section, checked on the spot and copied out.
  template <class T>
  std::vector<T> now(std::uint32_t section, std::size_t count) {
    const std::span<const T> numbers = claim<T>(section, count);
    check_now(section);
    return {numbers.begin(), numbers.end()};
  }

  /// Memory for `count` numbers, shared with what else this loader loads: many small layers make one allocation.
  template <class T>
  std::shared_ptr<T[]> storage(std::size_t count) {
    const std::shared_ptr<std::byte[]> memory = bytes(count * sizeof(T));
    return {memory, reinterpret_cast<T*>(memory.get())};
  }

  void run(ProgressMode mode);

 private:
  struct Job {
    std::uint32_t section;
    std::size_t width;  ///< bytes of a number
    std::string complaint;
    Check check;
    std::vector<std::uint64_t> hashes;
  };
  struct Block {
    std::uint32_t job;
    std::uint32_t number;
  };

  /// The numbers of a section that no other record may use again; DataError where it does not hold `count` of them.
  template <class T>
  std::span<const T> claim(std::uint32_t section, std::size_t count) {
    claim_bytes(section, count, sizeof(T));
    return {reinterpret_cast<const T*>(file_.bytes(section).data()), count};
  }
  void claim_bytes(std::uint32_t section, std::size_t count, std::size_t width);
  void check_now(std::uint32_t section);
  void check_checksum(std::uint32_t section, std::span<const std::uint64_t> hashes);
  std::shared_ptr<std::byte[]> bytes(std::size_t count);

  const PackedFile& file_;
  std::vector<bool> used_;
  std::vector<Job> jobs_;
  std::shared_ptr<std::byte[]> slab_;
  std::size_t slab_size_ = 0;
  std::size_t slab_used_ = 0;
};

}  // namespace spdnn

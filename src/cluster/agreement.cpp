#include "cluster/agreement.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "cluster/exchange.hpp"
#include "cluster/together.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using Group = Communicator::Group;
using Options = std::map<std::string, std::string>;

/// Programs of any two versions can exchange it.
struct Summary {
  std::array<char, 120> program{};
  std::uint64_t options = 0;

  std::string program_text() const { return {program.data(), ::strnlen(program.data(), program.size())}; }
};
static_assert(sizeof(Summary) == 128);

/// Names and values, by turns.
std::vector<std::string> list_of(const Options& options) {
  std::vector<std::string> list;
  for (const auto& [name, value] : options) list.insert(list.end(), {name, value});
  return list;
}

Options from_list(const std::vector<std::string>& list) {
  Options options;
  for (std::size_t i = 0; i < list.size(); i += 2) options[list[i]] = list[i + 1];
  return options;
}

Summary summarised(const RunRequest& request) {
  Summary summary;
  request.program.copy(summary.program.data(), summary.program.size());
  const std::vector<std::byte> options = pack(list_of(request.options)).description;
  summary.options = XXH3_64bits(options.data(), options.size());
  return summary;
}

/// The lowest of the ranks for which `differs` is true; there is one.
int first_where(Communicator& ranks, bool differs) {
  int low = 0;
  for (int high = ranks.place().ranks - 1; low < high;) {
    const int middle = low + (high - low) / 2;
    const bool none_below = ranks.all(!(differs && ranks.place().rank <= middle), Group::job);
    (none_below ? low : high) = none_below ? middle + 1 : middle;
  }
  return low;
}

std::string value_text(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  if (found == options.end()) return "not given";
  return found->second.empty() ? "given" : fmt::format("'{}'", found->second);
}

/// How this rank's options differ from the first rank's.
UsageError difference(const Options& mine, const Options& first) {
  Options either = mine;
  either.insert(first.begin(), first.end());
  const auto differs = [&](const auto& option) {
    return value_text(mine, option.first) != value_text(first, option.first);
  };
  const std::string name = std::find_if(either.begin(), either.end(), differs)->first;
  return UsageError(fmt::format("--{}: {} here, but {} on the first rank; expected the same options on all ranks", name,
                                value_text(mine, name), value_text(first, name)));
}

DeviceError difference(const std::string& mine, const std::string& first) {
  return DeviceError(
      fmt::format("this is {}, but the first rank runs {}; expected the same program on all ranks", mine, first));
}

/// Throws on all ranks; `make` makes the error of the first rank that differs.
template <class Make>
[[noreturn]] void fail_where(Communicator& ranks, bool differs, const Make& make) {
  const int first = first_where(ranks, differs);
  throw RanksFailed(ranks.place().rank == first ? std::make_exception_ptr(make()) : nullptr);
}

}  // namespace

void require_agreement(Communicator& ranks, const RunRequest& mine) {
  const Summary own = summarised(mine);
  Summary first = own;
  ranks.broadcast(std::as_writable_bytes(std::span(&first, 1)), Group::job);
  const bool same_program = own.program == first.program;
  const bool same_options = own.options == first.options;
  if (ranks.all(same_program && same_options, Group::job)) return;
  if (!ranks.all(same_program, Group::job))
    fail_where(ranks, !same_program, [&] { return difference(own.program_text(), first.program_text()); });
  const Options of_first = from_list(broadcast(ranks, list_of(mine.options)));
  fail_where(ranks, !same_options, [&] { return difference(mine.options, of_first); });
}

}  // namespace spdnn

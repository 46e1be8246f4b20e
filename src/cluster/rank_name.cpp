#include "cluster/rank_name.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "cluster/launch.hpp"

namespace spdnn {

namespace {

std::array<char, 512> own_name{};
bool errors_at_once = false;

void write_name(int rank, const char* of_ranks) noexcept {
  std::array<char, 256> host{};  // without core/system/machine_names.hpp, which allocates
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  std::snprintf(own_name.data(), own_name.size(), "rank %d%s on %s: ", rank, of_ranks, host.data());
}

}  // namespace

void name_rank(int rank, int ranks) noexcept {
  std::array<char, 32> of_ranks{};
  if (ranks > 0) std::snprintf(of_ranks.data(), of_ranks.size(), " of %d", ranks);
  write_name(rank, of_ranks.data());
}

const char* rank_name() noexcept {
  const Launch& launch = this_launch();
  if (own_name[0] == '\0' && launch.maybe_several()) name_rank(launch.rank, launch.ranks.value_or(0));
  return own_name.data();
}

bool reports_errors_at_once() noexcept {
  return errors_at_once || !this_launch().maybe_several() || this_launch().rank == 0;
}

void report_errors_at_once() noexcept { errors_at_once = true; }

}  // namespace spdnn

#include "cluster/join.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/launcher_end.hpp"
#include "cluster/mpi_functions.hpp"
#include "cluster/rank_name.hpp"
#include "core/system/shared_library.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

const SpdnnMpiFunctions* joined = nullptr;  ///< the functions of the job's MPI, from the moment on that it has started
bool was_joined = false;                    ///< it has started, and may have ended
std::atomic<bool> is_starting = false;

std::string words(const SpdnnMpiFunctions& mpi, int error) {
  std::array<char, 512> text{};
  mpi.describe(error, text.data(), text.size());
  return text.data();
}

/// Where one rank fails, calls of the others fail too, a little later or earlier. The launcher ends them all: a rank
/// that has only heard of it leaves the word to the one that knows the cause.
[[noreturn]] void fail_call(const SpdnnMpiFunctions& mpi, int error) {
  std::this_thread::sleep_for(std::chrono::seconds(5));
  throw DeviceError("MPI: another rank does not answer: " + words(mpi, error));
}

static_assert(sizeof(std::size_t) == sizeof(std::uint64_t), "sizes go to MPI as they are");

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(const SpdnnMpiFunctions& mpi, const RankPlace& place, bool on_any_thread)
      : Communicator(place), mpi_(mpi), on_any_thread_(on_any_thread) {}
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() > 0) return;
    joined = nullptr;
    mpi_.finish();
  }

  void broadcast(std::span<std::byte> bytes, Group group) override {
    check(mpi_.broadcast(bytes.data(), bytes.size(), number(group)));
  }
  bool all(bool mine, Group group) override {
    int flag = mine ? 1 : 0;
    check(mpi_.all(&flag, number(group)));
    return flag != 0;
  }
  std::vector<std::size_t> gather_size(std::size_t mine) override {
    std::vector<std::size_t> all(is_root() ? static_cast<std::size_t>(place().ranks) : 0);
    check(mpi_.gather_size(mine, all.data()));
    return all;
  }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t> sizes, std::span<std::byte> all) override {
    check(mpi_.gather(mine.data(), mine.size(), sizes.data(), all.data()));
  }
  std::vector<std::size_t> exchange_sizes(std::span<const std::size_t> mine) override {
    std::vector<std::size_t> theirs(mine.size());
    check(mpi_.exchange_sizes(mine.data(), theirs.data()));
    return theirs;
  }
  void exchange(std::span<const std::byte> out, std::span<const std::size_t> out_sizes, std::span<std::byte> in,
                std::span<const std::size_t> in_sizes) override {
    check(mpi_.exchange(out.data(), out_sizes.data(), in.data(), in_sizes.data()));
  }
  bool on_any_thread() const override { return on_any_thread_; }

 private:
  static int number(Group group) {
    switch (group) {
      case Group::job:
        return kSpdnnMpiJob;
      case Group::node:
        return kSpdnnMpiNode;
      case Group::leaders:
        break;
    }
    return kSpdnnMpiLeaders;
  }
  void check(int error) const {
    if (error != 0) fail_call(mpi_, error);
  }

  const SpdnnMpiFunctions& mpi_;
  bool on_any_thread_;
};

std::string file_of(const std::string& name) { return fmt::format("spdnn-{}.so", name); }

const SpdnnMpiFunctions* open(const std::filesystem::path& path, std::string& why_not) {
  using Get = const SpdnnMpiFunctions* (*)();
  // MPI libraries load plug-ins, which need the library's symbols to be global.
  const auto get = reinterpret_cast<Get>(plugin_function(path, "spdnn_mpi_functions_5", RTLD_GLOBAL, why_not));
  return get == nullptr ? nullptr : get();
}

/// The launcher's library first (MPICH's has another name on Debian), then `mpi`, the plug-in of a machine with one
/// library, which serves any launcher.
const SpdnnMpiFunctions& functions_for(Launch::By launcher) {
  const std::string own = launcher == Launch::By::mpich ? "mpich" : "openmpi";
  std::string why_not;
  for (const std::filesystem::path& path : plugins({file_of(own), file_of(own + "-debian"), file_of("mpi")}))
    if (const SpdnnMpiFunctions* const functions = open(path, why_not)) return *functions;
  if (why_not.empty())
    why_not = fmt::format("; there is no {} beside the program; make builds it where it finds mpicxx", file_of(own));
  throw DeviceError(
      fmt::format("a launcher started this program as one of several ranks, but MPI cannot be used{}", why_not));
}

[[noreturn]] void fail_without_pmi(int processes) {
  throw DeviceError(
      fmt::format("srun started {} processes that cannot find one another; expected srun --mpi=pmix for OpenMPI, "
                  "--mpi=pmi2 for MPICH, or --mpi=cray_shasta for Cray MPICH (srun --mpi=list lists the types)",
                  processes));
}

[[noreturn]] void fail_without_pmi_of_flux(int processes) {
  throw DeviceError(
      fmt::format("flux run started {} processes that cannot find one another; expected -o pmi=pmix for OpenMPI, -o "
                  "pmi=simple for MPICH, or -o pmi=cray-pals for Cray MPICH",
                  processes));
}

[[noreturn]] void fail_without_launcher(int processes, const char* library) {
  if (std::getenv("SLURM_STEP_NUM_TASKS") != nullptr) fail_without_pmi(processes);
  throw DeviceError(
      fmt::format("the environment says that this is one of {} ranks, but no launcher answers {}, for which this "
                  "program was built: start them by that library's mpirun, or make the program again where mpicxx is "
                  "the launcher's, or unset PMI_*, PALS_*, MV2_*, MVP_* and OMPI_COMM_WORLD_*",
                  processes, library));
}

}  // namespace

std::unique_ptr<Communicator> join(const Launch& launch) {
  if (!launch.maybe_several()) return alone();
  if (launch.by == Launch::By::srun_no_pmi) fail_without_pmi(*launch.ranks);
  if (launch.by == Launch::By::flux_no_pmi) fail_without_pmi_of_flux(*launch.ranks);
  const SpdnnMpiFunctions& mpi = functions_for(launch.by);
  SpdnnMpiPlace place{};
  is_starting = true;
  if (const int error = mpi.start(launch.one_node ? 1 : 0, &place))
    throw DeviceError("MPI does not start: " + words(mpi, error));
  is_starting = false;
  joined = &mpi;
  was_joined = true;
  auto communicator = std::make_unique<MpiCommunicator>(
      mpi, RankPlace{place.rank, place.ranks, place.node_rank, place.node_ranks}, place.on_any_thread != 0);
  if (place.ranks == 1 && launch.ranks.value_or(1) > 1) fail_without_launcher(*launch.ranks, mpi.library);
  name_rank(place.rank, place.ranks);
  return communicator;
}

std::string mpi_libraries() {
  std::string found;
  for (const char* const name : {"mpi", "mpich", "openmpi"})
    if (!plugins({file_of(name)}).empty()) found += (found.empty() ? "" : " ") + std::string(name);
  return found;
}

bool is_joining() noexcept { return is_starting; }

void end_job(int code) noexcept {
  const SpdnnMpiFunctions* const mpi = std::exchange(joined, nullptr);
  if (mpi != nullptr)
    mpi->end_job(code);
  else if (!was_joined)
    ask_launcher_to_end(code);
}

}  // namespace spdnn

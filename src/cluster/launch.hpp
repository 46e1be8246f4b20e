#pragma once

#include <functional>
#include <optional>

namespace spdnn {

/// How this process was started, according to its environment.
struct Launch {
  enum class By {
    nobody,       ///< no launcher
    open_mpi,     ///< mpirun of OpenMPI, or a launcher that offers PMIx: srun --mpi=pmix, flux run -o pmi=pmix
    mpich,        ///< a launcher of MPICH or a library with its interface: Intel MPI, MVAPICH, Cray MPICH
    srun_no_pmi,  ///< srun has started several processes that cannot find one another
    flux_no_pmi,  ///< the same, started by flux run
  };
  By by = By::nobody;
  int rank = 0;
  std::optional<int> ranks;  ///< empty if only MPI knows it
  bool one_node = false;     ///< all ranks are on this node, according to the launcher; the same on all ranks

  bool maybe_several() const { return by != By::nobody && ranks.value_or(2) > 1; }
};

/// Derives the Launch from environment variables; `get` returns null for unset ones.
Launch launch_of(const std::function<const char*(const char*)>& get);
/// The Launch of this process.
const Launch& this_launch();

}  // namespace spdnn

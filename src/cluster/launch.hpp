#pragma once

#include <functional>
#include <optional>
#include <string>

namespace spdnn {

/// How this process was started, according to its environment.
struct Launch {
  enum class By {
    nobody,       ///< no launcher
    open_mpi,     ///< mpirun of OpenMPI, or a launcher that offers PMIx: srun --mpi=pmix, flux run -o pmi=pmix
    mpich,        ///< a launcher of MPICH or a library with its interface: Intel MPI, MVAPICH, Cray MPICH
    srun_no_pmi,  ///< srun has started several processes that cannot find one another
    flux_no_pmi,  ///< flux run has
  };
  By by = By::nobody;
  int rank = 0;
  std::optional<int> ranks;  ///< empty where only MPI knows
  bool one_node = false;     ///< all ranks are on this node, as the launcher says; the same on all ranks

  bool maybe_several() const { return by != By::nobody && ranks.value_or(2) > 1; }
};

/// Looks variables up in the environment by `get`, which returns null for those that are not set.
Launch launch_of(const std::function<const char*(const char*)>& get);
/// Of this process.
const Launch& this_launch();

}  // namespace spdnn

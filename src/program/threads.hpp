#pragma once

#include <omp.h>

namespace spdnn::program {

/// While it lives, OpenMP takes that many threads for work that this thread begins, and no fewer: oneDNN's sums lack
/// the terms of threads that are not there, as OMP_DYNAMIC would have it.
class Threads {
 public:
  explicit Threads(int threads) : before_(omp_get_max_threads()), dynamic_before_(omp_get_dynamic()) {
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
  }
  ~Threads() {
    omp_set_num_threads(before_);
    omp_set_dynamic(dynamic_before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
  int dynamic_before_;
};

}  // namespace spdnn::program

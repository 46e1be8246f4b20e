#pragma once

#include <omp.h>

namespace spdnn::program {

/// While it lives, OpenMP takes that many threads for work that this thread begins.
class Threads {
 public:
  explicit Threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace spdnn::program

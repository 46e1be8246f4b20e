#pragma once

#include <fftw3.h>

#include "core/system/shared_library.hpp"

namespace spdnn {

/// The functions used of FFTW, which is opened by the first run that makes official images of MNIST: no other run pays
/// for loading it, and no archive of the program holds it, as FFTW is under the GPL.
struct Fftw {
  SharedLibrary library{{"libfftw3.so.3"}, "it is needed to make the official images"};
// NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member
#define SPDNN_FFTW(name) decltype(&::fftw_##name) name = library.function<decltype(::fftw_##name)>("fftw_" #name)
  SPDNN_FFTW(alloc_real);
  SPDNN_FFTW(free);
  SPDNN_FFTW(plan_dft_r2c_1d);
  SPDNN_FFTW(plan_dft_c2r_1d);
  SPDNN_FFTW(execute_dft_r2c);
  SPDNN_FFTW(execute_dft_c2r);
  SPDNN_FFTW(destroy_plan);
#undef SPDNN_FFTW
};

/// DeviceError if the library is missing.
inline const Fftw& fftw() {
  static const Fftw functions;
  return functions;
}

}  // namespace spdnn

// What the shared object exports; see engines/cpu/conv/dense_plugin.hpp.

#include "core/build_info.hpp"
#include "engines/cpu/conv/dense_plugin.hpp"
#include "engines/cpu/conv/onednn/engine.hpp"

extern "C" __attribute__((visibility("default"))) const SpdnnDenseFunctions* spdnn_dense_functions_1() {
  static const std::string build = spdnn::interface_text();
  static const SpdnnDenseFunctions functions{build.c_str(), spdnn::onednn::support, spdnn::onednn::make};
  return &functions;
}

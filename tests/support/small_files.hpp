#pragma once

#include <gtest/gtest.h>

#include <string>

#include "spdnn/files.hpp"
#include "support/matrix_builder.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn::testing {

/// Files of a network of two layers of three neurons, and of five images, one of them empty.
class SmallFiles : public ::testing::Test {
 protected:
  SmallFiles() {
    write_network(network_, Form::packed,
                  Network{{make_layer(3, {{{0, 1.F}, {1, 1.F}}, {{1, 1.F}}, {{2, 1.F}}}, -0.25),
                           make_layer(3, {{{0, 1.F}}, {{1, 1.F}, {2, 1.F}}}, -0.25)}});
    write_images(images_, {make_matrix(3, {{{0, 1.F}}, {{2, 1.F}}, {}, {{1, 1.F}, {2, 1.F}}, {}})});
  }
  std::string path(const char* name) const { return (directory_ / name).string(); }

  TemporaryDirectory directory_;
  std::string network_ = path("n.spdnn");
  std::string images_ = path("i.spdnn");
  std::string json_ = path("line.json");
};

}  // namespace spdnn::testing

#include <gtest/gtest.h>

#include <string>

#include "program/bound_program.hpp"

namespace spdnn::program {
namespace {

TEST(Constants, AreMadeOnceForEachNodePartAndForm) {
  Constants constants;
  int made = 0;
  const auto get = [&](Index node, int part, const std::string& form) {
    const Buffer buffer{
        .kind = Buffer::Kind::constant,
        .lifetime = {},
        .node = node,
        .constant = {.part = part, .form = form, .bytes = 1, .fill = [&](std::byte* to) { *to = std::byte(++made); }}};
    return static_cast<int>(*constants.get(buffer));
  };
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(get(4, 0, "rows"), 1);
    EXPECT_EQ(get(4, 0, "blocks"), 2) << "of another kernel";
    EXPECT_EQ(get(4, 1, "rows"), 3) << "another part";
    EXPECT_EQ(get(5, 0, "rows"), 4) << "of another node";
  }
}

}  // namespace
}  // namespace spdnn::program

// As src.hpp, for tests/unit; it also replaces TEST.
#define GTEST_DONT_DEFINE_TEST 1
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "src.hpp"

// GoogleTest's macro makes a class of each test, which takes 5 ms to compile; this one makes a function and registers
// it by testing::RegisterTest(). Lint, emulated kernels and tests/gpu use GoogleTest's own, so a TEST must not use
// members of testing::Test.
namespace spdnn::testing {
class FunctionTest : public ::testing::Test {
 public:
  explicit FunctionTest(void (*body)()) : body_(body) {}

 private:
  void TestBody() override { body_(); }
  void (*body_)();
};
inline bool add_test(const char* suite, const char* name, const char* file, int line, void (*body)()) {
  ::testing::RegisterTest(suite, name, nullptr, nullptr, file, line,
                          [body]() -> ::testing::Test* { return new FunctionTest(body); });
  return true;
}
}  // namespace spdnn::testing
#define TEST(suite, name)                                                            \
  static void suite##_##name();                                                      \
  [[maybe_unused]] static const bool suite##_##name##_added =                        \
      ::spdnn::testing::add_test(#suite, #name, __FILE__, __LINE__, suite##_##name); \
  static void suite##_##name()

#include "core/text/message.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <string>

#include "temporary_directory.hpp"

namespace spdnn {
namespace {

TEST(Message, PrintableTextStaysAsItIs) {
  for (const std::string text : {"", "n1024-l7.tsv:12: column 1025 is outside 1..1024", "a\\x0a",
                                 "\u00a0\u00e9\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"})
    EXPECT_EQ(escaped(text), text);
}

TEST(Message, ControlCharactersAreWrittenAsNumbers) {
  EXPECT_EQ(escaped(std::string_view("a\0b\n\r\t\x1b[31m\x7f", 12)), "a\\x00b\\x0a\\x0d\\x09\\x1b[31m\\x7f");
  EXPECT_EQ(escaped("\u0080\u009f"), "\\xc2\\x80\\xc2\\x9f");
}

TEST(Message, BytesThatAreNoUtf8AreWrittenAsNumbers) {
  EXPECT_EQ(escaped("\x80"), "\\x80");
  EXPECT_EQ(escaped("\xff\u00e9"), "\\xff\u00e9");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");                             // cut off
  EXPECT_EQ(escaped("\xe2\x82"), "\\xe2\\x82");                    // cut off
  EXPECT_EQ(escaped("\xf0\x9f\x98"), "\\xf0\\x9f\\x98");           // cut off
  EXPECT_EQ(escaped("\xc3z"), "\\xc3z");                           // followed by another character
  EXPECT_EQ(escaped("\xe2\x82z"), "\\xe2\\x82z");                  // followed by another character
  EXPECT_EQ(escaped("\xc0\x8a"), "\\xc0\\x8a");                    // a line feed in two bytes
  EXPECT_EQ(escaped("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");           // a line feed in three bytes
  EXPECT_EQ(escaped("\xf0\x80\x80\x8a"), "\\xf0\\x80\\x80\\x8a");  // a line feed in four bytes
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair of UTF-16
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last character
  EXPECT_EQ(escaped("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");  // beyond the last character
}

TEST(Message, IsOneLineOfAnyLength) {
  const std::string name(5000, 'n');
  ::testing::internal::CaptureStderr();
  print_message({"file\n", name, ": \x1b", "cannot read"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "spdnn: file\\x0a" + name + ": \\x1bcannot read\n");
}

TEST(Message, OfAnErrorIsAppendedToTheFileThatTheEnvironmentNames) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "errors").string();
  const auto errors = [&] {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  ::testing::internal::CaptureStderr();
  print_error("", {"first"});
  ::setenv("SPDNN_ERROR_FILE", path.c_str(), 1);
  print_error("rank 1: ", {"second"});
  print_message({"a note"});
  print_error("", {"third"});
  ::setenv("SPDNN_ERROR_FILE", "/no/such/directory", 1);
  print_error("", {"fourth"});
  ::unsetenv("SPDNN_ERROR_FILE");
  EXPECT_EQ(errors(), "spdnn: rank 1: second\nspdnn: third\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "spdnn: first\nspdnn: rank 1: second\nspdnn: a note\nspdnn: third\nspdnn: fourth\n");
}

}  // namespace
}  // namespace spdnn

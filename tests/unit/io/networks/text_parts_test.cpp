// A text read in parts: together they have each of its lines once.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "io/networks/text/source.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

TEST(TextParts, TogetherHaveEachLineOnce) {
  const TemporaryDirectory directory;
  const auto path = directory / "t.tsv";
  std::string long_lines;
  for (int i = 0; i < 50; ++i) long_lines += std::string(static_cast<std::size_t>(i) * 397, 'x') + "\n";
  for (const std::string& text : {std::string("a\n"), std::string("a\nb\n"), std::string("\n\n\nabc\n\n"),
                                  std::string("first\nlast without newline"), std::string("one"), long_lines}) {
    std::ofstream(path) << text;
    for (const std::size_t parts : {1U, 2U, 3U, 7U, 100U}) {
      std::string all;
      for (std::size_t number = 0; number < parts; ++number) {
        TextSource part(path, {number, parts});
        std::string own;
        for (std::string_view some = part.next(100); !some.empty(); some = part.next(100)) own += some;
        EXPECT_EQ(own.size(), part.expected_bytes());
        all += own;
        EXPECT_TRUE(own.empty() || own.back() == '\n' || all == text) << "a line that is cut";
        EXPECT_EQ(part.ends_within_line(), !own.empty() && own.back() != '\n');
      }
      EXPECT_EQ(all, text) << parts << " parts";
    }
  }
}

}  // namespace
}  // namespace spdnn

// Gzip data as readers of text get it, damaged or not. The first byte says into how many members the rest is compressed
// (0: it is the compressed data itself), the second how many bytes a round has, and the third what is damaged.

#include <algorithm>

#include "fuzz/harness.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

/// Reads all rounds, half of every other round twice; then reads everything again.
std::string read_all(std::string_view gz, std::size_t round_bytes) {
  TextSource source("fuzz.tsv.gz", gz, round_bytes);
  std::string text;
  bool back = false;
  for (std::string_view round = source.next(round_bytes); !round.empty(); round = source.next(round_bytes)) {
    const std::size_t lf = back ? round.find('\n') + 1 : 0;
    back = !back;
    const std::size_t kept = lf > 0 && lf < round.size() ? lf : round.size();
    text += round.substr(0, kept);
    source.put_back(round.size() - kept);
    require(text.size() < (std::size_t{64} << 20), "compressed data of a few kB is no longer than zlib's 1032 times");
  }
  source.rewind();
  std::size_t again = 0;
  for (std::string_view round = source.next(round_bytes); !round.empty(); round = source.next(round_bytes)) {
    require(text.compare(again, round.size(), round) == 0, "a text is the same when read again");
    again += round.size();
  }
  require(again == text.size(), "a text is as long when read again");
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const std::size_t members = bytes.take() % 8;
  const std::size_t round_bytes = std::size_t{bytes.take()} * 8 + 1;
  const std::size_t damage = bytes.take();
  const std::string plain(bytes.text());
  std::string gz = members == 0 ? plain : fuzz::gzip_members(plain, members);
  const bool damaged = members > 0 && damage > 0;
  const std::size_t place = damaged ? damage * 7919 % gz.size() : 0;
  if (damaged && damage % 2 == 0) gz.resize(place);
  if (damaged && damage % 2 == 1) gz[place] = static_cast<char>(gz[place] ^ (1 << damage % 8));

  std::string text;
  const std::string problem = fuzz::attempt([&] { text = read_all(gz, round_bytes); });
  if (members == 0) return 0;
  if (!damaged && problem.empty()) require(text == plain, "the compressed text is read back");
  return 0;
}

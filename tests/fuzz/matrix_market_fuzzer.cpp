// Matrix Market files. The first character chooses the reader: i images, else layer; the rest is the file. A DataError
// is an answer; what is read must be sound; all else is a finding.

#include "io/matrix_market.hpp"
#include "spdnn/error.hpp"

namespace {

using namespace spdnn;

// Given, so that a header cannot ask for more memory than the fuzzer has.
constexpr Index kInputs = 7;
constexpr Index kOutputs = 5;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  try {
    TextSource source("fuzz.mtx", text.substr(1));
    if (text.front() == 'i')
      read_matrix_market_images(source, kOutputs, kInputs).to_csr().validate();
    else
      read_matrix_market_layer(source, kInputs, kOutputs).validate();
  } catch (const DataError&) {
  }
  return 0;
}

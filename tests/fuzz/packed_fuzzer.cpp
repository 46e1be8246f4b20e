// Packed files: as they come, and with their checksums set right, so that what lies behind the checksums is reached.
// A DataError is an answer; what loads must be sound; all else is a finding.

#include <cstring>

#include "io/packed_file.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"

namespace {

using namespace spdnn;

template <class Load>
void attempt(const Load& load) {
  try {
    load();
  } catch (const DataError&) {
  }
}

void load_all(const std::shared_ptr<const std::byte>& data, std::size_t size) {
  attempt([&] {
    const PackedFile file("fuzz.spdnn", data, size);
    attempt([&] { load_network(file, {}).network.validate(); });
    attempt([&] { load_images(file).to_csr().validate(); });
    attempt([&] {
      const Plan plan = load_plan(file);
      Network{plan.layers, plan.bias_rule, plan.cap}.validate();
    });
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::shared_ptr<std::byte> data = allocate_bytes(size);
  if (size > 0) std::memcpy(data.get(), bytes, size);
  load_all(data, size);
  packed::seal({data.get(), size});
  load_all(data, size);
  return 0;
}

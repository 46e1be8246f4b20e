#include "io/import/safetensors_writer.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

namespace spdnn {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

void write_safetensors(AtomicFile& file, const std::vector<NamedTensor>& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::size_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = end;
    end += tensor.values.bytes();
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // so that numbers begin on a multiple of 8 bytes
  const std::uint64_t size = text.size();
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(text);
  for (const auto& one : tensors) file.write(std::as_bytes(one.tensor.values.span()));
}

}  // namespace spdnn

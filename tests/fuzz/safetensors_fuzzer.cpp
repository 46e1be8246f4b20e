// Models of safetensors with architecture.json. The input's first byte is its kind: a whole container; the header
// of one, and after its first line break the numbers; or an architecture, whose weights are in a container that is
// sound.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "fuzz/harness.hpp"
#include "io/models/safetensors/file.hpp"
#include "io/models/safetensors/reader.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

std::string container(std::string_view header, std::string_view numbers) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(numbers);
}

InputFile in_memory(const std::string& content) {
  return {"fuzz.safetensors", std::as_bytes(std::span(content.data(), content.size()))};
}

void read_container(const std::string& content) {
  const InputFile file = in_memory(content);
  std::optional<SafetensorsFile> tensors;
  fuzz::attempt([&] { tensors.emplace(file); });
  if (!tensors) return;
  std::size_t bytes = 0;
  for (const auto& [name, stored] : tensors->tensors()) {
    bytes += stored.numbers.count * bytes_of(stored.numbers.type);
    fuzz::attempt([&, &name = name] {
      const Tensor tensor = tensors->read(name);
      require(elements(tensor.shape) == tensor.values.size(), "a tensor has the elements of its shape");
      require(std::all_of(tensor.values.begin(), tensor.values.end(), [](float v) { return std::isfinite(v); }),
              "weights are finite");
    });
  }
  std::uint64_t header = 0;
  std::memcpy(&header, content.data(), sizeof header);
  require(sizeof header + header + bytes == content.size(), "all bytes belong to one tensor each");
}

/// Weights of several shapes for nodes of these names, all of them 1.
const std::string& sound_weights() {
  static const std::string content = [] {
    std::string header;
    std::size_t end = 0;
    const auto add = [&](const std::string& name, const std::string& shape, std::size_t count) {
      header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":"F32","shape":)" + shape +
                R"(,"data_offsets":[)" + std::to_string(end) + "," + std::to_string(end + 4 * count) + "]}";
      end += 4 * count;
    };
    add("c.weight", "[4,2,3,3]", 72);
    add("c.bias", "[4]", 4);
    add("s.weight", "[4,2,3]", 24);
    add("s.bias", "[4]", 4);
    add("l.weight", "[3,4]", 12);
    add("l.bias", "[3]", 3);
    for (const char* name : {"b.weight", "b.bias", "b.running_mean", "b.running_var"}) add(name, "[4]", 4);
    std::string numbers;
    for (std::size_t i = 0; i < end / 4; ++i) numbers += std::string("\0\0\x80\x3f", 4);
    return container(header + "}", numbers);
  }();
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryPeak peak(size);
  fuzz::Bytes bytes(data, size);
  const unsigned form = bytes.take() % 3;
  const std::string_view text = bytes.text();
  if (form == 0) read_container(std::string(text));
  if (form == 1) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    read_container(container(text.substr(0, end), text.substr(std::min(end + 1, text.size()))));
  }
  if (form == 2)
    fuzz::attempt([&] {
      const InputFile file = in_memory(sound_weights());
      const Model model = read_safetensors(file, "architecture.json", text);
      try {
        model.validate();
      } catch (const std::invalid_argument& error) {
        require(false, std::string("a model that is read is sound: ") + error.what());
      }
    });
  return 0;
}

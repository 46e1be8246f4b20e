// Reads models with weights in a .safetensors file and the graph in architecture.json.

#include "io/models/safetensors/reader.hpp"

#include <fmt/format.h>

#include "io/files/directory_lock.hpp"
#include "io/files/file_digest.hpp"
#include "io/models/architecture/reader.hpp"
#include "io/models/safetensors/file.hpp"
#include "io/models/weights_of_type.hpp"
#include "model/operations/csr_of_dense.hpp"

namespace spdnn {

namespace {

class SafetensorsWeights final : public StoredWeights {
 public:
  explicit SafetensorsWeights(const InputFile& file) : file_(file) {}

  const std::string& name() const override { return file_.file().name(); }
  std::string digest() const override { return digest_text(file_.file()); }

  Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const auto found = file_.tensors().find(tensor);
    if (found == file_.tensors().end()) node.fail(fmt::format("{} has no tensor '{}'", name(), tensor));
    if (found->second.shape != shape)
      node.fail(fmt::format("tensor '{}' of {} is {}, expected {}", tensor, file_.file().name(),
                            shape_text(found->second.shape), shape_text(shape)));
    return file_.read(tensor).values;
  }
  Weights weights(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Array<float> values = numbers(node, tensor, shape);
    const std::size_t columns = values.size() / static_cast<std::size_t>(shape[0]);
    if (columns > kMaxIndex) node.fail(fmt::format("{} weights per output, expected at most {}", columns, kMaxIndex));
    CsrMatrix matrix = csr_of_dense(values.span(), static_cast<Index>(shape[0]), static_cast<Index>(columns));
    return weights_of_type(std::move(matrix), file_.tensors().at(tensor).numbers.type);
  }

 private:
  SafetensorsFile file_;
};

}  // namespace

std::filesystem::path architecture_beside(const std::filesystem::path& path) {
  return path.parent_path() / "architecture.json";
}

Model read_safetensors(const InputFile& file, const std::filesystem::path& place, std::string_view architecture) {
  Model model = read_architecture(SafetensorsWeights(file), place.string(), architecture);
  file.check_unchanged();
  return model;
}

Model read_safetensors(const std::filesystem::path& path) {
  const std::filesystem::path place = architecture_beside(path);
  Descriptor lock = lock_directory(path.parent_path(), DirectoryLock::shared);
  const InputFile file(path);
  const std::string architecture = text_of_file(place);
  lock = {};
  return read_safetensors(file, place, architecture);
}

}  // namespace spdnn

#include "io/models/packed/writer.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/models/architecture/reader.hpp"
#include "io/models/architecture/writer.hpp"
#include "io/packed/writer.hpp"

namespace spdnn {

namespace {

/// The tensors of an architecture that is in memory.
class TensorsInMemory final : public StoredWeights {
 public:
  explicit TensorsInMemory(const std::vector<StoredTensor>& tensors) {
    for (const StoredTensor& tensor : tensors) tensors_.emplace(tensor.name, &tensor);
  }
  const std::string& name() const override { return name_; }
  Array<float> numbers(const ArchitectureNode&, const std::string& tensor, const Shape&) const override {
    const std::span<const float> values = tensors_.at(tensor)->values;
    return std::vector<float>(values.begin(), values.end());
  }
  Weights weights(const ArchitectureNode&, const std::string& tensor, const Shape&) const override {
    return *tensors_.at(tensor)->weights;
  }

 private:
  std::string name_ = "the model";
  std::map<std::string, const StoredTensor*> tensors_;
};

}  // namespace

void write_packed_model(const std::filesystem::path& path, const Model& model) {
  const Architecture architecture = architecture_of(model, path.string());
  PackedWriter writer;
  writer.add_graph(text_of(architecture.json), architecture.tensors,
                   model.program ? model.program->text : std::string());
  writer.add_code(model.code);
  writer.write(path, {});
}

Model as_packed(const Model& model) {
  const Architecture architecture = architecture_of(model, "packed form");
  return read_architecture(TensorsInMemory(architecture.tensors), "packed form", text_of(architecture.json));
}

}  // namespace spdnn

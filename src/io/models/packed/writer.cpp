#include "io/models/packed/writer.hpp"

#include "io/models/architecture/writer.hpp"
#include "io/packed/writer.hpp"

namespace spdnn {

void write_packed_model(const std::filesystem::path& path, const Model& model) {
  const Architecture architecture = architecture_of(model, path.string());
  PackedWriter writer;
  writer.add_graph(text_of(architecture.json), architecture.tensors);
  writer.write(path, {});
}

}  // namespace spdnn

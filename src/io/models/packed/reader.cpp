#include "io/models/packed/reader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/system/out_of_memory.hpp"
#include "core/types/all_finite.hpp"
#include "io/models/architecture/reader.hpp"
#include "io/packed/model_reader.hpp"
#include "model/operations/csr_of_dense.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::GraphRecord;
using packed::kNone;
using packed::TensorRecord;

namespace {

std::string section_text(SectionLoader& loader, const PackedFile& file, std::uint32_t section) {
  const std::vector<char> text = loader.now<char>(section, file.entry(section).bytes);
  return {text.begin(), text.end()};
}

/// The tensors of a packed model, all in memory.
class PackedWeights final : public StoredWeights {
 public:
  explicit PackedWeights(const PackedFile& file) : file_(file) {
    ModelReader reader(file, ModelReader::Repeats::refused);
    const std::vector<TensorRecord> records = read_records(reader.loader());
    const std::string names = section_text(reader.loader(), file, graph_.names);
    architecture_ = section_text(reader.loader(), file, graph_.architecture);
    std::size_t at = 0;
    for (const TensorRecord& record : records) {
      if (record.name_bytes > names.size() - at) file.fail("is corrupted: names of tensors are missing");
      add(reader, record, names.substr(at, record.name_bytes));
      at += record.name_bytes;
    }
    if (at != names.size()) file.fail("is corrupted: more names than tensors");
    reader.loader().require_all_used();
    reader.run({});
  }

  const std::string& name() const override { return file_.name(); }
  const std::string& architecture() const { return architecture_; }

  Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Stored& stored = find(node, tensor);
    if (!stored.dense || elements(shape) != stored.numbers.size())
      node.fail(fmt::format("tensor '{}' is {}, expected {}", tensor, size_text(stored), shape_text(shape)));
    return stored.numbers;
  }

  CsrMatrix matrix(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Stored& stored = find(node, tensor);
    const auto rows = static_cast<Index>(shape[0]);
    const auto columns = elements({shape.begin() + 1, shape.end()});
    if (!columns || *columns > kMaxIndex)
      node.fail(fmt::format("more than {} weights per output in {}", kMaxIndex, shape_text(shape)));
    if (stored.dense) return csr_of_dense(numbers(node, tensor, shape).span(), rows, static_cast<Index>(*columns));
    if (stored.matrix.rows != rows || stored.matrix.cols != *columns)
      node.fail(fmt::format("tensor '{}' is {}, expected {}", tensor, size_text(stored), shape_text(shape)));
    return stored.matrix;
  }

 private:
  /// A tensor, either dense or sparse.
  struct Stored {
    bool dense = false;
    CsrMatrix matrix;
    Array<float> numbers;
  };

  static std::string size_text(const Stored& stored) {
    return stored.dense ? fmt::format("{} numbers", stored.numbers.size())
                        : fmt::format("a matrix of {} x {}", stored.matrix.rows, stored.matrix.cols);
  }

  std::vector<TensorRecord> read_records(SectionLoader& loader) {
    const std::uint32_t section = file_.require(packed::Kind::model, "model");
    const std::size_t size = file_.entry(section).bytes;
    const std::vector<std::byte> bytes = loader.now<std::byte>(section, size);
    if (size < sizeof graph_) file_.fail("is corrupted: the model's description is cut short");
    std::memcpy(&graph_, bytes.data(), sizeof graph_);
    const std::size_t tensor_bytes = std::size_t{graph_.tensors} * sizeof(TensorRecord);
    if (size != sizeof graph_ + tensor_bytes)
      file_.fail("is corrupted: the model's description is not as long as its tensors need");
    std::vector<TensorRecord> records(graph_.tensors);
    if (tensor_bytes > 0) std::memcpy(records.data(), bytes.data() + sizeof graph_, tensor_bytes);
    return records;
  }

  /// Requests a tensor; its arrays are valid once the reader has run.
  void add(ModelReader& reader, const TensorRecord& record, const std::string& name) {
    const std::string where = fmt::format("tensor '{}'", name);
    Stored stored;
    stored.dense = record.numbers != kNone;
    if (stored.dense)
      stored.numbers = reader.loader().plain<float>(
          record.numbers, file_.entry(record.numbers).bytes / sizeof(float),
          {where + ": a value is not finite", [](auto, std::span<const float> values) { return all_finite(values); }});
    else
      stored.matrix = reader.matrix(record.matrix, where);
    if (!tensors_.emplace(name, std::move(stored)).second)
      file_.fail(fmt::format("is corrupted: {} occurs twice", where));
  }

  const Stored& find(const ArchitectureNode& node, const std::string& tensor) const {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end()) node.fail(fmt::format("there is no tensor '{}'", tensor));
    return found->second;
  }

  const PackedFile& file_;
  GraphRecord graph_;
  std::string architecture_;
  std::map<std::string, Stored> tensors_;
};

}  // namespace

Model read_packed_model(const PackedFile& file) {
  const PackedWeights weights(file);
  return read_architecture(weights, file.name() + ": architecture", weights.architecture());
}

Model read_packed_model(const std::filesystem::path& path) {
  return with_memory_for(path.string(), "cannot read", [&] { return read_packed_model(PackedFile(path)); });
}

}  // namespace spdnn

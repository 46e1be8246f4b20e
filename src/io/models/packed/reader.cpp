#include "io/models/packed/reader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/system/out_of_memory.hpp"
#include "core/types/all_finite.hpp"
#include "io/models/architecture/reader.hpp"
#include "io/packed/entropy_coding.hpp"
#include "io/packed/layer_reader.hpp"
#include "io/packed/stored_plan.hpp"
#include "model/operations/csr_of_dense.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

using packed::GraphRecord;
using packed::kNone;
using packed::TensorRecord;
using packed::TypedRecord;

namespace {

std::string section_text(SectionLoader& loader, const PackedFile& file, std::uint32_t section) {
  const std::vector<char> text = loader.now<char>(section, file.entry(section).bytes);
  return {text.begin(), text.end()};
}

/// The tensors of a packed model, all in memory.
class PackedWeights final : public StoredWeights {
 public:
  explicit PackedWeights(const PackedFile& file) : file_(file) {
    LayerReader reader(file, LayerReader::Repeats::refused);
    const Records records = read_records(reader.loader());
    const std::string names = section_text(reader.loader(), file, graph_.names);
    architecture_ = section_text(reader.loader(), file, graph_.architecture);
    if (const auto section = file.find(packed::Kind::program))
      program_ = StoredProgram{file.name() + ": program", section_text(reader.loader(), file, *section)};
    if (const auto section = file.find(packed::Kind::code)) code_ = code_in(reader.loader(), *section);
    std::size_t at = 0;
    auto typed = records.typed.begin();
    for (std::uint32_t i = 0; i < records.tensors.size(); ++i) {
      const TensorRecord& record = records.tensors[i];
      if (record.name_bytes > names.size() - at) file.fail("is corrupted: names of tensors are missing");
      const bool has_type = typed != records.typed.end() && typed->tensor == i;
      add(reader, record, has_type ? &*typed++ : nullptr, names.substr(at, record.name_bytes));
      at += record.name_bytes;
    }
    if (typed != records.typed.end()) file.fail("is corrupted: records of typed tensors do not ascend");
    if (at != names.size()) file.fail("is corrupted: more names than tensors");
    reader.loader().require_all_used();
    reader.run({});
    for (auto& [name, stored] : tensors_)
      if (stored.typed) check(name, stored);
  }

  const std::string& name() const override { return file_.name(); }
  const std::string& architecture() const { return architecture_; }
  const std::optional<StoredProgram>& program() const { return program_; }
  const std::vector<StoredCode>& code() const { return code_; }

  Array<float> numbers(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Stored& stored = find(node, tensor);
    if (!stored.dense || elements(shape) != stored.numbers.size())
      node.fail(fmt::format("tensor '{}' is {}, expected {}", tensor, size_text(stored), shape_text(shape)));
    return stored.numbers;
  }

  Weights weights(const ArchitectureNode& node, const std::string& tensor, const Shape& shape) const override {
    const Stored& stored = find(node, tensor);
    const auto rows = static_cast<Index>(shape[0]);
    const auto columns = elements({shape.begin() + 1, shape.end()});
    if (!columns || *columns > kMaxIndex)
      node.fail(fmt::format("more than {} weights per output in {}", kMaxIndex, shape_text(shape)));
    if (stored.dense) return csr_of_dense(numbers(node, tensor, shape).span(), rows, static_cast<Index>(*columns));
    Weights made = stored.typed ? Weights(*stored.typed) : Weights(stored.matrix);
    if (made.rows() != rows || made.cols() != *columns)
      node.fail(fmt::format("tensor '{}' is {}, expected {}", tensor, size_text(stored), shape_text(shape)));
    return made;
  }

 private:
  /// A tensor: dense, sparse, or of values with a type.
  struct Stored {
    bool dense = false;
    CsrMatrix matrix;
    Array<float> numbers;
    std::optional<TypedMatrix> typed;
    std::uint64_t first_byte = 0;  ///< of the values of `typed`, in the file
  };
  struct Records {
    std::vector<TensorRecord> tensors;
    std::vector<TypedRecord> typed;
  };

  static std::string size_text(const Stored& stored) {
    if (stored.dense) return fmt::format("{} numbers", stored.numbers.size());
    return fmt::format("a matrix of {} x {}", stored.typed ? stored.typed->rows : stored.matrix.rows,
                       stored.typed ? stored.typed->cols : stored.matrix.cols);
  }

  Records read_records(SectionLoader& loader) {
    const std::uint32_t section = file_.require(packed::Kind::model, "model");
    const std::size_t size = file_.entry(section).bytes;
    const std::vector<std::byte> bytes = loader.now<std::byte>(section, size);
    if (size < sizeof graph_) file_.fail("is corrupted: the model's description is cut short");
    std::memcpy(&graph_, bytes.data(), sizeof graph_);
    if (graph_.typed != 0 && file_.header().version == packed::kOldestVersionOfModels)
      file_.fail("is corrupted: a file of version 2 has no typed tensors");
    const std::size_t tensor_bytes = std::size_t{graph_.tensors} * sizeof(TensorRecord);
    const std::size_t typed_record =
        file_.header().version >= packed::kFirstVersionWithOrder ? sizeof(TypedRecord) : packed::kTypedRecordOfVersion3;
    const std::size_t typed_bytes = graph_.typed * typed_record;
    if (size != sizeof graph_ + tensor_bytes + typed_bytes)
      file_.fail("is corrupted: the model's description is not as long as its tensors need");
    Records records{std::vector<TensorRecord>(graph_.tensors), std::vector<TypedRecord>(graph_.typed)};
    if (tensor_bytes > 0) std::memcpy(records.tensors.data(), bytes.data() + sizeof graph_, tensor_bytes);
    for (std::size_t i = 0; i < records.typed.size(); ++i)
      std::memcpy(&records.typed[i], bytes.data() + sizeof graph_ + tensor_bytes + i * typed_record, typed_record);
    return records;
  }

  /// Requests the code, which is there once the loader has run.
  std::vector<StoredCode> code_in(SectionLoader& loader, std::uint32_t section) const {
    const std::size_t size = file_.entry(section).bytes;
    const std::vector<std::byte> bytes = loader.now<std::byte>(section, size);
    std::vector<packed::CodeRecord> records(size / sizeof(packed::CodeRecord));
    if (records.empty() || size % sizeof(packed::CodeRecord) != 0)
      file_.fail("is corrupted: the records of code are cut short");
    std::memcpy(records.data(), bytes.data(), size);
    std::vector<StoredCode> all;
    for (const packed::CodeRecord& record : records) {
      std::string digest(record.digest.begin(), record.digest.end());
      if (digest.find_first_not_of("0123456789abcdef") != std::string::npos || record.reserved != 0)
        file_.fail("is corrupted: a digest of code is not hexadecimal, or an unknown number");
      if (!all.empty() && all.back().digest >= digest) file_.fail("is corrupted: digests of code do not ascend");
      all.push_back({std::move(digest), loader.plain<std::byte>(record.bytes, file_.entry(record.bytes).bytes, {})});
    }
    return all;
  }

  /// Requests a tensor; its arrays are valid once the reader has run. `typed` may be null.
  void add(LayerReader& reader, const TensorRecord& record, const TypedRecord* typed, const std::string& name) {
    const std::string where = fmt::format("tensor '{}'", name);
    Stored stored;
    stored.dense = record.numbers != kNone;
    if (stored.dense)
      stored.numbers = reader.loader().plain<float>(
          record.numbers, file_.entry(record.numbers).bytes / sizeof(float),
          {where + ": a value is not finite", [](auto, std::span<const float> values) { return all_finite(values); }});
    else if (typed == nullptr || (typed->pattern == static_cast<std::uint8_t>(Pattern::csr) && !has_codes()) ||
             (typed->pattern == static_cast<std::uint8_t>(Pattern::two_of_four) && record.matrix.rows != 0))
      stored.matrix = reader.matrix(record.matrix, where);
    if (typed != nullptr) {
      if (stored.dense || stored.matrix.values.size() != 0)
        file_.fail(fmt::format("is corrupted: {}: values with and without a type", where));
      if (typed->cols == 0 ||
          (typed->reserved | typed->reserved_too) != 0)  // rows without columns would cost memory, but no bytes
        file_.fail(fmt::format("is corrupted: {}: no columns, or an unknown number", where));
      try {
        stored.typed = typed_matrix_of(reader.loader(), *typed, stored.matrix);
      } catch (const std::invalid_argument& error) {
        file_.fail(fmt::format("is corrupted: {}: {}", where, error.what()));
      }
      stored.first_byte = typed->numbers == kNone ? 0 : file_.entry(typed->numbers).offset;
    }
    if (!tensors_.emplace(name, std::move(stored)).second)
      file_.fail(fmt::format("is corrupted: {} occurs twice", where));
  }

  TypedMatrix typed_matrix_of(SectionLoader& loader, const TypedRecord& record, const CsrMatrix& ones) {
    const auto bytes_in = [&](std::uint32_t section, std::size_t size) {
      return section == kNone ? std::size_t{0} : file_.entry(section).bytes / size;
    };
    const auto array = [&]<class T>(std::uint32_t section, T) {
      return section == kNone ? Array<T>() : loader.plain<T>(section, bytes_in(section, sizeof(T)), {});
    };
    const auto list = [&]<class T>(std::uint32_t section, T) {
      return section == kNone ? std::vector<T>() : loader.now<T>(section, bytes_in(section, sizeof(T)));
    };
    TypedMatrix made{.rows = record.rows, .cols = record.cols, .taps = record.taps};
    made.pattern = static_cast<Pattern>(record.pattern);
    made.offsets = ones.offsets;
    made.indices = ones.indices;
    if (made.pattern == Pattern::csr && has_codes()) {
      packed::EntryPlaces places =
          packed::places_of(packed::huffman_decoded(list(record.places, std::byte{})), made.rows, made.cols);
      made.offsets = std::move(places.offsets);
      made.indices = std::move(places.indices);
    } else {
      made.places = array(record.places, std::uint8_t{});
    }
    made.order = array(record.order, Index{});
    made.values.type = static_cast<DataType>(record.type);
    made.values.count = record.values;
    made.values.bytes = array(record.numbers, std::byte{});
    made.values.code_bits = record.code_bits;
    if (has_codes() && record.code_bits > 0 && record.code_bits <= packed::kMostCodedBits)
      made.values.codes =
          packed::without_gaps(packed::huffman_decoded(list(record.codes, std::byte{})), record.code_bits);
    else
      made.values.codes = array(record.codes, std::byte{});
    made.values.scales = list(record.scales, float{});
    made.values.zero_points = list(record.zero_points, std::int32_t{});
    return made;
  }

  bool has_codes() const { return file_.header().version >= packed::kFirstVersionWithHuffman; }

  void check(const std::string& name, const Stored& stored) const {
    try {
      stored.typed->validate();
    } catch (const std::invalid_argument& error) {
      file_.fail(fmt::format("is corrupted: tensor '{}', whose values begin at byte {}: {}", name, stored.first_byte,
                             error.what()));
    }
  }

  const Stored& find(const ArchitectureNode& node, const std::string& tensor) const {
    const auto found = tensors_.find(tensor);
    if (found == tensors_.end()) node.fail(fmt::format("there is no tensor '{}'", tensor));
    return found->second;
  }

  const PackedFile& file_;
  GraphRecord graph_;
  std::string architecture_;
  std::optional<StoredProgram> program_;
  std::vector<StoredCode> code_;
  std::map<std::string, Stored> tensors_;
};

}  // namespace

Model read_packed_model(const PackedFile& file) {
  const PackedWeights weights(file);
  Model model = read_architecture(weights, file.name() + ": architecture", weights.architecture());
  model.program = weights.program();
  model.code = weights.code();
  return model;
}

Model read_packed_model(const std::filesystem::path& path) {
  return with_memory_for(path.string(), "cannot read", [&] { return read_packed_model(PackedFile(path)); });
}

bool holds_packed_model(const std::filesystem::path& path) {
  try {
    return packed_contents(path).model;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace spdnn

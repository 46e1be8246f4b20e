#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/types/layer_stream.hpp"
#include "core/types/plan.hpp"
#include "core/types/progress.hpp"
#include "io/files/atomic_file.hpp"
#include "io/packed/format.hpp"
#include "io/packed/stored_tensor.hpp"
#include "io/packed/value_coding.hpp"
#include "spdnn/files.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// Collects the sections of a packed file, then writes them all. Added arrays must stay alive until then, because only
/// a few blocks are copied at a time. Layers of a stream are built twice, one at a time: once for their records, and
/// once when they are written.
class PackedWriter {
 public:
  void add_network(const Network& network);
  void add_network(const NetworkStream& network, const ProgressCallback& callback);
  void add_images(const ImageSet& images);
  void add_plan(const Plan& plan);
  /// A model, which excludes all other contents: the text of its architecture.json, its tensors, and the program that
  /// it is compiled into, which may be empty.
  void add_graph(const std::string& architecture, std::span<const StoredTensor> tensors, const std::string& program);
  /// Generated code of the model, if there is any; after add_graph().
  void add_code(std::span<const StoredCode> code);
  void write(const Path& path, const ProgressCallback& callback);

  const packed::Header& header() const { return header_; }

 private:
  /// Fills a block with the bytes of a section, starting at byte `first`.
  using Fill = std::function<void(std::uint64_t first, std::span<std::byte> block)>;
  struct Section {
    packed::SectionEntry entry;
    Fill fill;
  };
  /// The sections of a streamed layer; their `fill` is set when they are written.
  struct LayerSections {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
  };
  struct Block {
    std::uint32_t section;
    std::uint64_t first;  ///< its offset in the section
    std::span<std::byte> bytes;
    std::uint64_t hash;
  };

  std::uint32_t add(packed::Kind kind, std::uint64_t bytes, Fill fill);
  template <class T>
  std::uint32_t add_array(std::span<const T> values);
  std::uint32_t add_records(packed::Kind kind, std::vector<std::byte> records);
  void add_chain(packed::Kind kind, packed::ChainRecord record, const std::vector<Layer>& layers,
                 const std::vector<Array<Index>>& expansion);
  void add_plan_as(packed::Kind kind, const Plan& plan);
  packed::LayerRecord add_layer(const Layer& layer, const ValueCoding& coding);
  packed::MatrixRecord add_matrix(const CsrMatrix& matrix, const ValueCoding& coding);
  packed::TypedRecord add_typed(const TypedMatrix& matrix);
  packed::TensorRecord add_tensor(const StoredTensor& tensor);
  void add_values(packed::MatrixRecord& record, const CsrMatrix& matrix, const ValueCoding& coding);
  void lay_out();
  void make_blocks(std::span<Block> blocks, std::byte* buffer);
  void stream(const Path& path, AtomicFile& file, const ProgressCallback& callback);
  void write_sections(AtomicFile& file, std::uint32_t first, std::uint32_t end, Progress& progress);
  bool make_fills(const Layer& layer, const LayerSections& sections);

  packed::Header header_;
  std::vector<Section> sections_;
  std::shared_ptr<const LayerStream> layers_;  ///< may be null
  std::vector<LayerSections> layer_sections_;  ///< by layer
  std::shared_ptr<std::byte> buffer_;          ///< blocks being prepared
};

}  // namespace spdnn

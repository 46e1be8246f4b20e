#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/packed/file.hpp"
#include "io/packed/section_loader.hpp"
#include "spdnn/network.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// Turns the records of a packed file into matrices and layers. Their arrays are valid after run(). By then the entries
/// have been checked to make a matrix (CsrMatrix::validate()), block by block while they were read.
class ModelReader {
 public:
  /// Whether a row may hold a column more than once: it may in a plan, but not in networks and images.
  enum class Repeats { refused, allowed };
  /// `slab_bytes` as for SectionLoader.
  ModelReader(const PackedFile& file, Repeats repeats, std::size_t slab_bytes = 0)
      : file_(file), loader_(file, slab_bytes), repeats_(repeats) {}

  struct Model {
    packed::ModelRecord record;
    std::vector<packed::LayerRecord> layer_records;
    std::vector<Layer> layers;
    BiasRule bias_rule = BiasRule::non_zeros;
    std::optional<double> cap;
  };

  Model records(std::uint32_t section);
  /// Requests the first `count` layers.
  void layers(Model& model, std::size_t count);
  /// Requests one layer.
  Layer layer(const Model& model, std::size_t k);
  /// Checks what the record of a layer alone tells.
  void check_record(const Model& model, std::size_t k) const;
  /// Forgets what was read: any section may be requested again.
  void begin_again();
  CsrMatrix matrix(const packed::MatrixRecord& record, const std::string& where);
  /// Requests where the rows of a matrix begin, without its entries.
  Array<Offset> row_offsets(const packed::MatrixRecord& record, const std::string& where);
  /// The values that the entries' codes stand for, read at once; empty where there are no codes.
  std::vector<float> palette(const packed::MatrixRecord& record, const std::string& where);
  SectionLoader& loader() { return loader_; }
  void run(const ProgressCallback& callback);

 private:
  /// A matrix whose rows are searched for repeated columns if its blocks show that they do not ascend.
  struct Suspect {
    CsrMatrix matrix;
    std::string where;
    std::shared_ptr<const std::atomic<bool>> unordered;
  };

  void check_record(const packed::MatrixRecord& record, const std::string& where) const;
  Array<Offset> offsets(const packed::MatrixRecord& record, const std::string& where);
  /// `unordered` is null where nobody needs it.
  Array<Index> indices(const packed::MatrixRecord& record, const std::string& where, const Array<Offset>& offsets,
                       const std::shared_ptr<std::atomic<bool>>& unordered);
  Array<float> values(const packed::MatrixRecord& record, const std::string& where);
  template <class Code>
  Array<float> coded_values(const packed::MatrixRecord& record, const std::string& where);
  [[noreturn]] void refuse(const std::string& where, const std::string& what) const {
    file_.fail("is corrupted: " + where + ": " + what);
  }

  const PackedFile& file_;
  SectionLoader loader_;
  Repeats repeats_;
  std::vector<Suspect> suspects_;
  /// The latest offsets made for rows of equal length, which neighbouring layers of one shape share.
  std::pair<Index, Index> regular_shape_{0, 0};
  Array<Offset> regular_offsets_;
};

}  // namespace spdnn

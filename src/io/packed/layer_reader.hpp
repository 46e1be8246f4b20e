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

/// Turns the records of a packed file into matrices and layers. Their arrays are valid after run(), which checks block
/// by block that the entries form a matrix (CsrMatrix::validate()).
class LayerReader {
 public:
  /// Whether a row may hold a column more than once: allowed in plans, refused in networks and images.
  enum class Repeats { refused, allowed };
  /// `slab_bytes` is passed to SectionLoader.
  LayerReader(const PackedFile& file, Repeats repeats, std::size_t slab_bytes = 0)
      : file_(file), loader_(file, slab_bytes), repeats_(repeats) {}

  struct Chain {
    packed::ChainRecord record;
    std::vector<packed::LayerRecord> layer_records;
    std::vector<Layer> layers;
    BiasRule bias_rule = BiasRule::non_zeros;
    std::optional<double> cap;
  };

  Chain records(std::uint32_t section);
  /// Requests the first `count` layers.
  void layers(Chain& chain, std::size_t count);
  /// Requests one layer.
  Layer layer(const Chain& chain, std::size_t k);
  /// Checks the record of a layer without its sections.
  void check_record(const Chain& chain, std::size_t k) const;
  /// Forgets previous requests: any section may be requested again.
  void begin_again();
  CsrMatrix matrix(const packed::MatrixRecord& record, const std::string& where);
  /// Requests the row offsets of a matrix, without its entries.
  Array<Offset> row_offsets(const packed::MatrixRecord& record, const std::string& where);
  /// The palette of the values, read immediately; empty if values are not palette indices.
  std::vector<float> palette(const packed::MatrixRecord& record, const std::string& where);
  SectionLoader& loader() { return loader_; }
  void run(const ProgressCallback& callback);

 private:
  /// A matrix whose rows are searched for repeated columns if its blocks do not ascend.
  struct Suspect {
    CsrMatrix matrix;
    std::string where;
    std::shared_ptr<const std::atomic<bool>> unordered;
  };

  void check_record(const packed::MatrixRecord& record, const std::string& where) const;
  Array<Offset> offsets(const packed::MatrixRecord& record, const std::string& where);
  /// `unordered` may be null.
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
  /// The latest offsets made for rows of equal length, shared by adjacent layers of the same shape.
  std::pair<Index, Index> regular_shape_{0, 0};
  Array<Offset> regular_offsets_;
};

/// The record in the section of kind images. DataError if it is invalid.
packed::ImagesRecord images_record(const PackedFile& file, LayerReader& reader, std::uint32_t section);

}  // namespace spdnn

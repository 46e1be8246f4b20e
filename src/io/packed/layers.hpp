#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/types/layer_stream.hpp"
#include "io/packed/file.hpp"
#include "io/packed/layer_reader.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

/// The layers of a packed network, each read on request. The file stays open. Records are checked in the constructor;
/// the sections are checked at each reading, as by read_network().
class PackedLayers final : public LayerStream {
 public:
  /// `chain` has the records of the layers, from network_records().
  PackedLayers(std::unique_ptr<const PackedFile> file, LayerReader::Chain chain);

  Layer read(Index k) const override { return std::move(read_some(k, 1).front()); }
  std::vector<Layer> read_some(Index first, Index count) const override;
  std::uint64_t bytes_read() const override { return bytes_read_; }

 private:
  std::uint64_t bytes_in_file(const packed::LayerRecord& record) const;

  const std::unique_ptr<const PackedFile> file_;
  const LayerReader::Chain chain_;
  mutable std::mutex one_at_a_time_;
  mutable LayerReader reader_;
  mutable std::atomic<std::uint64_t> bytes_read_ = 0;
};

/// The records of the requested layers of the network in a file. DataError if they contradict the request, one another
/// or the header.
LayerReader::Chain network_records(const PackedFile& file, LayerReader& reader, const NetworkRequest& request);

}  // namespace spdnn

#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "io/packed/file.hpp"
#include "io/packed/model_reader.hpp"
#include "spdnn/files.hpp"
#include "spdnn/layer_stream.hpp"

namespace spdnn {

/// The layers of a packed network, each read when it is asked for. The file stays open. Its records are checked at
/// once; what they name is checked each time that it is read, as read_network() does.
class PackedLayers final : public LayerStream {
 public:
  /// `model` has the records of the layers, as network_records() gives them.
  PackedLayers(std::unique_ptr<const PackedFile> file, ModelReader::Model model);

  Layer read(Index k) const override;
  std::uint64_t bytes_read() const override { return bytes_read_; }

 private:
  std::uint64_t bytes_in_file(const packed::LayerRecord& record) const;

  const std::unique_ptr<const PackedFile> file_;
  const ModelReader::Model model_;
  mutable std::mutex one_at_a_time_;
  mutable ModelReader reader_;
  mutable std::atomic<std::uint64_t> bytes_read_ = 0;
};

/// The records of the network in a file, those of the layers that are wanted. DataError where they contradict the
/// request, one another or the header.
ModelReader::Model network_records(const PackedFile& file, ModelReader& reader, const NetworkRequest& request);

}  // namespace spdnn

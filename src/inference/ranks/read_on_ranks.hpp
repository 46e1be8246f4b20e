#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/communicator.hpp"
#include "inference/ranks/move_images.hpp"
#include "io/packed/image_layout.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/progress.hpp"

namespace spdnn {

/// This rank's part of images that all ranks have read, as images_dealt_to() deals them.
struct ReadImages {
  ImageSet mine;
  Index images = 0;   ///< of all ranks
  std::string by;     ///< the readers, for the report; empty for a single process
  FileNotes notes{};  ///< on the root
};

/// Reads or makes the specified images on all ranks, which call it together; `spec` is the same on all of them, and the
/// root's `neurons` count. A packed file, and TSV that is not compressed, are read by the ranks that find the file
/// which the root finds, each a part; other text by rank 0. Either way everything is read once, and sent to its owners
/// in pieces, so that rank 0 needs no more memory than the others. Images that are `given` on the root, or made from
/// MNIST's, are complete before they are sent. Errors are those of a single process, thrown on the root, which reads
/// the file again alone to find them.
ReadImages read_images_on_ranks(Communicator& ranks, const ImageSpec& spec, Index neurons,
                                const ProgressCallback& progress, std::optional<ImageSet> given = {});

// The parts of it. `readers` are the ranks that read, ascending, the root among them. Nothing is returned, on all
// ranks, where something is wrong with the file or with reading it.

/// This rank's images of a packed file: each reader reads a part of the file's blocks, hashes it and sends other ranks'
/// images to them. The hashes of all readers make the checksums of the file.
std::optional<ImageSet> read_packed_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, Index neurons,
                                             std::optional<Index> images);
/// The owners of the images of a file; empty if it is not the expected file. The same on all ranks.
using DealPacked = std::function<std::optional<Owners>(const PackedImageLayout&)>;
std::optional<ImageSet> read_packed_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, const DealPacked& deal);

struct TextImages {
  ImageSet mine;
  bool cut = false;  ///< the last line has no newline
};
/// This rank's images of a file in text form: each reader parses a part of the lines, some at a time.
std::optional<TextImages> read_text_on_ranks(Communicator& ranks, const std::string& path,
                                             const std::vector<int>& readers, Index neurons,
                                             std::optional<Index> images);
/// Whether a text is read from its beginning to its end: it is compressed, or begins with a header.
bool has_one_reader(const std::string& path);

}  // namespace spdnn

#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/progress.hpp"
#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn {

using Path = std::filesystem::path;

/// The forms a network or an image set has on disk; a path's form follows from what it is.
enum class Form { tsv, tsv_gz, matrix_market, packed };

/// From the name's ending: .tsv, .tsv.gz, .mtx, .spdnn. DataError for any other.
Form form_of(const Path& path);

/// What the caller knows about a network on disk. What is not given is taken from file names, headers or the packed
/// file; what is given and contradicts the files is a DataError.
struct NetworkRequest {
  std::vector<Index> neurons{};   ///< empty: detect; one number: square layers; else inputs of layer 1, outputs of each
  std::optional<Index> layers{};  ///< use the first so many layers
  ProgressMode progress = ProgressMode::never;
};

/// Reads a directory of nN-lK.tsv[.gz] or .mtx layers with optional nN-lK-bias.tsv, one such layer file, or a packed
/// file. `bias` of layers without a bias file stays 0 and is the caller's to set; packed files carry bias, rule and
/// cap.
struct NetworkFile {
  Network network;
  bool has_bias = false;             ///< bias files or a packed file gave the biases
  bool has_rule = false;             ///< a packed file gave bias_rule and cap
  std::vector<std::string> notes{};  ///< what the reader should know: layers whose files are empty
};
NetworkFile read_network(const Path& path, const NetworkRequest& request);

/// Reads sparse-images-N.tsv[.gz], .mtx or packed images. `images` given: ids above it are an error and images without
/// non-zeros at the end are kept; otherwise the largest id counts.
ImageSet read_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images);
Categories read_categories(const Path& path);

/// What is written appears whole or not at all; see atomic_file.hpp, and directory/replacement.hpp for layers in text
/// form.
void write_network(const Path& path, Form form, const Network& network, ProgressMode progress = ProgressMode::never);
void write_images(const Path& path, const ImageSet& images);
void write_categories(const Path& path, const Categories& categories);
/// Writes text (a JSON report, say) under the same guarantee.
void write_text(const Path& path, std::string_view text);

/// What a packed file holds; asked without reading it through.
struct PackedContents {
  bool network = false;
  bool images = false;
  bool plan = false;
  Index layers = 0;
  Offset edges = 0;
  std::uint64_t network_digest = 0;
};
PackedContents packed_contents(const Path& path);
/// The plan stored in a packed file, without touching its network. DataError where there is none, or where it belongs
/// to another network (digest).
Plan read_plan(const Path& path);
/// Packed network together with its finished plan.
void write_network_with_plan(const Path& path, const Network& network, const Plan& plan);
/// Identifies a network by shapes, indices, values, biases, rule and cap (XXH3 over them); equal for equal networks
/// whatever file they came from. One pass at memory speed.
std::uint64_t network_digest(const Network& network);
/// Identifies images of zeros and ones by their number, their neurons and what each holds (XXH3); equal for equal
/// images in equal order, whatever file they came from and whatever form they are held in. Empty where there are other
/// values. One pass at memory speed.
std::optional<std::uint64_t> image_digest(const ImageSet& images);

}  // namespace spdnn

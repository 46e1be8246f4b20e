#pragma once

#include <optional>
#include <string>

#include "report/verdict.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"

namespace spdnn::cli {

/// What the categories are to be compared with; settled, and its file read, before anything long runs.
struct Truth {
  std::optional<Categories> list;  ///< --truth
  std::string source;              ///< its path
  Index sample = 0;                ///< --verify K: recompute so many images
  bool everything = false;         ///< --verify all
  bool wanted() const { return sample > 0 || everything; }
};

Truth read_truth(const std::optional<std::string>& path, const std::optional<std::string>& verify);

/// The verdict by the best truth there is: the given list; the known digest where network and images are the official
/// ones; all images recomputed by cpu_reference. A sample recomputed can only fail the run, not pass it.
/// `network` may be null unless images are to be recomputed.
Verdict verify(const Truth& truth, const Network* network, bool official_network, const ImageSet& images,
               const Categories& categories);

}  // namespace spdnn::cli

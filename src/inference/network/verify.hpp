#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/types/plan.hpp"
#include "inference/network/input_images.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "spdnn/inference.hpp"
#include "spdnn/verdict.hpp"

namespace spdnn {

/// The truth for the categories. It is determined, and its file is read, before any long work.
struct Truth {
  std::optional<Categories> list{};
  std::string source{};     ///< the list's path
  Index sample = 0;         ///< number of images to recompute
  bool everything = false;  ///< recompute all images
  bool wanted() const { return sample > 0 || everything; }
};

/// Notes on the file are added to `notes`.
Truth read_truth(const TruthSpec& spec, FileNotes* notes = nullptr);

/// The run to be verified.
struct CheckedRun {
  const Plan& plan;
  /// Plans the network as given for some passes; used where images are to be recomputed.
  std::function<Plan(const Passes&)> plan_given;
  Index images = 0;
  Index neurons = 0;  ///< of the images
  /// Some of the images, by ascending ids; used where images are to be recomputed.
  SomeImages images_of;
  Index at_once = 0;            ///< images that are recomputed at a time, at most; at least 1
  std::string why_unofficial;   ///< empty: network and images are the challenge's own
  std::size_t host_memory = 0;  ///< that recomputing may take; see InferenceSpec
  std::function<bool()> cancelled = {};
};

/// The verdict by all the truth there is: the given list, images recomputed by cpu_reference, and for official problems
/// the known digest. A category that contradicts one of them is wrong; a sample recomputed can only fail the run, not
/// pass it. A problem without images, layers or edges proves nothing and does not pass.
Verdict verify(const Truth& truth, const CheckedRun& problem, const Categories& categories);

}  // namespace spdnn

#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/text/json.hpp"
#include "program/choose.hpp"
#include "program/compile.hpp"
#include "program/program.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn::program {

/// The conditions for which a program is made, as names and texts: the build of spdnn, the processor, the model's
/// digest, the kernels that may be offered, threads, images and precision. A stored program is used where all are the
/// same.
using Origin = std::vector<std::pair<std::string, std::string>>;
/// The build and the processor alone.
Origin machine_origin();
Origin origin_of(const Model& model, Extent images, const CompileOptions& options);

/// The program as JSON: its origin and all of its data. It omits the functions that bind kernels: reading compiles
/// again, but asks only the chosen kernels, for the chosen offers and changes of layout. So it does not depend on
/// times, which may have been measured, or corrected by a calibration that is another one now. `batch`: of whose images
/// the program computes all or, several times, a part.
std::string stored_text(const Program& program, const Origin& origin, Index batch);

/// A kernel no longer makes the offer that was chosen: that of another library under the same name, for example.
struct OfferGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A stored program that is read back.
class StoredReader {
 public:
  /// DataError, naming the place, if the text is no stored program.
  explicit StoredReader(const StoredProgram& stored);

  /// The images of a batch for which it is made.
  Index batch() const { return json_.contains("batch") ? json_.at("batch").get<Index>() : 0; }
  /// The reason why it does not match this origin: `its threads: 4, now: 2`. Empty if it does.
  std::string why_not(const Origin& origin) const;
  /// The program. OfferGone, or DataError if the result differs from the stored program.
  Program program(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options) const;

 private:
  Choice choice_for(const Kernels& kernels, const Request& request) const;
  /// Of the first change of layout among the actions from `next` on, which is then the action behind it.
  Choice change_for(const Kernels& kernels, const Change& change, std::size_t& next) const;
  DataError damaged(const char* what) const;

  std::string place_;
  Json json_;
};

/// The program stored with the model if it matches this origin, otherwise a newly compiled one; its remarks say which.
/// DataError if the stored one is damaged.
Program stored_or_compiled(const Model& model, const Magnitudes& magnitudes, Extent images,
                           const CompileOptions& options);

}  // namespace spdnn::program

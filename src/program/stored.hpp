#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "program/choose.hpp"
#include "program/compile.hpp"
#include "program/program.hpp"
#include "spdnn/model.hpp"

namespace spdnn::program {

/// The conditions for which a program is made, as names and texts: the build of spdnn, the processor, the model's
/// digest, the kernels that may be offered, threads, images and types. A stored program is used where all are the same.
using Origin = std::vector<std::pair<std::string, std::string>>;
Origin origin_of(const Model& model, Extent images, const CompileOptions& options);

/// The program as JSON: its origin and all of its data. The functions that bind kernels are left out: reading compiles
/// again, but asks the kernels that were chosen alone, and for the offers that were chosen.
std::string stored_text(const Program& program, const Origin& origin);

/// A kernel no longer makes the offer that was chosen: that of another library under the same name, for example.
struct OfferGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A stored program that is read back.
class StoredReader {
 public:
  /// DataError, naming the place, where the text is no stored program.
  explicit StoredReader(const StoredProgram& stored);

  /// At a time, for which it is made.
  Index images() const { return json_["program"].value("images", Index{0}); }
  /// Why it is none for this origin: `its threads: 4, now: 2`. Empty where it is.
  std::string why_not(const Origin& origin) const;
  /// The program. OfferGone, or DataError where what comes out is not what is stored.
  Program program(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options) const;

 private:
  Choice choice_for(const Kernels& kernels, const Request& request) const;

  std::string place_;
  nlohmann::json json_;
};

/// The program stored with the model where there is one for this origin, and otherwise one compiled anew; its remarks
/// say which. DataError where the stored one is damaged.
Program stored_or_compiled(const Model& model, const Magnitudes& magnitudes, Extent images,
                           const CompileOptions& options);

}  // namespace spdnn::program

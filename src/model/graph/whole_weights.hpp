#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// A matrix each of whose rows is a scale times integers of at most 8 bits and a sign, rounded to fp32.
struct WholeWeights {
  std::vector<std::int32_t> numbers;  ///< of the entries
  std::vector<float> scales;          ///< of the rows
  bool in_bytes = true;               ///< all numbers are from -128 to 127
};

/// The integers, found in the values themselves, so that it does not matter how the model had them: the scale is
/// the largest value of a row divided by 127, or by another number up to 255. Empty if a row has other values.
std::optional<WholeWeights> whole_weights(const CsrMatrix& weights);

/// Those of matrices that outlive it, each found when it is first asked for.
class KnownWholeWeights {
 public:
  /// nullptr if a row has other values.
  std::shared_ptr<const WholeWeights> of(const CsrMatrix& weights);

 private:
  std::map<const CsrMatrix*, std::shared_ptr<const WholeWeights>> known_;
};
/// Those of `known`, unless that is null; nullptr if a row has other values.
std::shared_ptr<const WholeWeights> whole_weights(KnownWholeWeights* known, const CsrMatrix& weights);

/// Why sums of products of such weights with 8-bit activations less a zero point may exceed 32 bits; empty if they
/// cannot.
std::string why_not_exact(const CsrMatrix& weights);

/// Whether no two products of a row's weights with 0 to 255 exceed 16 bits with a sign, whichever are added.
bool pairs_fit(const CsrMatrix& weights, const WholeWeights& whole);

/// Multiplies the scales of the rows by that of the input, which makes them those of sums of products; false if one is
/// then no normal number of fp32, so that it was rounded too much, or even to 0 or infinity.
bool scale_sums(std::vector<float>& scales, float of_input);

}  // namespace spdnn

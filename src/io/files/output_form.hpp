#pragma once

#include <initializer_list>
#include <string>

namespace spdnn {

/// The format of written numbers, selected by the file name's ending.
enum class OutputForm {
  npy,  ///< NumPy array
  npz,  ///< NumPy archive: a sparse matrix as SciPy stores it
  tsv,  ///< the challenge's lines `image, neuron, value`; .tsv.gz is compressed
  txt,  ///< one image per line, numbers separated by blanks
  csv,  ///< a line of headings, then one image per line
};

/// The format given by the ending of `path`, one of `forms`. UsageError, beginning with `option`, for other endings. A
/// name without an ending, such as stdout, a device or a pipe, gets the last of `forms` on a terminal, and the first
/// otherwise.
OutputForm output_form(const std::string& option, const std::string& path, std::initializer_list<OutputForm> forms);

}  // namespace spdnn

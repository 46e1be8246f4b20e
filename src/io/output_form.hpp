#pragma once

#include <initializer_list>
#include <string>

namespace spdnn {

/// How numbers are written; a file's ending says which.
enum class OutputForm {
  npy,  ///< NumPy's array
  npz,  ///< NumPy's archive: a sparse matrix as SciPy stores it
  tsv,  ///< the challenge's lines `image, neuron, value`; .tsv.gz is compressed
  txt,  ///< one image per line, numbers separated by blanks
  csv,  ///< a line of headings, then one image per line
};

/// The form by the ending of `path`, one of `forms`. UsageError, beginning with `option`, for all other endings. Where
/// the name has no ending to go by, as that of stdout, a device or a pipe, it is the last of `forms` on a terminal, and
/// the first otherwise.
OutputForm output_form(const std::string& option, const std::string& path, std::initializer_list<OutputForm> forms);

}  // namespace spdnn

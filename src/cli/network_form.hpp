#pragma once

#include <optional>
#include <string>

#include "spdnn/files.hpp"

namespace spdnn::cli {

/// The format of a network written to OUT: that of --form (tsv, tsv.gz, mtx, packed), or by default packed for a name
/// that ends in .spdnn and a directory of TSV layers for others. UsageError if the two contradict each other, and for
/// names that end like layer files: layers go into directories, so such a name is a mistake.
Form network_form(const Path& out, const std::optional<std::string>& form);

}  // namespace spdnn::cli

#pragma once

#include <optional>
#include <string>

#include "spdnn/files.hpp"

namespace spdnn::cli {

/// The form in which a network goes to OUT: what --form says (tsv, tsv.gz, mtx, packed), or else packed for a name that
/// ends in .spdnn and a directory of TSV layers for others. UsageError where both do not fit together, and for names
/// that end like those of layer files: layers go into directories, so such a name is a mistake.
Form network_form(const Path& out, const std::optional<std::string>& form);

}  // namespace spdnn::cli

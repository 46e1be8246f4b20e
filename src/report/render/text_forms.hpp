#pragma once

#include <string>

#include "report/document.hpp"

namespace spdnn {

/// Sections, paragraphs and aligned tables, without charts.
std::string to_markdown(const Document& document);

/// One of the document's tables as CSV (RFC 4180), selected by its id, with or without `-table`, or by its section's id
/// (then the section's first table): a line of titles with units, in which underscores replace blanks and brackets,
/// then one line per row. Unknown values are empty fields. The UsageError for an unknown table lists the tables.
std::string to_csv(const Document& document, const std::string& table);

/// A LaTeX document that needs only LaTeX's standard packages. Columns with equal values in all rows move to the
/// table's caption; long tables continue over several pages. Charts are omitted.
std::string to_latex(const Document& document);

}  // namespace spdnn

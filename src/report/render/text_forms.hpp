#pragma once

#include <string>

#include "report/document.hpp"

namespace spdnn {

/// Sections, paragraphs and aligned tables; charts are left out.
std::string to_markdown(const Document& document);

/// One of the document's tables (RFC 4180), named by its id, with or without `-table`, or by that of its section, of
/// which it then is the first: a line of titles with units, in which underscores stand for blanks and brackets, then a
/// line for each row. What is not known is an empty field. UsageError names the tables where there is none.
std::string to_csv(const Document& document, const std::string& table);

/// A LaTeX document that needs nothing but LaTeX's own packages. In each table, what is the same in all rows is said
/// once, in its caption; long tables go on over several pages. Charts are left out.
std::string to_latex(const Document& document);

}  // namespace spdnn

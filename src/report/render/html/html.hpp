#pragma once

#include <string>

#include "report/document.hpp"

namespace spdnn {

/// The document as one self-contained HTML page: style, script, charts (Chart.js) and their licence are embedded, and
/// its content security policy forbids any request. Tables can be sorted by mouse and keyboard; each chart comes with
/// its numbers as a table; the light or dark theme follows the reader's system and a button; the page prints well and
/// fits a phone.
///
///   Document document{"Title", "One paragraph.", {}};
///   document.sections.push_back({"layers", "Layers", {Paragraph{"..."}, Table{...}, Chart{...}}});
///   write_text(path, to_html(document));
///
/// Any text is escaped. The page has a fixed overhead of about 250 kB, plus the document's text.
std::string to_html(const Document& document);

}  // namespace spdnn

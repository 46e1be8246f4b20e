#pragma once

#include <string>

#include "report/document.hpp"

namespace spdnn {

/// The document as one page of HTML that needs nothing but itself: style, script, charts (Chart.js) and their licence
/// are in it, and its content security policy forbids any request. Tables can be sorted by mouse and keyboard; each
/// chart comes with its numbers as a table; light and dark follow the reader's system and a button; it prints, and fits
/// a phone.
///
///   Document document{"Title", "One paragraph.", {}};
///   document.sections.push_back({"layers", "Layers", {Paragraph{"..."}, Table{...}, Chart{...}}});
///   write_text(path, to_html(document));
///
/// Any text is safe: it is escaped here. Large documents cost only their text: about 250 kB of a page are always there.
std::string to_html(const Document& document);

}  // namespace spdnn

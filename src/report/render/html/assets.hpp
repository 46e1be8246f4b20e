#pragma once

#include <string_view>

namespace spdnn::html {

/// Files embedded in every page, compiled into the program (make/program.mk).
std::string_view page_style();
std::string_view page_script();    ///< colours and charts
std::string_view table_script();   ///< sorting
std::string_view chart_script();   ///< Chart.js
std::string_view chart_licence();  ///< licence of Chart.js

}  // namespace spdnn::html

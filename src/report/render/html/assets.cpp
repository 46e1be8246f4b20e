#include "report/render/html/assets.hpp"

namespace spdnn::html {

// Each included file is a raw string literal that make generates from the file of that name.
namespace {
constexpr std::string_view kStyle =
#include "page.css.literal"
    ;
constexpr std::string_view kScript =
#include "page.js.literal"
    ;
constexpr std::string_view kTableScript =
#include "tables.js.literal"
    ;
constexpr std::string_view kChartScript =
#include "chart.js.literal"
    ;
constexpr std::string_view kChartLicence =
#include "chart_licence.txt.literal"
    ;
}  // namespace

std::string_view page_style() { return kStyle; }
std::string_view page_script() { return kScript; }
std::string_view table_script() { return kTableScript; }
std::string_view chart_script() { return kChartScript; }
std::string_view chart_licence() { return kChartLicence; }

}  // namespace spdnn::html

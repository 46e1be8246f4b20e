#include "cli/network_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

using NamedForm = std::pair<std::string_view, Form>;
constexpr std::array<NamedForm, 4> kForms{
    {{"tsv", Form::tsv}, {"tsv.gz", Form::tsv_gz}, {"mtx", Form::matrix_market}, {"packed", Form::packed}}};

Form parse_form(const std::string& text) {
  const auto* const found =
      std::find_if(kForms.begin(), kForms.end(), [&](const NamedForm& form) { return form.first == text; });
  if (found == kForms.end()) throw UsageError(fmt::format("--form: '{}' is not one of tsv, tsv.gz, mtx, packed", text));
  return found->second;
}

}  // namespace

Form network_form(const Path& out, const std::optional<std::string>& form) {
  const std::string name = out.filename().string();
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  if (form) {
    const Form given = parse_form(*form);
    std::error_code unknown;  // problems with the name are reported by its writer
    if ((given == Form::packed) != ends(".spdnn") && (ends(".spdnn") || is_directory(out, unknown)))
      throw UsageError(fmt::format("--form {} cannot be used with OUT {}", *form, out.string()));
    return given;
  }
  if (ends(".spdnn")) return Form::packed;
  if (ends(".tsv") || ends(".tsv.gz") || ends(".mtx") || ends(".mtx.gz"))
    throw UsageError(fmt::format("OUT {}: a network goes into a directory or a .spdnn file", out.string()));
  return Form::tsv;
}

}  // namespace spdnn::cli

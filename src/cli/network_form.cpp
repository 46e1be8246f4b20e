#include "cli/network_form.hpp"

#include <fmt/format.h>

#include <system_error>

#include "cli/options.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

Form network_form(const Path& out, const std::optional<std::string>& form) {
  const std::string name = out.filename().string();
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  if (form) {
    const Form given = parse_word<Form>(
        "form", *form,
        {{"tsv", Form::tsv}, {"tsv.gz", Form::tsv_gz}, {"mtx", Form::matrix_market}, {"packed", Form::packed}});
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

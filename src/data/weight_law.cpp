#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Removes `:NUMBER` from the front of the text; returns false if there is none.
bool take_number(std::string_view& text, double& number) {
  if (!text.starts_with(':')) return false;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::isfinite(static_cast<float>(number));
}

}  // namespace

WeightLaw parse_weight_law(const std::string& text) {
  std::string_view rest = text;
  WeightLaw law;
  bool sound = false;
  if (rest.starts_with("constant:")) {
    rest.remove_prefix(8);
    sound = take_number(rest, law.value) && static_cast<float>(law.value) != 0.0F;
  } else if (rest.starts_with("normal:")) {
    rest.remove_prefix(6);
    law.kind = WeightLaw::Kind::normal;
    sound = take_number(rest, law.value) && take_number(rest, law.deviation) && law.deviation > 0.0;
  }
  if (!sound || !rest.empty())
    throw UsageError(fmt::format(
        "'{}' is not a weight law; expected constant:V with V not 0, or normal:MEAN:DEVIATION with DEVIATION above 0",
        text));
  return law;
}

}  // namespace spdnn

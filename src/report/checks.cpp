#include "report/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace spdnn {

namespace {

/// Earlier versions described the checks only in a sentence: first the deciding ones, then those with a different
/// result. A second run that agreed was not mentioned.
std::vector<std::string> checks_of_sentence(const JsonFields& line) {
  constexpr std::string_view kBetween[] = {", though not against ", ", but sums overflowed", " and "};
  std::vector<std::string> checks;
  std::string sentence = line.text({"verdict", "against"});
  if (sentence.starts_with("nothing: ")) sentence.clear();
  for (const std::string_view words : kBetween)
    for (std::size_t at = 0; (at = sentence.find(words, at)) != std::string::npos;)
      sentence.replace(at, words.size(), "\n");
  if (const Json* compared = line.find({"compared"}); compared != nullptr && !compared->is_null())
    sentence +=
        fmt::format("\n--reduce {} by {}", line.text({"compared", "passes"}), line.text({"compared", "variant"}));
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t end = std::min(sentence.find('\n', at), sentence.size());
    if (end > at) checks.push_back(sentence.substr(at, end - at));
    at = end + 1;
  }
  return checks;
}

/// Earlier versions did not mark a comparison with the reference on some of the images as a sample.
void name_as_sample(std::string& check) {
  const std::string_view name = check;
  if (name.starts_with("cpu_reference on ") && name.ends_with(" images") && name != "cpu_reference on all images")
    check += ", a sample";
}

}  // namespace

std::vector<std::string> checks_of(const JsonFields& line) {
  std::vector<std::string> checks =
      line.find({"verdict", "checks"}) != nullptr ? line.texts({"verdict", "checks"}) : checks_of_sentence(line);
  std::for_each(checks.begin(), checks.end(), name_as_sample);
  std::sort(checks.begin(), checks.end());
  checks.erase(std::unique(checks.begin(), checks.end()), checks.end());
  return checks;
}

}  // namespace spdnn

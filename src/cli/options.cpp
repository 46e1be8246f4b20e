#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/help_text.hpp"
#include "cli/progress_bar.hpp"
#include "core/text/comma_list.hpp"
#include "core/text/lower_case.hpp"
#include "core/text/nearest_name.hpp"
#include "core/threads/parallel.hpp"

namespace spdnn::cli {

namespace {

template <class T>
T parse_number(const std::string& option, const std::string& text, const char* expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw UsageError(fmt::format("--{}: '{}' is not {}", option, text, expected));
  return value;
}

/// `least` is 0 or 1.
Index parse_within(Index least, Index most, const std::string& option, const std::string& text) {
  const auto value = parse_number<std::uint64_t>(
      option, text, least == 0 ? "0 or a positive whole number" : "a positive whole number");
  if (value < least || value > most)
    throw UsageError(fmt::format("--{}: {} is outside {}..{}", option, text, least, most));
  return static_cast<Index>(value);
}

/// Empty values are meaningless for all options; unset variables of a script produce them.
void refuse_empty_values(const po::options_description& options, const po::variables_map& values) {
  for (const auto& [name, value] : values) {
    if (options.find(name, false).semantic()->max_tokens() == 0) continue;
    const auto* const text = boost::any_cast<std::string>(&value.value());
    const auto* const texts = boost::any_cast<std::vector<std::string>>(&value.value());
    const bool one_is_empty = texts != nullptr && std::find(texts->begin(), texts->end(), "") != texts->end();
    if (one_is_empty || (text != nullptr && text->empty()))
      throw UsageError(fmt::format("--{}: the value is empty", name));
  }
}

/// Unknown options are refused here because Boost replaces names such as %canonical_option% in its messages, and loops
/// forever if an argument contains one. Arguments without an option's name are refused too, unless `positional`.
void refuse_unknown_arguments(const Arguments& arguments, const po::options_description& known, bool positional,
                              const std::string& usage) {
  bool awaits_value = false;
  bool takes_more = false;  // the previous option takes any number of values
  for (const std::string& argument : arguments) {
    const bool is_value = std::exchange(awaits_value, false) || takes_more;
    if (argument == "--" && !is_value) return;
    if (!positional && !is_value && !argument.starts_with("--"))
      throw UsageError(fmt::format("'{}' is not an option; usage: {}", argument, usage));
    if (argument == "--" || !argument.starts_with("--")) continue;
    const std::string name = argument.substr(0, argument.find('='));
    const auto* const option = name.size() == 2 ? nullptr : known.find_nothrow(name.substr(2), false);
    if (option == nullptr)
      throw UsageError(fmt::format("unrecognised option '{}'{}; usage: {}", name,
                                   did_you_mean(name.substr(2), option_names(known), "--"), usage));
    if (name.size() < argument.size() && option->semantic()->max_tokens() == 0)
      throw UsageError(fmt::format("option '{}' does not take any arguments; usage: {}", name, usage));
    awaits_value = name.size() == argument.size() && option->semantic()->max_tokens() > 0;
    takes_more = option->semantic()->max_tokens() > 1;
  }
}

}  // namespace

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back(option->long_name());
  return names;
}

bool parse(const Arguments& arguments, const CommandForm& form, po::variables_map& values) {
  return parse(arguments, form, values, [&](const po::variables_map&) { return form; });
}

bool parse(const Arguments& arguments, const CommandForm& form, po::variables_map& values,
           const std::function<CommandForm(const po::variables_map&)>& chosen) {
  const std::string& usage = form.usage;
  const po::options_description options = form.options();
  po::options_description all(options);
  po::options_description hidden;
  po::positional_options_description places;
  std::vector<std::pair<std::string, std::string>> required;  // in lower case, and as in the usage
  for (std::string name : form.positional) {
    int count = 1;
    if (name.ends_with("...")) {
      name.resize(name.size() - 3);
      count = -1;
    }
    const bool optional = name.starts_with("[");
    if (optional) name = name.substr(1, name.size() - 2);
    const std::string shown = std::exchange(name, lower_case(name));
    const bool declared = options.find_nothrow(name, false) != nullptr;
    if (!declared && count < 0) hidden.add_options()(name.c_str(), po::value<std::vector<std::string>>());
    if (!declared && count > 0) hidden.add_options()(name.c_str(), po::value<std::string>());
    places.add(name.c_str(), count);
    if (!optional) required.emplace_back(name, shown);
  }
  all.add(hidden).add_options()("help", "print this help and exit");
  refuse_unknown_arguments(arguments, all, !form.positional.empty(), usage);
  using Style = po::command_line_style::style_t;
  constexpr int kStyle = Style::allow_long | Style::long_allow_adjacent | Style::long_allow_next;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(places).style(kStyle).run(), values);
    if (values.count("help") != 0) {
      fmt::print("{}", help_text({chosen(values)}, stdout_columns()));
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(fmt::format("{}; usage: {}", error.what(), usage));
  }
  for (const auto& [name, shown] : required)
    if (values.count(name) == 0) throw UsageError(fmt::format("{} is missing; usage: {}", shown, usage));
  refuse_empty_values(all, values);
  return true;
}

Index parse_count(const std::string& option, const std::string& text) {
  return parse_within(1, kMaxIndex, option, text);
}

Index parse_whole(const std::string& option, const std::string& text) {
  return parse_within(0, kMaxIndex, option, text);
}

int parse_threads(const std::string& text) { return static_cast<int>(parse_within(1, kMostThreads, "threads", text)); }

std::vector<Index> parse_counts(const std::string& option, const std::string& text) {
  std::vector<Index> counts;
  for (const std::string_view count : split_at_commas(text)) counts.push_back(parse_count(option, std::string(count)));
  return counts;
}

double parse_real(const std::string& option, const std::string& text) {
  const auto value = parse_number<double>(option, text, "a number");
  if (!std::isfinite(value)) throw UsageError(fmt::format("--{}: '{}' is not a finite number", option, text));
  return value;
}

double parse_share(const std::string& option, const std::string& text) {
  const double share = parse_real(option, text);
  if (share < 0 || share >= 1) throw UsageError(fmt::format("--{}: {} is outside [0, 1)", option, text));
  return share;
}

std::size_t parse_bytes(const std::string& option, const std::string& text) {
  if (text == "auto") return 0;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto refuse = [&] {
    return UsageError(fmt::format("--{}: '{}' is not a size, such as 500M, 4G, 8GB or auto", option, text));
  };
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || number == 0) throw refuse();
  std::string unit = lower_case(text.substr(digits));
  constexpr std::string_view kUnits = "kmgt";
  const std::size_t power = unit.empty() || unit == "b" ? 0 : kUnits.find(unit[0]) + 1;  // npos + 1 is 0
  if (power > 0) unit.erase(0, 1);
  if (!unit.empty() && unit != "b" && unit != "ib") throw refuse();
  if (power == 0 && unit == "ib") throw refuse();
  const std::size_t base = unit == "b" ? 1000 : 1024;
  for (std::size_t i = 0; i < power; ++i) {
    if (number > std::numeric_limits<std::size_t>::max() / base) throw refuse();
    number *= base;
  }
  return number;
}

double parse_seconds(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  double number = 0;
  const char* const digits_end = text.data() + text.size() - (has_unit ? 1 : 0);
  const auto [end, error] = std::from_chars(text.data(), digits_end, number);
  const double seconds = number * (has_unit ? std::pow(60.0, unit) : 1.0);
  if (error != std::errc{} || end != digits_end || !(seconds > 0) || !std::isfinite(seconds))
    throw UsageError(fmt::format("--{}: '{}' is not a time above 0, such as 30s, 15m or 4h", option, text));
  return seconds;
}

double parse_seconds_or_0(const std::string& option, const std::string& text) {
  return text == "0" ? 0 : parse_seconds(option, text);
}

UsageError unknown_word(const std::string& option, const std::string& text, const std::vector<const char*>& words) {
  const std::string expected = words.size() == 2 ? fmt::format("neither {} nor {}", words[0], words[1])
                                                 : fmt::format("none of {}", fmt::join(words, ", "));
  return UsageError(fmt::format("--{}: '{}' is {}", option, text, expected));
}

BiasRule parse_bias_rule(const std::string& text) {
  return parse_word<BiasRule>("bias-rule", text,
                              {{"non-zeros", BiasRule::non_zeros}, {"everywhere", BiasRule::everywhere}});
}

std::optional<double> parse_cap(const std::string& text) {
  if (text == "none") return std::nullopt;
  const double cap = parse_real("cap", text);
  if (cap <= 0) throw UsageError(fmt::format("--cap: {} is not positive", text));
  return cap;
}

Precision parse_precision(const std::string& text) {
  for (const Precision precision :
       {Precision::bf16, Precision::fp16, Precision::fp16_sums, Precision::tf32, Precision::fp32, Precision::fp64})
    if (text == to_string(precision)) return precision;
  throw UsageError(fmt::format("--precision: '{}' is not one of bf16, fp16, fp16-sums, tf32, fp32, fp64", text));
}

std::optional<std::string> text_of(const po::variables_map& values, const std::string& name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

std::vector<std::string> texts_of(const po::variables_map& values, const std::string& name) {
  if (values.count(name) == 0) return {};
  const auto* const several = boost::any_cast<std::vector<std::string>>(&values[name].value());
  return several != nullptr ? *several : std::vector{values[name].as<std::string>()};
}

void refuse(const po::variables_map& values, std::initializer_list<const char*> options, const std::string& what) {
  for (const char* const option : options)
    if (values.count(option) != 0) throw UsageError(fmt::format("--{} cannot be used with {}", option, what));
}

ProgressCallback parse_progress(const std::string& text) {
  return parse_word<bool>("progress", text, {{"auto", true}, {"never", false}}) ? progress_bar() : ProgressCallback();
}

}  // namespace spdnn::cli

#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_form.hpp"
#include "cli/commands.hpp"
#include "spdnn/error.hpp"
#include "spdnn/network.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/types.hpp"

namespace spdnn::cli {

/// Parses a command's options and positional values. On --help, prints the help to stdout and returns false. UsageError
/// if the arguments do not fit the form.
bool parse(const Arguments& arguments, const CommandForm& form, po::variables_map& values);
/// The same for one of several forms: `form` has the options of all, and `chosen(values)` is the one that they select.
/// UsageError if an option of another form is given.
bool parse(const Arguments& arguments, const CommandForm& form, po::variables_map& values,
           const std::function<CommandForm(const po::variables_map&)>& chosen);

/// The names of the options, without dashes.
std::vector<std::string> option_names(const po::options_description& options);

/// A positive whole number up to kMaxIndex; the UsageError names the option.
Index parse_count(const std::string& option, const std::string& text);
/// The same, or 0.
Index parse_whole(const std::string& option, const std::string& text);
/// --threads: up to kMostThreads.
int parse_threads(const std::string& text);
/// `1024` or a list `784,300,10`.
std::vector<Index> parse_counts(const std::string& option, const std::string& text);
/// A finite number.
double parse_real(const std::string& option, const std::string& text);
/// A share, from 0 to below 1.
double parse_share(const std::string& option, const std::string& text);
/// The error of an option whose text is none of the words.
UsageError unknown_word(const std::string& option, const std::string& text, const std::vector<const char*>& words);
/// The value of one of the words; otherwise unknown_word().
template <class T>
T parse_word(const std::string& option, const std::string& text,
             std::initializer_list<std::pair<const char*, T>> words) {
  std::vector<const char*> known;
  for (const auto& [word, value] : words) {
    if (text == word) return value;
    known.push_back(word);
  }
  throw unknown_word(option, text, known);
}
/// `non-zeros` or `everywhere`.
BiasRule parse_bias_rule(const std::string& text);
/// A positive number, or `none`.
std::optional<double> parse_cap(const std::string& text);
/// A number of bytes, such as 500M or 4G; `auto` is 0. K, M, G and T, like KiB, MiB, GiB and TiB, are powers of 1024;
/// kB, MB, GB and TB are powers of 1000; case is ignored.
std::size_t parse_bytes(const std::string& option, const std::string& text);
/// Seconds above 0, from 30s, 15m, 4h or a number without a unit.
double parse_seconds(const std::string& option, const std::string& text);
/// The same, or 0.
double parse_seconds_or_0(const std::string& option, const std::string& text);
/// `bf16`, `fp16`, `fp16-sums`, `tf32`, `fp32` or `fp64`.
Precision parse_precision(const std::string& text);
/// The text of option `name`, if given.
std::optional<std::string> text_of(const po::variables_map& values, const std::string& name);
/// The texts of an option that takes any number of them.
std::vector<std::string> texts_of(const po::variables_map& values, const std::string& name);
/// UsageError if one of the options is given, because it cannot be used with `what`.
void refuse(const po::variables_map& values, std::initializer_list<const char*> options, const std::string& what);
/// `auto` or `never`.
ProgressCallback parse_progress(const std::string& text);

}  // namespace spdnn::cli

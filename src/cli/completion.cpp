#include "cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "cli/command_form.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

/// A word that may come next.
struct Word {
  std::string word;   ///< an option, or what chooses a form, as `suite` after `bench`
  std::string value;  ///< as the help calls it; empty where the option takes none, or the word is none
  std::string description;
};

/// What may follow the words of a form's name.
struct Place {
  std::string name;
  std::vector<Word> candidates;
};

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }
std::string last_word(const std::string& text) { return text.substr(text.rfind(' ') + 1); }
bool is_option(const std::string& word) { return word.starts_with("--"); }

/// What all options of the form and, for `help`, all commands are.
void add_candidates(Place& place, const CommandForm& form, std::span<const Command> commands) {
  const po::options_description all = form.options();
  for (const auto& option : all.options()) {
    std::string value = option->format_parameter();
    value.resize(std::min(value.find(" (="), value.size()));
    place.candidates.push_back({option->format_name(), value, option->description()});
  }
  place.candidates.push_back({"--help", "", "print this help and exit"});
  if (std::find(form.positional.begin(), form.positional.end(), "[COMMAND]...") != form.positional.end())
    for (const Command& command : commands) place.candidates.push_back({command.name, "", command.summary});
}

/// By command, then by form: those that have one name are one place.
std::vector<Place> places_of(std::span<const Command> commands) {
  std::vector<Place> places;
  for (const Command& command : commands) {
    const std::size_t base = places.size();
    places.push_back({command.name, {}});
    for (const CommandForm& form : command.forms()) {
      if (form.name != command.name) {
        places[base].candidates.push_back({last_word(form.name), "", form.summary});
        places.push_back({form.name, {}});
      }
      add_candidates(form.name == command.name ? places[base] : places.back(), form, commands);
    }
  }
  return places;
}

/// The values that there are, joined by blanks; empty where there are others.
std::string values_of(const Word& candidate) {
  std::string values = candidate.value;
  if (values.find('|') == std::string::npos && (values.empty() || std::isupper(static_cast<unsigned char>(values[0]))))
    return "";
  std::replace(values.begin(), values.end(), '|', ' ');
  return values;
}

bool wants_file(const Word& candidate) {
  return candidate.value == "FILE" || candidate.value == "DIR" || candidate.value == "PATH";
}

std::string bash_values(const std::vector<Place>& places) {
  std::string text;
  for (const Place& place : places)
    for (const Word& candidate : place.candidates) {
      if (candidate.value.empty()) continue;
      const std::string values = values_of(candidate);
      text += fmt::format("    '{}:{}') ", place.name, candidate.word);
      if (wants_file(candidate))
        text += "return ;;\n";
      else
        text += fmt::format("compopt +o default; words='{}' ;;\n", values);
    }
  return text;
}

std::string bash_completion(std::span<const Command> commands) {
  const std::vector<Place> places = places_of(commands);
  std::string names;
  for (const Command& command : commands) names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  std::string deeper;
  std::string words;
  for (const Place& place : places) {
    if (place.name != first_word(place.name))
      deeper += fmt::format("{}'{}:{}'", deeper.empty() ? "" : " | ", first_word(place.name), last_word(place.name));
    words += fmt::format("        '{}') words='", place.name);
    for (const Word& candidate : place.candidates) words += candidate.word + ' ';
    words.back() = '\'';
    words += " ;;\n";
  }
  return "# Completion of spdnn for bash, made by `spdnn help --completion bash`.\n"
         "_spdnn() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} form=${COMP_WORDS[1]} word "
         "words=\n"
         "  local filter=\n"
         "  # --device=c comes as three words.\n"
         "  if [[ $current == = ]]; then current=\n"
         "  elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
         "  for word in \"${COMP_WORDS[@]:2:COMP_CWORD - 2}\"; do\n"
         "    case $form:$word in\n"
         "      " +
         deeper +
         ") form=\"$form $word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  [[ $COMP_CWORD -gt 1 ]] || form=\n"
         "  case $form:$previous in\n" +
         bash_values(places) +
         "    *)\n"
         "      [[ $current == -* ]] || filter='-*' # a name is wanted, unless an option is begun\n"
         "      case $form in\n"
         "        '') words='" +
         names + " --help --version' ;;\n" + words +
         "      esac ;;\n"
         "  esac\n"
         "  mapfile -t COMPREPLY < <(compgen -X \"$filter\" -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _spdnn spdnn\n";
}

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter;
  }
  return quoted + "'";
}

/// Whether the words of the place have been given.
std::string fish_condition(const std::string& place) {
  std::string condition = "__fish_seen_subcommand_from " + first_word(place);
  const std::string last = last_word(place);
  if (is_option(last)) return condition + "; and __fish_contains_opt " + last.substr(2);
  return last == place ? condition : condition + "; and __fish_seen_subcommand_from " + last;
}

std::string fish_completion(std::span<const Command> commands) {
  std::string text = "# Completion of spdnn for fish, made by `spdnn help --completion fish`.\n";
  for (const Command& command : commands)
    text += fmt::format("complete -c spdnn -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
  for (const Place& place : places_of(commands))
    for (const Word& candidate : place.candidates) {
      text += fmt::format("complete -c spdnn -n {} ", fish_quoted(fish_condition(place.name)));
      text += is_option(candidate.word) ? "-l " + candidate.word.substr(2) : "-f -a " + candidate.word;
      const std::string values = values_of(candidate);
      if (wants_file(candidate))
        text += " -r -F";
      else if (!candidate.value.empty())
        text += values.empty() ? " -x" : " -x -a " + fish_quoted(values);
      text += fmt::format(" -d {}\n", fish_quoted(candidate.description));
    }
  return text;
}

}  // namespace

std::string completion(const std::string& shell, std::span<const Command> commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  throw UsageError(fmt::format("--completion: '{}' is neither bash nor fish", shell));
}

}  // namespace spdnn::cli

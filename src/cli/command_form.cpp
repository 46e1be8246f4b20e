#include "cli/command_form.hpp"

namespace spdnn::cli {

po::options_description CommandForm::options() const {
  po::options_description all;
  for (const OptionGroup& group : groups)
    for (const auto& option : group.options.options()) all.add(option);
  return all;
}

po::typed_value<std::string>* takes(const char* name) { return po::value<std::string>()->value_name(name); }

po::typed_value<std::string>* takes(const char* name, const char* otherwise) {
  return takes(name)->default_value(otherwise);
}

}  // namespace spdnn::cli

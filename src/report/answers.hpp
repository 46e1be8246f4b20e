#pragma once

#include <string>

#include "spdnn/model_report.hpp"

namespace spdnn {

/// Lines of the text report: of the first images the classes with the largest numbers, one line per image. Empty where
/// the output is no list of classes.
std::string answers_text(const ModelReport& report);

/// A class as people read it: its number, and its name where it has one.
std::string class_text(const ModelReport& report, Index number);

}  // namespace spdnn

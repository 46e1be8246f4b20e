#pragma once

#include <string>

#include "spdnn/model_report.hpp"

namespace spdnn {

/// Lines of the text report: the classes with the largest scores, one line for each of the first images. Empty if the
/// output is not a list of classes.
std::string answers_text(const ModelReport& report);

/// A class for the reader: its number, and its name if it has one.
std::string class_text(const ModelReport& report, Index number);

}  // namespace spdnn

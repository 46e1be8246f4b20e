#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "program/kernel.hpp"

namespace spdnn::program {

/// How many times as long as predicted kernels take on this machine, by their names and implementations: geometric
/// means of what was measured (MeasuredKernels).
using Calibration = std::map<std::string, double>;

/// The name that an offer has there: that of its kernel, and the implementation, which is the beginning of `detail`.
std::string calibrated_name(std::string_view kernel, const Offer& offer);

/// The file of this machine's calibration, in the cache directory; empty if there is none.
std::filesystem::path calibration_file();

/// The text of that file; it holds for this build and processor.
std::string calibration_text(const Calibration& calibration);
/// Empty if the text is of another build or processor, or damaged.
Calibration parsed_calibration(const std::string& text);
/// The text of a newer calibration with the factors of an older one for kernels that were not measured again.
std::string merged_calibrations(const std::string& older, const std::string& newer);

/// The kernels with the predictions of their offers and changes of layout corrected by this machine's calibration, if
/// it has a file; it is read once.
Kernels calibrated(const Kernels& kernels);
/// A remark on the file that corrects them; empty if there is none.
std::string calibration_remark();

}  // namespace spdnn::program

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "program/kernel.hpp"

namespace spdnn::program {

/// How many times as long as predicted kernels take on this machine, by their names and implementations: geometric
/// means of what was measured (MeasuredKernels).
using Calibration = std::map<std::string, double>;

/// Factors outside 1/kMostFactor to kMostFactor are not believed. Those of LeNet-5 are between 1/3 and 7, so that one
/// beyond 100 tells of a damaged file or a disturbed measurement, and would decide every choice alone.
inline constexpr double kMostFactor = 100;

/// The name that an offer has there: that of its kernel, and the implementation, which is the beginning of `detail`.
std::string calibrated_name(std::string_view kernel, const Offer& offer);

/// The file of this machine's calibration, in the cache directory; empty if there is none.
std::filesystem::path calibration_file();
/// All of such a file; empty if it cannot be read or is no regular file: a cache is not worth failing for.
std::string calibration_file_text(const std::filesystem::path& file);

/// The text of that file; it holds for this build and processor.
std::string calibration_text(const Calibration& calibration);
/// Empty if the text is of another build or processor, or damaged. Without the factors that are not believed.
Calibration parsed_calibration(const std::string& text);
/// The text of a newer calibration with the factors of an older one for kernels that were not measured again.
std::string merged_calibrations(const std::string& older, const std::string& newer);

/// The kernels with the predictions of their offers and changes of layout corrected by this machine's calibration, if
/// it has a file; it is read once.
Kernels calibrated(const Kernels& kernels);
/// A remark on the file that corrects them; empty if there is none.
std::string calibration_remark();

}  // namespace spdnn::program

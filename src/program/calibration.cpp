#include "program/calibration.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/system/cache_directory.hpp"
#include "core/text/amounts.hpp"
#include "core/text/json_text.hpp"
#include "program/stored.hpp"

namespace spdnn::program {

namespace {

constexpr const char* kCalibrationSchema = "spdnn-calibration-1";

Json machine_json() {
  Json machine = Json::array();
  for (const auto& [name, text] : machine_origin()) machine.push_back(Json::array({name, text}));
  return machine;
}

const Calibration& calibration_of_machine() {
  static const Calibration calibration = parsed_calibration(calibration_file_text(calibration_file()));
  return calibration;
}

class CalibratedKernel final : public Kernel {
 public:
  explicit CalibratedKernel(const Kernel& kernel) : kernel_(kernel) {}

  std::string_view name() const override { return kernel_.name(); }
  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> offers = kernel_.offers(request);
    for (Offer& offer : offers) correct(offer);
    return offers;
  }
  Offer change(const Change& change) const override {
    Offer offer = kernel_.change(change);
    correct(offer);
    return offer;
  }

 private:
  void correct(Offer& offer) const {
    const Calibration& calibration = calibration_of_machine();
    const auto known = calibration.find(calibrated_name(name(), offer));
    if (known != calibration.end()) offer.seconds *= known->second;
  }

  const Kernel& kernel_;
};

}  // namespace

std::string calibrated_name(std::string_view kernel, const Offer& offer) {
  return std::string(kernel) + " " + offer.detail.substr(0, offer.detail.find(','));
}

std::filesystem::path calibration_file() {
  const std::filesystem::path directory = cache_directory();
  return directory.empty() ? directory : directory / "calibration.json";
}

std::string calibration_file_text(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return {};
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string calibration_text(const Calibration& calibration) {
  Json factors = Json::object();
  for (const auto& [name, factor] : calibration) factors[name] = factor;
  return json_line({{"factors", factors}, {"made_for", machine_json()}, {"schema", kCalibrationSchema}});
}

Calibration parsed_calibration(const std::string& text) {
  const Json json = parse_json_or_null(text);
  if (json["schema"] != kCalibrationSchema || json["made_for"] != machine_json()) return {};
  Calibration calibration;
  for (const auto& [name, factor] : json["factors"].items()) {
    const double number = factor.is_number() ? factor.get<double>() : 0;
    if (number >= 1 / kMostFactor && number <= kMostFactor) calibration[name] = number;
  }
  return calibration;
}

std::string merged_calibrations(const std::string& older, const std::string& newer) {
  Calibration all = parsed_calibration(newer);
  all.merge(parsed_calibration(older));
  return calibration_text(all);
}

Kernels calibrated(const Kernels& kernels) {
  if (calibration_of_machine().empty()) return kernels;
  static std::mutex mutex;
  static std::map<const Kernel*, std::unique_ptr<Kernel>> made;
  const std::scoped_lock lock(mutex);
  Kernels all;
  for (const Kernel* const kernel : kernels) {
    std::unique_ptr<Kernel>& one = made[kernel];
    if (!one) one = std::make_unique<CalibratedKernel>(*kernel);
    all.push_back(one.get());
  }
  return all;
}

std::string calibration_remark() {
  const std::size_t factors = calibration_of_machine().size();
  if (factors == 0) return {};
  return fmt::format("predicted times are corrected by {} of {}", counted(factors, "factor", "factors"),
                     calibration_file().string());
}

}  // namespace spdnn::program

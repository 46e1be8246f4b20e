#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <optional>
#include <spdnn/error.hpp>
#include <spdnn/outcome.hpp>
#include <spdnn/run_settings.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spdnn::python {

namespace py = pybind11;

/// The value of a word. UsageError, naming the field and the words there are, for others.
template <class T, std::size_t count>
T parse(const std::array<std::pair<const char*, T>, count>& choices, const std::string& text, const char* field) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw UsageError(field, "'" + text + "' is unknown; expected one of " + names);
}

inline std::optional<Device> parse_device(const std::string& text) {
  return parse<std::optional<Device>, 3>({{{"auto", std::nullopt}, {"cpu", Device::cpu}, {"cuda", Device::cuda}}}, text,
                                         "device");
}

inline Precision parse_precision(const std::string& text) {
  return parse<Precision, 6>({{{"bf16", Precision::bf16},
                               {"fp16", Precision::fp16},
                               {"fp16-sums", Precision::fp16_sums},
                               {"tf32", Precision::tf32},
                               {"fp32", Precision::fp32},
                               {"fp64", Precision::fp64}}},
                             text, "precision");
}

inline EngineSettings engine_settings(const py::dict& given) {
  EngineSettings settings;
  settings.variant = given["variant"].cast<std::string>();
  if (settings.variant == "auto") settings.variant.clear();
  settings.device = parse_device(given["device"].cast<std::string>());
  if (!given["precision"].is_none()) settings.precision = parse_precision(given["precision"].cast<std::string>());
  settings.host_memory = given["host_memory"].cast<std::size_t>();
  settings.batch = given["batch"].cast<Index>();
  settings.threads = given["threads"].cast<int>();
  return settings;
}

/// Messages and reports name files, whose names may hold bytes that are not UTF-8: these become \xHH.
inline py::str text_of(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace"));
}

inline py::list texts_of(const std::vector<std::string>& texts) {
  py::list result;
  for (const std::string& text : texts) result.append(text_of(text));
  return result;
}

}  // namespace spdnn::python

#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "spdnn/run_record.hpp"

namespace spdnn {

/// The machine as in JSON lines; null for unknown properties.
inline nlohmann::ordered_json machine_json(const Machine& machine) {
  using Json = nlohmann::ordered_json;
  const auto named = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"host", machine.host},
          {"cpu", machine.cpu},
          {"device", named(machine.device)},
          {"driver", named(machine.driver)},
          {"cuda", named(machine.cuda)}};
}

}  // namespace spdnn

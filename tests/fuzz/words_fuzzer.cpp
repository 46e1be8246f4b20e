// Values of options, and names of files. The input has a letter that chooses the parser (a to l), and then the text.
// What a parser accepts must read the same when it is printed and parsed again.

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/options.hpp"
#include "cli/specification.hpp"
#include "core/text/message.hpp"
#include "core/types/plan.hpp"
#include "data/generate.hpp"
#include "fuzz/harness.hpp"
#include "io/networks/directory/layer_names.hpp"
#include "io/networks/directory/manifest.hpp"

namespace {

using namespace spdnn;
using fuzz::require;

void counts(const std::string& text) {
  const std::vector<Index> counts = cli::parse_counts("neurons", text);
  std::string printed;
  for (const Index count : counts) {
    require(count >= 1 && count <= kMaxIndex, "a count is in 1..2^31-1");
    printed += (printed.empty() ? "" : ",") + std::to_string(count);
  }
  require(!counts.empty() && cli::parse_counts("neurons", printed) == counts, "counts survive printing");
}

void real(const std::string& text) { require(std::isfinite(cli::parse_real("bias", text)), "a real is finite"); }

void cap(const std::string& text) {
  const auto cap = cli::parse_cap(text);
  require(!cap || (std::isfinite(*cap) && *cap > 0), "a cap is positive");
}

void passes(const std::string& text) {
  const Passes passes = parse_passes(text);
  require(parse_passes(to_string(passes)) == passes, "passes survive printing");
}

void weight_law(const std::string& text) {
  const WeightLaw law = parse_weight_law(text);
  require(std::isfinite(law.value) && std::isfinite(law.deviation) && law.deviation >= 0, "a weight law is finite");
  require(law.kind == WeightLaw::Kind::normal || static_cast<float>(law.value) != 0, "a constant is not 0");
}

void layer_file(const std::string& text) {
  const auto name = parse_layer_name(text);
  if (!name) return;
  require(name->neurons >= 1 && name->neurons <= kMaxIndex && name->layer <= kMaxIndex, "a name's numbers fit");
  const auto again = parse_layer_name(layer_name(*name, ".tsv"));
  require(again && again->neurons == name->neurons && again->layer == name->layer && again->bias == name->bias,
          "a layer's name survives printing");
}

void message(const std::string& text) {
  const std::string shown = escaped(text);
  require(std::none_of(shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }),
          "a message holds no control characters");
  require(escaped(shown) == shown, "escaped text is safe");
}

void manifest(const std::string& text) {
  const NetworkManifest manifest = parse_manifest("spdnn-network.txt", text);
  require(parse_manifest("spdnn-network.txt", manifest.text()) == manifest, "a manifest survives printing");
}

using Parser = void (*)(const std::string&);
constexpr std::array<Parser, 12> kParsers{counts,
                                          real,
                                          cap,
                                          passes,
                                          weight_law,
                                          layer_file,
                                          [](const std::string& text) { form_of(text); },
                                          [](const std::string& text) { cli::network_form(text, std::nullopt); },
                                          [](const std::string& text) { cli::parse_bias_rule(text); },
                                          [](const std::string& text) { cli::parse_progress(text); },
                                          message,
                                          manifest};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const auto letter = static_cast<std::uint8_t>(bytes.take() - 'a');
  const std::string text(bytes.text());
  if (text.find('\0') != std::string::npos) return 0;  // no argument has one in it
  fuzz::attempt([&] { kParsers[letter % kParsers.size()](text); });
  return 0;
}

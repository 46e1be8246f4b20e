#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"

namespace spdnn::cli {

/// The options that specify the network: --network or --generate, --neurons, --layers, --bias, --bias-rule, --cap.
OptionGroup network_options();
/// The options that specify the images: --inputs or --mnist, --images.
OptionGroup image_options();
/// The options that specify the passes and the engine.
OptionGroup engine_options();

/// The specifications from these options. UsageError if options contradict each other.
NetworkSpec network_spec(const po::variables_map& values);
ImageSpec image_spec(const po::variables_map& values);
/// From engine_options().
void fill_engine(const po::variables_map& values, InferenceSpec& spec);

/// From --variant, --device, --threads and --progress.
void fill_engine_settings(const po::variables_map& values, RunSettings& settings);
/// From the other options that runs of networks and of models have in common.
void fill_run(const po::variables_map& values, RunSettings& settings);
/// From --verify: K, or all.
template <class Truth>
void fill_sample(const po::variables_map& values, Truth& truth) {
  const auto verify = text_of(values, "verify");
  truth.everything = verify == "all";
  if (verify && !truth.everything) truth.sample = parse_count("verify", *verify);
}

/// From --neurons, --layers, --bias, --bias-rule and --cap only.
NetworkSpec network_parameters(const po::variables_map& values);
/// The format of a network written to OUT: that of --form (tsv, tsv.gz, mtx, packed), or by default packed for a name
/// that ends in .spdnn and a directory of TSV layers for others. UsageError if the two contradict each other, and for
/// names that end like layer files: layers go into directories, so such a name is a mistake.
Form network_form(const Path& out, const std::optional<std::string>& form);
/// `auto` (empty), `cpu` or `cuda`; a missing option means `auto`.
std::optional<Device> device_of(const po::variables_map& values, const char* option);

}  // namespace spdnn::cli

#pragma once

#include <optional>

#include "cli/options.hpp"
#include "spdnn/inference.hpp"

namespace spdnn::cli {

/// The options that say which network is meant: --network or --generate, --neurons, --layers, --bias, --bias-rule,
/// --cap.
OptionGroup network_options();
/// The options that say which images: --inputs or --mnist, --images.
OptionGroup image_options();
/// The options that say which work is left out, and what computes the rest.
OptionGroup engine_options();

/// What these options say. UsageError where options are given that do not go together.
NetworkSpec network_spec(const po::variables_map& values);
ImageSpec image_spec(const po::variables_map& values);
/// Fills passes, variant, device, plan_device and threads.
void fill_engine(const po::variables_map& values, InferenceSpec& spec);

/// --neurons, --layers, --bias, --bias-rule and --cap alone.
NetworkSpec network_parameters(const po::variables_map& values);
/// `auto` (empty), `cpu` or `cuda`; no such option is `auto`.
std::optional<Device> device_of(const po::variables_map& values, const char* option);

}  // namespace spdnn::cli

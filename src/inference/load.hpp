#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "spdnn/files.hpp"
#include "spdnn/images.hpp"
#include "spdnn/network.hpp"
#include "spdnn/plan.hpp"

namespace spdnn::cli {

/// The options that say which network is meant: --network or --generate, --neurons, --layers, --bias, --bias-rule,
/// --cap.
po::options_description network_options();
/// The options that say which images: --inputs or --mnist, --images.
po::options_description image_options();

struct GivenNetwork {
  Network network;
  bool official = false;             ///< known to be the official network of its size, by construction or by its digest
  std::vector<std::string> notes{};  ///< of the reader; see NetworkFile
};

/// Reads or generates the network and settles its bias, rule and cap: from the options, the files, or, for a network of
/// official form, the challenge. UsageError where none of them says what the bias is.
GivenNetwork load_network(const po::variables_map& values);

/// Sets bias, rule and cap of a network read from `path` by --bias, --bias-rule and --cap, as load_network does.
void settle_parameters(const po::variables_map& values, const Path& path, NetworkFile& file);

/// Does a stored plan say that it was made for the official network of its size and depth?
bool claims_official(const Plan& plan);
/// Are these the official images of their size, in the official order?
bool is_official(const ImageSet& images);
/// DataError where a plan stored in `path` is not one of the network read from there.
void check_stored_plan(const Path& path, const Plan& plan, const Network& network);

/// The plan stored in --network, where it is a packed file that holds one made for these passes and no option asks for
/// another depth, bias, rule or cap.
std::optional<Plan> stored_plan(const po::variables_map& values, const Passes& passes);

/// DeviceError where the memory of this machine cannot take what --images or --neurons asks for: eight bytes each, even
/// if a file holds nothing of it.
void check_memory_for(const char* option, Offset count);

/// Notes on those of the files --truth and --inputs that have no byte: lists without lines, or failed copies.
std::vector<std::string> notes_on_empty_files(const po::variables_map& values);

/// The images of --inputs, or the official ones made from MNIST, of so many neurons.
ImageSet load_images(const po::variables_map& values, Index neurons);

}  // namespace spdnn::cli

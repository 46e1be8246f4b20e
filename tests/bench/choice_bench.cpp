// Times three programs of each model in turns: the one that is chosen by predicted times, one that multiplies all
// zeros, and one that skips them wherever a kernel does. A program's time is the sum over its actions of the action's
// shortest run, which others on the machine disturb least.
//   choice_bench [--turns 40] MODEL...
// Prints a line for each model: the times in us, how much slower than the better one of the others the chosen program
// is, in per cent, and which of these it equals. Exit status 1 if that is more than 3 % for a model,
// unless it equals the better one.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "cli/options.hpp"
#include "core/system/host_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "data/model_families.hpp"
#include "engines/kernel_families.hpp"
#include "model/graph/magnitudes.hpp"
#include "model/rewrites/rewrite.hpp"
#include "program/bound_program.hpp"
#include "program/compile_for.hpp"
#include "program/skipping_first.hpp"
#include "program/threads.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {
namespace {

namespace po = boost::program_options;

constexpr double kWorse = 0.03;

struct Offered {
  program::Kernels all{};  ///< in their order of preference
  program::Kernels skipping{};
  program::Kernels multiplying{};
};

Offered offered() {
  Offered offered;
  for (const program::Family& family : kernel_families()) {
    if (family.device != Device::cpu || family.use != program::Use::programs) continue;
    program::Kernels& some = family.zeros == program::Zeros::skipped ? offered.skipping : offered.multiplying;
    for (const program::Kernel* const kernel : family.kernels(Precision::fp32).kernels) {
      some.push_back(kernel);
      offered.all.push_back(kernel);
    }
  }
  return offered;
}

/// A program in memory, and the shortest time so far of each of its actions.
class Way {
 public:
  Way(const Model& model, const Magnitudes& magnitudes, const ModelEngineOptions& options,
      const program::Kernels& kernels, const Tensor& images)
      : program_(program::compile(model, magnitudes, options.batch,
                                  program::compile_options(model, options, kernels, nullptr))),
        steps_(program::described(program_, model)),
        bound_(program_, constants_, {program::host_memory(program_.arena.bytes), nullptr}),
        images_(images.values.size()),
        shortest_(bound_.actions(), std::numeric_limits<double>::infinity()) {
    std::copy(images.values.begin(), images.values.end(), images_.data());
    bound_.set_input(images_.data());
  }

  void run() {
    for (std::size_t action = 0; action < shortest_.size(); ++action) {
      const Stopwatch watch;
      bound_.run(action);
      shortest_[action] = std::min(shortest_[action], watch.seconds());
    }
  }
  double seconds() const {
    double sum = 0;
    for (const double one : shortest_) sum += one;
    return sum;
  }
  bool equals(const Way& other) const { return steps_ == other.steps_; }

 private:
  program::Program program_;
  std::vector<ProgramStep> steps_;
  program::Constants constants_;
  program::BoundProgram bound_;
  HostMemory<float> images_;  // aligned like those of a run
  std::vector<double> shortest_;
};

/// Prints the line; whether the chosen program is fast enough.
bool compare(const std::string& path, const ModelEngineOptions& options, int turns) {
  Model model = read_model(path);
  rewrite(model, kAllRewrites);
  const program::Threads threads(options.threads);
  const Magnitudes magnitudes(model);
  const Tensor images = generate_tensor(with_batch(model.values[model.inputs.front()].shape, options.batch), 1);
  const Offered kernels = offered();
  const program::SkippingFirst skipping(kernels.skipping, kernels.multiplying);
  Way chosen(model, magnitudes, options, kernels.all, images);
  Way dense(model, magnitudes, options, kernels.multiplying, images);
  Way sparse(model, magnitudes, options, skipping.kernels(), images);
  for (int turn = 0; turn < turns; ++turn)
    for (Way* const way : {&chosen, &dense, &sparse}) way->run();
  const Way& better = dense.seconds() < sparse.seconds() ? dense : sparse;
  const double worse = chosen.seconds() / better.seconds() - 1;
  const char* const same = chosen.equals(dense) ? "all dense" : chosen.equals(sparse) ? "all sparse" : "";
  fmt::print("{:>10.1f} {:>10.1f} {:>10.1f} {:>7.1f} {:>11}  {}\n", 1e6 * chosen.seconds(), 1e6 * dense.seconds(),
             1e6 * sparse.seconds(), 100 * worse, same, path);
  std::fflush(stdout);
  return worse <= kWorse || chosen.equals(better);
}

int bench(int argc, char** argv) {
  po::options_description options;
  options.add_options()("turns", po::value<int>()->default_value(40))(
      "model", po::value<std::vector<std::string>>()->required());
  po::positional_options_description models;
  models.add("model", -1);
  po::variables_map values;
  po::store(po::command_line_parser(argc, argv).options(options).positional(models).run(), values);
  po::notify(values);
  const ModelEngineOptions with{.batch = 1, .threads = 1};
  fmt::print("{:>10} {:>10} {:>10} {:>7} {:>11}\n", "chosen us", "dense us", "sparse us", "worse %", "equals");
  bool good = true;
  for (const std::string& path : values["model"].as<std::vector<std::string>>())
    good = compare(path, with, values["turns"].as<int>()) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace spdnn

int main(int argc, char** argv) {
  try {
    return spdnn::bench(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "choice_bench: " << error.what() << '\n';
    return 2;
  }
}

#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

constexpr const char* kOfNetworks[] = {
    "`infer` is the wall-clock time from \"plan and images are resident on the device\" to \"the host knows the "
    "categories\": the median over the trials of a run, then the median over several runs, with the extremes of all "
    "trials as `min` and `max`. It includes every layer, every pass that depends on images, launches, synchronisation "
    "and the transfer of the categories to the host. A run with a single trial also includes the libraries' work at "
    "their first call.",
    "The other phases are separate: `load` (the program), `join` (MPI's start-up), `read` (network and images read or "
    "generated), `plan` (the passes over the weights), `start waited` (waiting for the CUDA device; `start took` runs "
    "in parallel with reading and planning), `share` (plan and images to other ranks), `upload` (both in the engine's "
    "form and on its device, with `upload_images` for the images; it includes the tuning of libraries, and the start "
    "of CUDA if that has no column), `warm_up` (uncounted trials), `gather`, `write` and `other`. `total` runs from "
    "process start to the end of `write`, with all trials. Checking the categories belongs to no phase.",
    "1 TE/s is 1e12 edges per second, 1 GE/s 1e9. `rate` is images x edges of the network as given / `infer`, the "
    "challenge's definition, including edges skipped by the exact passes in `passes`: it measures how fast the problem "
    "was solved. `computed` measures the device's work: edges of the plan's layers, each times the images still "
    "computed when the layer began / `infer`. `with set-up` includes the time to find the work to skip: images x edges "
    "as given / (`plan` + `share` + `upload` + `infer`). `end to end` divides by `total` - `warm_up`. Images without a "
    "non-zero are not counted.",
    "PASSED: the whole list of categories equals the true one; for official problems this is the official list, "
    "identified by its digest. UNVERIFIED: no reliable result was available to compare all categories with. FAILED: "
    "some categories are wrong. Nothing here is extrapolated. A dash marks values that a line does not contain."};

constexpr const char* kOfModels[] = {
    "For models, `infer` is the time from \"model and images are in the engine's form\" to \"the logits of all images "
    "are on the host\": the median over the trials, for all images together. `rate` is images / `infer`.",
    "A multiply-add of a weight is counted for each output position that the weight contributes to; pooling, "
    "activations and similar operations are not counted. `dense` is 2 x the multiply-adds of all weights of the model "
    "as given, zeros included, x images / `infer`: the speed that a program without sparsity would need to be as fast. "
    "`sparse` counts only the non-zero weights, which determine the result. Neither measures the operations that the "
    "variant executed: a variant that multiplies by zeros has the same `sparse` rate as an equally fast one that skips "
    "them.",
    "Rounding in fp32 may change a logit by at most a proven bound. `of the bound` is the largest deviation of a logit "
    "from the reference, as a share of that bound: more than 100 % is wrong, however small the deviation is. PASSED: "
    "every logit of all images is within its bound and within a tolerance of 1e-4 of the largest logit, or the "
    "predictions reach the requested accuracy. UNVERIFIED: there was no reference, or the comparison proves too "
    "little, for instance because it covered only some of the images. FAILED: a logit is off, or too few predictions "
    "are right. docs/models.md is the reference."};

}  // namespace

std::optional<Section> definitions(const Results& results) {
  Section section{"definitions", "Definitions", {}};
  if (results.run_lines > 0)
    for (const char* text : kOfNetworks) section.blocks.emplace_back(Paragraph{text});
  if (!results.models.empty())
    for (const char* text : kOfModels) section.blocks.emplace_back(Paragraph{text});
  return section.blocks.empty() ? std::nullopt : std::optional(std::move(section));
}

}  // namespace spdnn::sections

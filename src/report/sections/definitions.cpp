#include "report/sections/sections.hpp"

namespace spdnn::sections {

namespace {

constexpr const char* kOfNetworks[] = {
    "`infer` is wall-clock time from \"plan and images are resident on the device\" to \"the host knows the "
    "categories\": of one run the median over its trials, of several runs the median of these medians, with the "
    "extremes of all trials as `min` and `max`. Every layer, every pass that depends on images, launches, "
    "synchronisation and the way of the categories to the host are in it. A run of one trial includes what "
    "libraries do at their first call.",
    "What is not in it has phases of its own: `load` (the program), `join` (MPI's start-up), `read` (network and "
    "images read or generated), `plan` (the passes over the weights), `start waited` (for the CUDA device; "
    "`start took` goes on beside reading and planning), `share` (plan and images to other ranks), `upload` (both "
    "in the engine's form and on its device, `upload_images` of it for the images; tuning of libraries, and the "
    "start of CUDA where that has no column, are in it), `warm_up` (trials that do not count), `gather`, "
    "`write` and `other`. `total` is process start "
    "to the end of `write`, with all trials. Checking the categories is in no phase.",
    "1 TE/s is 1e12 edges per second, 1 GE/s 1e9. `rate` is images x edges of the network as given / `infer`, the "
    "challenge's "
    "definition, whatever the exact passes named in `passes` left out: it says how fast the question was "
    "answered. `computed` is what the device did: edges of the plan's layers, each times the images still "
    "computed when it began / `infer`. `with set-up` charges what finds the work to leave out: images x edges as "
    "given / (`plan` + `share` + `upload` + `infer`). `end to end` divides by `total` less `warm_up`. Images "
    "without a non-zero "
    "are not counted.",
    "PASSED: the whole list of categories equals the true one; of official problems that is the official list, "
    "by its digest. UNVERIFIED: nothing that is known to be right was there to compare all categories with. "
    "FAILED: some categories are wrong. Nothing here is extrapolated. A dash stands for what a line does not say."};

constexpr const char* kOfModels[] = {
    "Of models, `infer` is the time from \"model and images are in the engine's form\" to \"the logits of all images "
    "are on the host\": the median over the trials, all images together. `rate` is images / `infer`.",
    "A multiply-add of a weight is counted for each place of the output that the weight contributes to; pools, "
    "activations and the like count nothing. `dense` is 2 x the multiply-adds of all weights of the model as given, "
    "zeros too, x images / `infer`: the speed at which a program that leaves nothing out would have to compute to be "
    "as fast. `sparse` counts the weights that are not zero alone: of these the answer is made. Neither says what "
    "the variant computed: one that multiplies with zeros has the same `sparse` rate as one of the same speed that "
    "leaves them out.",
    "Rounding in fp32 may change a logit by so much at most: that is the bound, a theorem. `of the bound` is the "
    "largest deviation of a logit from the one it was compared with, as a share of that bound: more than 100 % is "
    "wrong, however small the deviation is. PASSED: every logit of all images is within its bound and within a "
    "tolerance of 1e-4 of the largest logit, or the predictions are as accurate as was asked for. UNVERIFIED: "
    "nothing was there to compare with, or the comparison proves too little, such as one of some of the images. "
    "FAILED: a logit is off, or too few "
    "predictions are right. docs/models.md is the reference."};

}  // namespace

std::optional<Section> definitions(const Results& results) {
  Section section{"definitions", "What is counted", {}};
  if (results.run_lines > 0)
    for (const char* text : kOfNetworks) section.blocks.emplace_back(Paragraph{text});
  if (!results.models.empty())
    for (const char* text : kOfModels) section.blocks.emplace_back(Paragraph{text});
  return section.blocks.empty() ? std::nullopt : std::optional(std::move(section));
}

}  // namespace spdnn::sections

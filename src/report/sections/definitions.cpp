#include "report/sections/sections.hpp"

namespace spdnn::sections {

Section definitions() {
  Section section{"definitions", "What is counted", {}};
  for (const char* text :
       {"`infer` is wall-clock time from \"plan and images are resident on the device\" to \"the host knows the "
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
        "1 TE/s is 1e12 edges per second. `rate` is images x edges of the network as given / `infer`, the challenge's "
        "definition, whatever the exact passes named in `passes` left out: it says how fast the question was "
        "answered. `computed` is what the device did: edges of the plan's layers, each times the images still "
        "computed when it began / `infer`. `with set-up` charges what finds the work to leave out: images x edges as "
        "given / (`plan` + `share` + `upload` + `infer`). `end to end` divides by `total` less `warm_up`. Images "
        "without a non-zero "
        "are not counted.",
        "PASSED: the whole list of categories equals the true one; of official problems that is the official list, "
        "by its digest. UNVERIFIED: nothing that is known to be right was there to compare all categories with. "
        "FAILED: some categories are wrong. Nothing here is extrapolated. A dash stands for what a line does not say."})
    section.blocks.emplace_back(Paragraph{text});
  return section;
}

}  // namespace spdnn::sections

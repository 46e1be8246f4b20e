#pragma once

#include "plan/passes/twins.hpp"
#include "spdnn/plan.hpp"

namespace spdnn {

// Exact passes: what may be left out, and why the answer stays the same.
//
// A network is a function from an image to the categories' yes or no, layer by layer:
//   z_j = sum over the terms of neuron j, in order, of y_i * w;  y'_j = min(cap, max(0, z_j + b_j where the rule adds
//   b))
// Every engine evaluates z_j by the same instructions in the order of the plan's terms. Work may be left out when its
// result is known from other work, or cannot reach the answer. Each pass below is one such reason; its file's header
// has the full argument.
//
// Static passes look at the weights alone, once, before any image is seen (phase `plan`):
//   twins      Neurons with the same terms, in order, and the same bias hold the same bits; one is computed, the others
//              point to it (Plan::expansion). Inputs are first renamed to their representatives, so that twins beget
//              twins. Found by hash, accepted only after full comparison.                                  (twins.hpp)
//   unused     A neuron that can never be non-zero contributes +-0 to every sum; one that no computed neuron reads
//              contributes to none.                                                                       (unused.hpp)
//   merge      Terms of one sum that name the same representative with the same weight are one term. This alone changes
//              the order of additions, hence roundings: it is never part of `all`, comes with bounds on how far results
//              may move, and images that a bound does not decide are run again in the given order.         (merge.hpp)
// Dynamic passes look at rows of activations while running (phase `infer`); what they rely on is certified in `plan`:
//   dead       From layer dead_from on a row of zeros stays one: its image is no category. (certificates.hpp) saturated
//   From layer saturated_from on a row all at the cap stays so, in spite of the worst rounding in any order
//              of summation: its image is a category.                                                (certificates.hpp)
//   identical  Rows that are equal, compared in full, have the same future, layers being functions: one of them is
//              carried on, and the others share its fate.
//
// Together. The forward sweep renames, strikes out zeros and groups twins layer by layer; the backward sweep then drops
// unread neurons of the reduced layers; certificates are made for what is left. So every stored neuron holds bit for
// bit what the given network's neuron would, in every precision (for saturated: fp32 or better), and the rest is a
// copy, zero, or unread. Dead, saturated and identical images are judged by stored neurons, of which all later layers
// are a function. Tests expand every layer of every subset of the passes and compare all bits; nothing of the
// challenge's sizes, degrees or weights is known to the code.
// Exactness is claimed for runs in which no sum overflows the precision computed in (magnitudes.hpp); where one does,
// the run notices and says so.
//
// What is counted where. `plan` is the time of make_plan, once per network; it depends on no image, and its result can
// be stored with the network. `infer` is the rest: it computes Plan::edges() for the images that are left. Rates count
// the edges of the given network times all images (Plan::given_edges), which is the challenge's definition; a report
// names the passes in force, and `--reduce dead` gives the rate without any but what published systems do.
//
// Literature. D. Ressi et al., Neural Networks Reduction via Lumping, 2022 (arXiv 2209.07475): neurons of equal
// incoming weights are lumped, the network's function stays. P. Prabhakar, Bisimulations for Neural Network Reduction,
// 2021 (arXiv 2110.03726): the same as a bisimulation, with approximations of it. Their quotients add up weights and
// hold in real arithmetic; keeping the order and the repeats of terms is what makes `twins` hold in floating point.
// Rounding bounds: N. Higham, Accuracy and Stability of Numerical Algorithms, chapter 3.

/// Makes the plan: checks for each requested pass whether its conditions hold (otherwise it stands aside, with a note),
/// applies the static ones and computes the certificates of the dynamic ones. `Passes{}` gives the network itself, and
/// a layer that no pass changes shares the network's storage. The network must be valid; set_network_digest() is left
/// to the caller. `find_twins` looks for the rows that are equal as given, the CPU where it is empty; the plan does not
/// depend on which. Cost: a pass or two over the edges, on all cores.
Plan make_plan(const Network& network, const Passes& passes, const planning::TwinFinder& find_twins = {});

}  // namespace spdnn

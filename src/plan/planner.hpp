#pragma once

#include "core/types/plan.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn {

// Exact passes: the work that they omit, and the proof that the result is the same.
//
// A network is a function from an image to the answer whether it is a category. Layer by layer:
//
//   z_j  = the sum over the terms of neuron j, in order, of y_i * w
//   y'_j = min(cap, max(0, z_j + b_j)), with b_j only where the rule adds it
//
// Every engine evaluates z_j by the same instructions in the order of the plan's terms. Work may be left out when its
// result is known from other work, or cannot reach the answer. Each pass below is one such reason; the header of its
// file has the full argument.
//
// Static passes look at the weights alone, once, before any image is seen (phase `plan`).
//
// - twins (passes/twins.hpp): Neurons with the same terms, in the same order, and the same bias hold the same bits. One
//   of them is computed, and the others point to it (Plan::expansion). Inputs are first renamed to their
//   representatives, so that twins in one layer make twins in the next. They are found by a hash and accepted only
//   after a full comparison.
// - unused (passes/unused.hpp): A neuron that can never be non-zero contributes +0 or -0 to every sum, and one that no
//   computed neuron reads contributes to none.
// - merge (passes/merge.hpp): Terms of one sum that name the same representative with the same weight are one term.
//   This pass alone changes the order of additions, and hence roundings. So it is never part of `all`, it comes with
//   bounds on how far results may move, and images that a bound does not decide are run again in the given order.
//
// Dynamic passes look at rows of activations during the run (phase `infer`). The conditions that they rely on are
// certified in `plan`.
//
// - dead (passes/saturation.hpp): From layer dead_from on, a row of zeros stays one: its image is no category.
// - saturated (passes/saturation.hpp): From layer saturated_from on, a row that is all at the cap stays so, in spite of
//   the worst rounding in any order of summation: its image is a category.
// - identical: Rows that are equal, compared in full, have the same future, since layers are functions. One of them is
//   computed on; the others are its duplicates and end as it does.
//
// Together. The forward sweep renames inputs, strikes out zeros and groups twins, layer by layer. The backward sweep
// then drops the unread neurons of the reduced layers. Certificates are computed for the remaining ones. So every
// stored neuron holds, bit for bit, the value of the given network's neuron, in every precision (for `saturated`: fp32
// or better); every other neuron is a twin of a stored one, zero, or unread. Dead, saturated and identical images are
// judged by their stored neurons, of which all later layers are a function. Tests expand every layer for every subset
// of the passes and compare all bits. The code knows nothing of the challenge's sizes, degrees or weights. Exactness is
// claimed for runs in which no sum overflows the precision that is computed in (magnitudes.hpp); where one does, the
// run notices and says so.
//
// Times and rates. `plan` is the time of make_plan, once per network. It depends on no image, and its result can be
// stored with the network. `infer` is the rest: it computes Plan::edges() for the images that are left. Rates count the
// edges of the given network times all images (Plan::given_edges), which is the challenge's definition. A report names
// the passes in force, and `--reduce dead` gives the rate with nothing but the pass that published systems have.
//
// Literature. D. Ressi et al., Neural Networks Reduction via Lumping, 2022 (arXiv 2209.07475): neurons with equal
// incoming weights are lumped, and the network's function stays the same. P. Prabhakar, Bisimulations for Neural
// Network Reduction, 2021 (arXiv 2110.03726): the same as a bisimulation, with approximations of it. Their quotients
// add up weights and hold in real arithmetic; `twins` holds in floating point because it keeps the order and the
// repeats of terms. Rounding bounds: N. Higham, Accuracy and Stability of Numerical Algorithms, chapter 3.

/// Makes the plan: checks for each requested pass whether its conditions hold (otherwise the pass is not applied, with
/// a note), applies the static passes and computes the certificates of the dynamic ones. `Passes{}` gives the network
/// itself, and a layer that no pass changes shares the network's storage. The network must be valid;
/// set_network_digest() is left to the caller. `find_twins` finds the rows that are equal as given; where it is empty,
/// the CPU does. The plan does not depend on which. Cost: one or two passes over the edges, on all cores.
Plan make_plan(const Network& network, const Passes& passes, const planning::TwinFinder& find_twins = {});

}  // namespace spdnn

#include "model/rewrites/rewrite.hpp"

#include <fmt/format.h>

#include "core/text/amounts.hpp"
#include "core/text/flag_names.hpp"
#include "model/graph/remove_unread.hpp"
#include "model/rewrites/drop_dead_channels.hpp"
#include "model/rewrites/fold_affine.hpp"
#include "model/rewrites/fold_constants.hpp"
#include "model/rewrites/fold_padding.hpp"
#include "model/rewrites/fuse_hard_swish.hpp"
#include "model/rewrites/share_twin_filters.hpp"

namespace spdnn {

namespace {

constexpr FlagNames<Rewrites, 8> kNames{{{"constants", &Rewrites::constants},
                                         {"hard_swish", &Rewrites::hard_swish},
                                         {"padding", &Rewrites::padding},
                                         {"affine", &Rewrites::affine},
                                         {"dead_channels", &Rewrites::dead_channels},
                                         {"twin_filters", &Rewrites::twin_filters},
                                         {"unread", &Rewrites::unread},
                                         {"epilogues", &Rewrites::epilogues}}};

}  // namespace

Rewrites parse_rewrites(std::string_view text, std::string_view field) {
  return parse_flags(kNames, text, kAllRewrites, field, "rewrite");
}

std::string to_string(const Rewrites& rewrites) { return flags_text(kNames, rewrites); }

std::vector<std::string> rewrite(Model& model, const Rewrites& rewrites) {
  std::vector<std::string> notes;
  const auto make = [&](bool chosen, Index (*step)(Model&), const char* one, const char* several, const char* what) {
    if (!chosen) return;
    if (const Index count = step(model); count > 0)
      notes.push_back(fmt::format("{} {}", counted(count, one, several), what));
  };
  make(rewrites.constants, fold_constants, "node of constants is", "nodes of constants are", "computed beforehand");
  make(rewrites.hard_swish, fuse_hard_swish, "hard swish is", "hard swishes are", "fused into one activation");
  make(rewrites.padding, fold_padding, "convolution or pool takes", "convolutions and pools take",
       "the pad before it as its padding");
  make(rewrites.affine, fold_affine, "batch norm, sum or product is", "batch norms, sums and products are",
       "folded into the weights before");
  make(rewrites.dead_channels, drop_dead_channels, "channel is", "channels are",
       "removed, as no output depends on them");
  make(rewrites.twin_filters, share_twin_filters, "channel is", "channels are", "computed once for several equal ones");
  make(rewrites.unread, remove_unread, "node is", "nodes are", "removed, as no output depends on it");
  return notes;
}

}  // namespace spdnn

#include "model/rewrite.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"
#include "model/drop_dead_channels.hpp"
#include "model/fold_affine.hpp"
#include "model/fold_constants.hpp"
#include "model/fuse_hard_swish.hpp"
#include "model/remove_unread.hpp"
#include "model/share_twin_filters.hpp"

namespace spdnn {

std::vector<std::string> rewrite(Model& model) {
  std::vector<std::string> notes;
  const auto note = [&](Index count, const char* one, const char* several, const char* what) {
    if (count > 0) notes.push_back(fmt::format("{} {}", counted(count, one, several), what));
  };
  note(fold_constants(model), "node of constants is", "nodes of constants are", "computed beforehand");
  note(fuse_hard_swish(model), "hard swish is", "hard swishes are", "computed at once");
  note(fold_affine(model), "batch norm, sum or product is", "batch norms, sums and products are",
       "part of the weights before");
  note(drop_dead_channels(model), "channel is", "channels are", "left out, as nothing comes of them");
  note(share_twin_filters(model), "channel is", "channels are", "computed once for several equal ones");
  note(remove_unread(model), "node is", "nodes are", "left out, as no output depends on it");
  return notes;
}

}  // namespace spdnn

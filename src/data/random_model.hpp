#pragma once

#include "data/model_maker.hpp"

namespace spdnn {

/// A small model with every operation and every kind of it at least once. The seed varies windows, channels and groups.
ValueId random_model(ModelMaker& maker, Index classes);

}  // namespace spdnn

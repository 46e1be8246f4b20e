#pragma once

#include "spdnn/model.hpp"

namespace spdnn::program {

/// How the host computes a batch: parts of that many images, by that many teams of threads side by side. A team of one
/// thread waits for no other at the end of a step.
struct Parts {
  Index images;
  int teams = 1;  ///< 1: all threads; or as many as there are threads
};

/// The images of a part where fewer than a batch are loaded, so that no thread waits beside one that has several.
Index images_of_part(const Parts& parts, Index loaded);

struct UsefulThreads {
  int count = 1;
  double seconds_of_node = 0;  ///< predicted for one thread, on average of the nodes with weights; 0: there are none
  double seconds = 0;          ///< of all nodes
};

/// The number of threads, of at most so many, for which the nodes of a part are large enough on average: threads meet
/// at the end of each, and those that waited for long are woken by the system, which takes longer than a small node.
UsefulThreads useful_threads(const Model& model, Index images, int threads);

/// Whether work of so many seconds of one thread is done within its turn of the scheduler. On a busy machine it hardly
/// takes one thread longer than on an idle one, while several wait for each other's turns at the end of each node.
bool is_one_turn(double seconds);

/// All images at once, if the weights take more memory than what all steps of a part read and write, or if an output is
/// the same for all. Otherwise parts for which that stays in caches, each by a thread if there are enough; small images
/// in one part for each thread, as each step at whose end threads wait for one another costs a turn of the scheduler on
/// a busy machine. Small images are computed at once where there are too few for that.
Parts parts_of(const Model& model, Index batch, int threads);

}  // namespace spdnn::program

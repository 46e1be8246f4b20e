#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace spdnn {

/// A rank's position in its job, whose processes a launcher such as mpirun or srun has started together.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  int node_rank = 0;   ///< among the ranks of the same node; the first of them is the node's leader
  int node_ranks = 1;  ///< their number
};

/// Communication between the ranks of a job. All ranks make the same calls in the same order. Rank 0 is the root: it
/// reads, plans, collects and writes. A call throws a DeviceError if another rank no longer answers; the process
/// can then only end.
class Communicator {
 public:
  /// Whom a call is for; the first of a group leads it. The leaders are those of the nodes, the root among them.
  enum class Group { job, node, leaders };

  explicit Communicator(RankPlace place) : place_(place) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const RankPlace& place() const { return place_; }
  bool is_root() const { return place_.rank == 0; }
  bool is_alone() const { return place_.ranks == 1; }
  bool leads_node() const { return place_.node_rank == 0; }

  /// Copies the first member's bytes to all others of the group. Only leaders call it for the leaders.
  virtual void broadcast(std::span<std::byte> bytes, Group group) = 0;
  /// Whether it is true for all members of the group; waits for all of them.
  virtual bool all(bool mine, Group group) = 0;
  /// By rank, on the root, the size that each rank gives; elsewhere nothing.
  virtual std::vector<std::size_t> gather_size(std::size_t mine) = 0;
  /// On the root, the bytes of all ranks in `all`, those of one rank after those of another; `sizes` are by rank.
  /// Elsewhere both are empty.
  virtual void gather(std::span<const std::byte> mine, std::span<const std::size_t> sizes,
                      std::span<std::byte> all) = 0;
  /// By rank, the sizes that the ranks give for this one; `mine` has one for each rank.
  virtual std::vector<std::size_t> exchange_sizes(std::span<const std::size_t> mine) = 0;
  /// Each rank sends bytes to each, itself included: `out` has them in the order of the ranks, `in` gets them so. Sizes
  /// are by rank, and add up to those of `out` and `in`.
  virtual void exchange(std::span<const std::byte> out, std::span<const std::size_t> out_sizes, std::span<std::byte> in,
                        std::span<const std::size_t> in_sizes) = 0;

  /// Whether any thread may make the calls, one at a time.
  virtual bool on_any_thread() const { return true; }

  void barrier() { all(true, Group::job); }

 private:
  RankPlace place_;
};

/// The communicator of a single process.
std::unique_ptr<Communicator> alone();

}  // namespace spdnn

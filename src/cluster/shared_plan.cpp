#include "cluster/shared_plan.hpp"

#include <malloc.h>

#include "cluster/exchange.hpp"
#include "cluster/fields.hpp"
#include "cluster/shared_memory.hpp"

namespace spdnn {

namespace {

using Group = Communicator::Group;

/// An archive (parcel.hpp) that visits the arrays in the order in which a Packer does, copies each to its place and
/// puts the copy in place of the array. All processors copy, some arrays at a time, which are held for so long.
class PlanMover {
 public:
  explicit PlanMover(SharedMemory& memory) : memory_(memory) {}
  ~PlanMover() { copy(); }
  PlanMover(const PlanMover&) = delete;
  PlanMover& operator=(const PlanMover&) = delete;

  template <class... T>
  void operator()(T&... values) {
    (move(values), ...);
  }

 private:
  template <class T>
  void move(T& value) {
    if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>) fields(*this, value);
  }
  void move(std::string& /*text*/) {}
  template <class T>
  void move(std::vector<T>& values) {
    for (T& value : values) move(value);
  }
  template <class T>
  void move(std::optional<T>& value) {
    if (value) move(*value);
  }
  template <class T>
  void move(std::shared_ptr<const T>& value) {
    if (!value) return;
    const auto copy = std::make_shared<T>(*value);
    move(*copy);
    value = copy;
  }
  template <class T>
  void move(Array<T>& array) {
    const auto [known, added] = places_.try_emplace({array.data(), array.size()}, next_);
    if (added) {
      waiting_.push_back({next_, std::as_bytes(array.span()), std::make_shared<Array<T>>(array)});
      waiting_bytes_ += array.bytes();
      next_ += aligned_in_parcel(array.bytes());
    }
    array = Array<T>({memory_.hold(), reinterpret_cast<const T*>(memory_.data() + known->second)}, array.size());
    if (waiting_bytes_ >= kMostWaiting) copy();
  }

  void copy() {
    memory_.write(waiting_);
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  static constexpr std::size_t kMostWaiting = std::size_t{64} << 20U;

  SharedMemory& memory_;
  std::size_t next_ = 0;
  std::vector<SharedMemory::Piece> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::map<std::pair<const void*, std::size_t>, std::size_t> places_;
};

/// The parts of a plan that are sent besides its arrays.
struct Described {
  std::vector<std::byte> description;
  std::size_t array_bytes = 0;
};
void fields(auto& archive, MaybeConst<Described> auto& plan) { archive(plan.description, plan.array_bytes); }

/// Gives the system the pages of freed arrays, which lie between arrays that stay.
void return_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

Plan share_plan(Communicator& ranks, Plan plan) {
  if (ranks.is_alone()) return plan;
  const Array<Index> last_expansion = plan.expansion.empty() ? Array<Index>{} : plan.expansion.back();
  plan.expansion.assign(plan.expansion.size(), {});
  Described described;
  if (ranks.is_root()) {
    Parcel parcel = pack(plan);
    described = {std::move(parcel.description), parcel.array_bytes};
  }
  described = broadcast(ranks, described);
  const std::size_t bytes = described.array_bytes;
  SharedMemory memory(ranks, bytes);
  if (ranks.is_root()) {
    PlanMover mover(memory);
    mover(plan);
  }  // which releases the last arrays
  if (ranks.is_root()) return_freed_memory();
  if (ranks.leads_node()) ranks.broadcast({memory.data(), bytes}, Group::leaders);
  if (memory.is_shared())
    ranks.all(true, Group::node);  // the leader has written
  else
    ranks.broadcast({memory.data(), bytes}, Group::node);
  memory.fetch();
  if (ranks.is_root()) {
    if (!plan.expansion.empty()) plan.expansion.back() = last_expansion;
    return plan;
  }
  return unpack<Plan>(described.description, memory.hold());
}

}  // namespace spdnn

#include "emulation.hpp"

#include <ucontext.h>

#include <csetjmp>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace emulation {

namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10U;

/// A thread of the block. Fibers are switched by longjmp, as swapcontext asks the kernel for signal masks each time.
struct Fiber {
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  ucontext_t beginning{};
  std::jmp_buf place{};
  bool started = false;
};

/// The state of a thread: runs, has ended, or waits at a barrier, with the number of barriers opened by then.
constexpr unsigned kNothing = ~0U;
constexpr unsigned kEnded = kNothing - 1;

/// The values that a warp's threads exchange. Exchanges alternate between two sides, so that no thread overwrites a
/// value that others still read.
struct Warp {
  std::array<std::array<unsigned long long, 32>, 2> values{};
  std::array<unsigned, 2> arrived{};
  std::array<unsigned, 32> exchanges{};  ///< of each lane
};

struct State {
  Index3 thread, block, grid, threads;
  std::vector<Fiber> fibers;        ///< as many as the largest block so far
  std::vector<unsigned> waits_for;  ///< by thread; one array, as each round scans all of them
  std::vector<Warp> warps;
  std::vector<std::byte> shared;
  std::function<void()> kernel;
  std::jmp_buf scheduler{};
  unsigned running = 0;                ///< threads that have not ended
  unsigned arrived = 0;                ///< threads at the barrier
  unsigned barriers = 0;               ///< number of barriers that have opened
  std::array<unsigned, 16> parties{};  ///< arrivals at each numbered barrier
  int collected = 0;
  int result = 0;
  unsigned long long steps = 0;  ///< beginnings, ends and arrivals
};
State state;

void switch_away() {
  if (_setjmp(state.fibers[state.thread.x].place) == 0) _longjmp(state.scheduler, 1);
}

void run_fiber() {
  state.kernel();
  state.waits_for[state.thread.x] = kEnded;
  --state.running;
  ++state.steps;
  _longjmp(state.scheduler, 1);
}

/// Runs the fiber until it yields or ends.
__attribute__((noinline)) void go_on(Fiber& fiber) {
  if (_setjmp(state.scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  ++state.steps;
  setcontext(&fiber.beginning);
}

void prepare(Fiber& fiber) {
  fiber.started = false;
  getcontext(&fiber.beginning);
  fiber.beginning.uc_stack.ss_sp = fiber.stack.get();
  fiber.beginning.uc_stack.ss_size = kStackBytes;
  fiber.beginning.uc_link = nullptr;
  makecontext(&fiber.beginning, run_fiber, 0);
}

/// Whether a thread in this state can go on.
bool can_go_on(unsigned waits_for) {
  return waits_for != kEnded && (waits_for != state.barriers || state.arrived == state.running);
}

void run_block(unsigned number) {
  state.block.x = number;
  state.running = state.threads.x;
  state.arrived = 0;
  state.collected = 0;
  state.parties.fill(0);
  state.warps.assign(state.threads.x / 32, {});
  for (unsigned thread = 0; thread < state.threads.x; ++thread) prepare(state.fibers[thread]);
  state.waits_for.assign(state.threads.x, kNothing);
  for (unsigned idle = 0; state.running > 0; ++idle) {
    const auto before = state.steps;
    for (unsigned thread = 0; thread < state.threads.x; ++thread) {
      if (!can_go_on(state.waits_for[thread])) continue;
      state.thread.x = thread;
      go_on(state.fibers[thread]);
    }
    if (state.steps != before) idle = 0;
    if (idle > 2) throw std::logic_error("the threads of a block wait for what does not come");
  }
}

bool open_barrier() {
  if (state.arrived != state.running) return false;
  state.arrived = 0;
  state.result = std::exchange(state.collected, 0);
  ++state.barriers;
  return true;
}

}  // namespace

const Index3& thread_index() { return state.thread; }
const Index3& block_index() { return state.block; }
const Index3& grid() { return state.grid; }
const Index3& block() { return state.threads; }
std::byte* dynamic_shared() { return state.shared.data(); }

void launch(unsigned blocks, unsigned threads, std::size_t shared_bytes, const std::function<void()>& kernel) {
  if (threads == 0 || threads % 32 != 0) throw std::invalid_argument("a block has whole warps");
  state.grid = {blocks, 1, 1};
  state.threads = {threads, 1, 1};
  if (state.fibers.size() < threads) state.fibers.resize(threads);
  state.shared.resize(shared_bytes);
  state.kernel = kernel;
  for (unsigned number = 0; number < blocks; ++number) run_block(number);
}

void pause() { switch_away(); }

int barrier(int value) {
  state.collected |= value;
  ++state.arrived;
  ++state.steps;
  const unsigned before = state.barriers;
  state.waits_for[state.thread.x] = before;
  while (state.barriers == before && !open_barrier()) switch_away();
  return state.result;
}

void barrier_of(unsigned number, unsigned threads) {
  const unsigned round = state.parties[number]++ / threads;
  ++state.steps;
  while (state.parties[number] / threads == round) switch_away();
}

std::array<unsigned long long, 32> exchange_bits(unsigned long long bits) {
  Warp& warp = state.warps[state.thread.x / 32];
  const unsigned lane = state.thread.x % 32;
  const unsigned side = warp.exchanges[lane]++ % 2;
  if (warp.arrived[side] == 32) warp.arrived[side] = 0;
  warp.values[side][lane] = bits;
  ++warp.arrived[side];
  ++state.steps;
  while (warp.arrived[side] < 32) switch_away();
  return warp.values[side];
}

}  // namespace emulation

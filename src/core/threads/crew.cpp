#include "core/threads/crew.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "core/threads/waiting.hpp"

namespace spdnn {

namespace {

/// However long OpenMP's threads spin, which may occupy the processors as well.
constexpr long kMostTurns = 100'000;

/// How long a waiting thread spins, by what OpenMP's variables say; the program's getenv answers for the first of them.
long turns_by_environment() noexcept {
  if (const char* const given = std::getenv("GOMP_SPINCOUNT")) {
    const std::string_view text = given;
    long turns = 0;
    const char* const end = std::from_chars(text.data(), text.data() + text.size(), turns).ptr;
    return end == text.data() + text.size() ? std::clamp(turns, 0L, kMostTurns) : kMostTurns;  // "INFINITE", "9k"
  }
  if (const char* const policy = std::getenv("OMP_WAIT_POLICY"))
    return std::string_view(policy) == "active" || std::string_view(policy) == "ACTIVE" ? kMostTurns : 0;
  return waiting::machine_is_busy() ? 0 : waiting::turns_of_spinning();
}

/// Read when the library is loaded, as by libgomp.
const long turns_to_spin = turns_by_environment();

/// As in libgomp, where there are more threads than processors.
constexpr long kFewTurns = 1000;

/// Waits until the value is another than `old`: spins, then sleeps.
void await_change(const std::atomic<std::uint32_t>& value, std::uint32_t old, bool many) {
  for (long turn = many ? std::min(turns_to_spin, kFewTurns) : turns_to_spin; turn > 0; --turn) {
    if (value.load(std::memory_order_acquire) != old) return;
    waiting::relax();
  }
  value.wait(old, std::memory_order_acquire);
}

bool is_taken(std::uint32_t turn) { return turn % 2 == 1; }

thread_local bool t_within_team = false;

}  // namespace

bool within_team() { return t_within_team || omp_in_parallel() != 0; }

WithinTeam::WithinTeam() : threads_before_(omp_get_max_threads()) {
  t_within_team = true;
  omp_set_num_threads(1);
}

WithinTeam::~WithinTeam() {
  omp_set_num_threads(threads_before_);
  t_within_team = false;
}

Crew::~Crew() {
  work_ = nullptr;
  for (const auto& helper : helpers_) call(*helper);
  for (const auto& helper : helpers_) {
    if (process_ == ::getpid())
      helper->thread.join();
    else
      helper->thread.detach();
  }
}

void Crew::run(int members, const std::function<void(int, int)>& work) {
  const WithinTeam within;
  grow(members);
  const std::size_t helpers = std::min(helpers_.size(), static_cast<std::size_t>(members - 1));
  work_ = &work;
  done_.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < helpers; ++i) call(*helpers_[i]);
  work(0, 0);
  std::uint32_t others = 0;
  for (std::size_t i = 0; i < helpers; ++i) {
    std::uint32_t turn = helpers_[i]->turn.load(std::memory_order_acquire);
    if (!is_taken(turn) && helpers_[i]->turn.compare_exchange_strong(turn, turn + 1, std::memory_order_acq_rel))
      work(static_cast<int>(i) + 1, 0);
    else
      ++others;
  }
  for (int member = static_cast<int>(helpers) + 1; member < members; ++member) work(member, 0);
  for (std::uint32_t done = done_.load(std::memory_order_acquire); done < others;
       done = done_.load(std::memory_order_acquire))
    await_change(done_, done, members > omp_get_num_procs());
}

void Crew::grow(int members) {
  while (may_grow_ && static_cast<int>(helpers_.size()) < members - 1) {
    helpers_.push_back(std::make_unique<Helper>());
    Helper& helper = *helpers_.back();
    const int number = static_cast<int>(helpers_.size());
    try {
      helper.thread = std::thread([this, &helper, number] { help(helper, number); });
    } catch (const std::system_error&) {
      helpers_.pop_back();
      may_grow_ = false;
    }
  }
}

void Crew::call(Helper& helper) {
  helper.turn.fetch_add(1, std::memory_order_release);
  helper.turn.notify_one();
}

void Crew::help(Helper& own, int number) {
  ::pthread_setname_np(::pthread_self(), "spdnn crew");
  const WithinTeam within;
  for (;;) {
    std::uint32_t turn = own.turn.load(std::memory_order_acquire);
    if (is_taken(turn)) {
      await_change(own.turn, turn, number >= omp_get_num_procs());
      continue;
    }
    if (!own.turn.compare_exchange_strong(turn, turn + 1, std::memory_order_acq_rel)) continue;
    if (work_ == nullptr) return;
    (*work_)(number, number);
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_one();
  }
}

}  // namespace spdnn

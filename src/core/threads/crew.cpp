#include "core/threads/crew.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
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
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), turns);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole ? std::clamp(turns, 0L, kMostTurns) : kMostTurns;  // "INFINITE", "9k"
  }
  if (const char* const policy = std::getenv("OMP_WAIT_POLICY")) {
    if (::strcasecmp(policy, "active") == 0) return kMostTurns;
    if (::strcasecmp(policy, "passive") == 0) return 0;
  }
  return waiting::machine_is_busy() ? 0 : waiting::turns_of_spinning();
}

/// Read when the library is loaded, as by libgomp.
const long turns_to_spin = turns_by_environment();

/// Where there are more threads than processors.
constexpr long kFewTurns = 1000;

/// Waits until the value is another than `old`: spins, then sleeps.
void await_change(const std::atomic<std::uint32_t>& value, std::uint32_t old, bool many) {
  for (long turn = many ? std::min(turns_to_spin, kFewTurns) : turns_to_spin; turn > 0; --turn) {
    if (value.load(std::memory_order_acquire) != old) return;
    waiting::relax();
  }
  value.wait(old, std::memory_order_acquire);
}

/// Where OpenMP binds its threads to places (OMP_PROC_BIND), it has bound the leader to one, which helpers would
/// inherit.
void bind(std::thread& helper, int number) {
  const int places = omp_get_proc_bind() == omp_proc_bind_false ? 0 : omp_get_num_places();
  if (places < 2) return;
  std::vector<int> processors(static_cast<std::size_t>(omp_get_place_num_procs(number % places)));
  omp_get_place_proc_ids(number % places, processors.data());
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(processor, &set);
  ::pthread_setaffinity_np(helper.native_handle(), sizeof set, &set);
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
  leave_to_parent();
  work_ = nullptr;
  for (const auto& helper : helpers_)  // those that were called before exit() within work will come
    if (is_taken(helper->turn.load(std::memory_order_acquire))) call(*helper);
  for (const auto& helper : helpers_) helper->thread.join();
}

void Crew::run(int members, const std::function<void(int, int)>& work) {
  const WithinTeam within;
  leave_to_parent();
  grow(std::min(members, omp_get_thread_limit()));
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

/// The threads of a process stay behind where it is forked: they can be neither joined nor detached.
void Crew::leave_to_parent() {
  if (process_ == ::getpid()) return;
  for (auto& helper : helpers_) static_cast<void>(helper.release());
  helpers_.clear();
  process_ = ::getpid();
}

void Crew::grow(int members) {
  while (may_grow_ && static_cast<int>(helpers_.size()) < members - 1) {
    helpers_.push_back(std::make_unique<Helper>());
    Helper& helper = *helpers_.back();
    const int number = static_cast<int>(helpers_.size());
    try {
      helper.thread = std::thread([this, &helper, number] { help(helper, number); });
    } catch (const std::exception&) {  // the system has no thread or no memory for it
      helpers_.pop_back();
      may_grow_ = false;
      return;
    }
    bind(helper.thread, number);
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
    const auto* const work = work_.load();
    if (work == nullptr) return;
    (*work)(number, number);
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_one();
  }
}

}  // namespace spdnn

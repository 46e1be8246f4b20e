#include "core/threads/parallel.hpp"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "core/threads/crew.hpp"
#include "core/threads/thread_quota.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// A count that grows with the threads of this process. It falls only when a thread is completely gone, shortly after
/// its join.
nlink_t threads_alive() {
  struct stat status {};
  return ::stat("/proc/self/task", &status) == 0 ? status.st_nlink : 0;
}

/// The team size that the system allows, up to `wanted`, found by starting the threads and ending them. (libgomp ends
/// the program if it cannot start a thread.) Each may be there twice, in OpenMP's team and in a crew. Cost: 30 us per
/// thread; their stacks are reused.
int try_team(int wanted) {
  static std::mutex one_at_a_time;
  const std::lock_guard alone(one_at_a_time);
  const nlink_t alive_before = threads_alive();
  std::mutex gate;
  std::vector<pthread_t> started(2 * static_cast<std::size_t>(wanted - 1));
  const auto wait_at = [](void* closed) -> void* {
    const std::lock_guard through(*static_cast<std::mutex*>(closed));
    return nullptr;
  };
  std::size_t count = 0;
  {
    const std::lock_guard closed(gate);
    while (count < started.size() && ::pthread_create(&started[count], nullptr, wait_at, &gate) == 0) ++count;
  }
  for (std::size_t i = 0; i < count; ++i) ::pthread_join(started[i], nullptr);
  constexpr int kPatience = 100;
  for (int i = 0; i < kPatience && threads_alive() > alive_before; ++i) ::sched_yield();
  return static_cast<int>(count / 2) + 1;
}

/// The size of the team that this thread can lead, up to `wanted`. OpenMP keeps a team's threads for its leader, so
/// each leader asks the system once, and again only for more threads.
int team_given(int wanted) {
  thread_local int given = 1;
  thread_local int most = kMostThreads;
  wanted = std::min({wanted, most, omp_get_thread_limit()});
  if (wanted <= given || within_team()) return wanted;
  given = try_team(wanted);
  if (given < wanted) most = given;
  return given;
}

/// The limit set by ThreadLimit.
std::atomic<int> thread_limit = kMostThreads;

/// The default limit for work without an explicit number of threads.
int most_by_default() { return std::min(thread_limit.load(), threads_by(processor_quota())); }

/// Keeps the exception with the lowest number.
class FirstError {
 public:
  template <class Work>
  void guard(std::size_t number, Work work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (error_ && number_ < number) return;
      number_ = number;
      error_ = std::current_exception();
    }
  }
  /// Whether work of this number can be skipped, because a lower one has failed.
  bool precedes(std::size_t number) {
    const std::lock_guard lock(mutex_);
    return error_ && number_ < number;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::size_t number_ = 0;
};

}  // namespace

int host_threads(int requested) {
  return requested > 0 ? requested : team_given(std::clamp(omp_get_num_procs(), 1, most_by_default()));
}

ThreadLimit::ThreadLimit(int threads) : before_(thread_limit.exchange(std::clamp(threads, 1, kMostThreads))) {}

ThreadLimit::~ThreadLimit() { thread_limit = before_; }

std::string processor_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {};
  std::string text;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) text += std::to_string(processor) + ",";
  return text;
}

void require_threads(int threads) {
  const int given = team_given(threads);
  if (given >= threads) return;
  const bool by_openmp = given == omp_get_thread_limit();
  throw DeviceError(std::to_string(threads) + " threads are requested, but " +
                    (by_openmp ? "OMP_THREAD_LIMIT" : "the system") + " allows only " + std::to_string(given));
}

void run_team(int threads, const std::function<void(int, int)>& work) {
  FirstError error;
  const auto guarded = [&](int member, int thread) {
    error.guard(static_cast<std::size_t>(member), [&] { work(member, thread); });
  };
  if (threads <= 1 || within_team()) {
    for (int member = 0; member < threads; ++member) guarded(member, 0);
  } else {
    thread_local Crew crew;
    crew.run(threads, guarded);
  }
  error.rethrow();
}

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work) {
  FirstError error;
  std::atomic<std::size_t> next = 0;
  const int most = std::min(omp_get_max_threads(), most_by_default());
  run_team(static_cast<int>(std::min<std::size_t>(count, static_cast<std::size_t>(most))), [&](int, int) {
    for (std::size_t i = next++; i < count; i = next++)
      if (!error.precedes(i)) error.guard(i, [&] { work(i); });
  });
  error.rethrow();
}

void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  pieces = std::clamp<std::size_t>(pieces, 1, std::max<std::size_t>(size, 1));
  parallel_for(pieces, [&](std::size_t piece) {
    const std::size_t begin = size / pieces * piece + std::min(piece, size % pieces);
    const std::size_t end = size / pieces * (piece + 1) + std::min(piece + 1, size % pieces);
    if (begin < end) work(piece, begin, end);
  });
}

}  // namespace spdnn

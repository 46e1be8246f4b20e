#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace spdnn {

/// Threads that help one other, their leader. Each has a member of a team to work for; the leader works for the first
/// member, and then for those whose threads have not come yet. So it waits only for threads that have begun, where
/// OpenMP waits for all: on a busy machine the system may take milliseconds to give a thread that was woken its turn.
class Crew {
 public:
  Crew() = default;
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Calls work(member, thread) once for each member in [0, members), and returns when all calls have. `thread` is the
  /// number of the thread that calls: `member` or, for the leader, 0. Only the leader may call this, and not within
  /// work, which must not throw. Uses fewer threads from then on if the system does not start as many, and no more than
  /// OMP_THREAD_LIMIT.
  void run(int members, const std::function<void(int member, int thread)>& work);

 private:
  struct alignas(64) Helper {
    std::atomic<std::uint32_t> turn = kTaken;  ///< even: called, and not taken yet; odd: a thread has taken its member
    std::thread thread;
  };
  static constexpr std::uint32_t kTaken = 1;

  void leave_to_parent();
  void grow(int members);
  void call(Helper& helper);
  void help(Helper& own, int number);

  std::vector<std::unique_ptr<Helper>> helpers_;  ///< of the members from 1 on
  pid_t process_ = ::getpid();                    ///< that has started the threads
  bool may_grow_ = true;
  std::atomic<const std::function<void(int, int)>*> work_ = nullptr;  ///< null: helpers that are called end
  std::atomic<std::uint32_t> done_ = 0;                               ///< members for which helpers have worked
};

/// Whether the calling thread works for a member of a team.
bool within_team();

/// While it lives, the calling thread counts as within a team, and OpenMP has one thread for what it begins.
class WithinTeam {
 public:
  WithinTeam();
  ~WithinTeam();
  WithinTeam(const WithinTeam&) = delete;
  WithinTeam& operator=(const WithinTeam&) = delete;

 private:
  int threads_before_;
};

}  // namespace spdnn

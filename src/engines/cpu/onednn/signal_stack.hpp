#pragma once

#include <csignal>
#include <cstddef>
#include <memory>
#include <new>

namespace spdnn::onednn {

/// Gives the thread that makes it a stack for signal handlers, unless it has one. Code that oneDNN 2.6 generates for
/// AVX2 does not survive handlers on the thread's own stack: with a signal every 2 ms the heap was corrupted within
/// seconds, and with handlers on another stack it was not, so that the code seems to keep numbers below the stack
/// pointer. Handlers take this stack if they were installed with SA_ONSTACK, as those of Python are.
class SignalStack {
 public:
  SignalStack() {
    stack_t before{};
    if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
    bytes_.reset(new (std::nothrow) std::byte[kBytes]);
    stack_t own{};
    own.ss_sp = bytes_.get();
    own.ss_size = kBytes;
    if (bytes_ != nullptr && sigaltstack(&own, nullptr) != 0) bytes_.reset();
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  ~SignalStack() {
    stack_t now{};
    if (bytes_ == nullptr || sigaltstack(nullptr, &now) != 0 || now.ss_sp != bytes_.get()) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10U;  ///< the registers of AVX-512 and AMX take 11 KiB

  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace spdnn::onednn

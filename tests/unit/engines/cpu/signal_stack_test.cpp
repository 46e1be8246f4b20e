#include "engines/cpu/onednn/signal_stack.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace spdnn::onednn {
namespace {

stack_t present_stack() {
  stack_t stack{};
  EXPECT_EQ(sigaltstack(nullptr, &stack), 0);
  return stack;
}

/// Runs work() on a thread that has no stack for signal handlers; a sanitizer gives each thread one.
template <class Work>
void on_a_new_thread(const Work& work) {
  std::thread thread([&] {
    const stack_t before = present_stack();
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ASSERT_EQ(sigaltstack(&none, nullptr), 0);
    work();
    ASSERT_EQ(sigaltstack(&before, nullptr), 0);
  });
  thread.join();
}

const std::byte* place_of_handler = nullptr;
void note_place(int /*signal*/) { place_of_handler = static_cast<const std::byte*>(__builtin_frame_address(0)); }

TEST(SignalStack, HandlersRunOnItWhileItLives) {
  on_a_new_thread([] {
    {
      const SignalStack stack;
      struct sigaction action {};
      action.sa_handler = note_place;
      action.sa_flags = SA_ONSTACK;
      struct sigaction before {};
      ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
      ASSERT_EQ(raise(SIGUSR2), 0);
      ASSERT_EQ(sigaction(SIGUSR2, &before, nullptr), 0);
      const auto* const begin = static_cast<const std::byte*>(present_stack().ss_sp);
      EXPECT_TRUE(begin < place_of_handler && place_of_handler < begin + present_stack().ss_size);
    }
    EXPECT_NE(present_stack().ss_flags & SS_DISABLE, 0);
  });
}

TEST(SignalStack, LeavesAThreadTheStackThatItHas) {
  on_a_new_thread([] {
    alignas(16) std::array<std::byte, std::size_t{64} << 10U> bytes;
    stack_t own{};
    own.ss_sp = bytes.data();
    own.ss_size = bytes.size();
    ASSERT_EQ(sigaltstack(&own, nullptr), 0);
    { const SignalStack stack; }
    EXPECT_EQ(present_stack().ss_sp, bytes.data());
    own.ss_flags = SS_DISABLE;
    ASSERT_EQ(sigaltstack(&own, nullptr), 0);
  });
}

}  // namespace
}  // namespace spdnn::onednn

#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace spdnn::testing {

/// While it lives, the system starts no thread of this process, as none gets a stack of 256 TiB. Work that leads
/// teams runs in a new thread meanwhile: a leader remembers how large a team it got.
class RefusedThreads {
 public:
  RefusedThreads() {
    pthread_attr_t endless;
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    EXPECT_EQ(pthread_getattr_default_np(&endless), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&endless, std::size_t{1} << 48U), 0);
    EXPECT_EQ(pthread_setattr_default_np(&endless), 0);
  }
  ~RefusedThreads() { EXPECT_EQ(pthread_setattr_default_np(&before_), 0); }
  RefusedThreads(const RefusedThreads&) = delete;
  RefusedThreads& operator=(const RefusedThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace spdnn::testing

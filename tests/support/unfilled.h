// Views whose values nobody reads.
#pragma once

namespace weft::test {

// While one lives, random_view fills views fast, with some bits: for problems that are planned and never run.
class UnfilledViews {
 public:
  UnfilledViews() { live_ = true; }
  ~UnfilledViews() { live_ = false; }
  UnfilledViews(const UnfilledViews&) = delete;
  UnfilledViews& operator=(const UnfilledViews&) = delete;
  static bool live() { return live_; }

 private:
  static inline thread_local bool live_ = false;
};

}  // namespace weft::test

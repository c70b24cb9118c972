// How a kernel call runs on the cpu, and why: what a GPU's kernels say as KernelRun::variant and KernelRun::why.
#pragma once

#include <cstdint>
#include <string>

namespace weft::cpu {

class KernelForm {
 public:
  // The last choice that a kernel makes counts.
  void choose(std::string variant, std::string why);
  // A loop over `count` parts, at least `grain` of them a thread. The last one of a call counts.
  void divide(std::int64_t count, std::int64_t grain, int threads);

  // A kernel that chose nothing is called by whether its loop was shared among threads.
  std::string variant() const;
  std::string why() const;

 private:
  std::string variant_, why_, division_;
  bool shared_ = false;
};

// Collects the form of the calls that this thread makes while it lives.
class FormListener {
 public:
  explicit FormListener(KernelForm* form) : before_(current_) { current_ = form; }
  ~FormListener() { current_ = before_; }
  FormListener(const FormListener&) = delete;
  FormListener& operator=(const FormListener&) = delete;

  // Null while no profiler runs.
  static KernelForm* current() { return current_; }

 private:
  inline static thread_local KernelForm* current_ = nullptr;
  KernelForm* before_;
};

// Says how a kernel runs; `choice` returns {variant, why}, and is only called while a profiler runs.
template <class F>
void say_form(F&& choice) {
  if (KernelForm* const form = FormListener::current()) {
    auto [variant, why] = choice();
    form->choose(std::move(variant), std::move(why));
  }
}

}  // namespace weft::cpu

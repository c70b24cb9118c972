#include "cpu/kernel_form.h"

#include <format>

namespace weft::cpu {

void KernelForm::choose(std::string variant, std::string why) {
  variant_ = std::move(variant);
  why_ = std::move(why);
}

void KernelForm::divide(std::int64_t count, std::int64_t grain, int threads) {
  shared_ = threads > 1 && count > grain;
  const char* const parts = count == 1 ? "part" : "parts";
  if (shared_)
    division_ = std::format("{} {} on {} threads", count, parts, threads);
  else if (threads == 1)
    division_ = std::format("{} {} on one thread", count, parts);
  else
    division_ = std::format("{} {} on one thread: too few to share", count, parts);
}

std::string KernelForm::variant() const { return !variant_.empty() ? variant_ : shared_ ? "parallel" : "serial"; }

std::string KernelForm::why() const {
  if (why_.empty() && division_.empty()) return "it is not shared among threads";
  return why_ + (why_.empty() || division_.empty() ? "" : "; ") + division_;
}

}  // namespace weft::cpu

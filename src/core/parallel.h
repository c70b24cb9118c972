// Loops on the machine's cores.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

// The cores that loops run on.
int core_count();

// A function of a piece [begin, end) of a loop, which must outlive this.
class PieceFunction {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, PieceFunction>)
  explicit PieceFunction(F& f)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, std::int64_t begin, std::int64_t end) { (*static_cast<F*>(object))(begin, end); }) {}

  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  void* object_;
  void (*call_)(void*, std::int64_t, std::int64_t);
};

void run_pieces(std::int64_t count, std::int64_t grain, PieceFunction f);
// How many loops went to the cores since the process began; small ones should not.
std::uint64_t shared_loops();

// Runs f(begin, end) for pieces of [0, count) of at least `grain`, on all cores. Exceptions of a piece are passed on.
template <class F>
void in_pieces(std::int64_t count, std::int64_t grain, F&& f) {
  run_pieces(count, grain, PieceFunction(f));
}

}  // namespace weft

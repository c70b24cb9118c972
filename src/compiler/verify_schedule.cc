#include "compiler/verify_schedule.h"

#include <algorithm>
#include <map>

#include "weft/error.h"

namespace weft::compiler {
namespace {

// A storage in the memory of a plan, or in a caller's tensor, which has a buffer of its own.
struct Region {
  int buffer;
  std::uint64_t begin, end;
  int storage;
  bool overlaps(const Region& o) const { return buffer == o.buffer && begin < o.end && o.begin < end; }
};

class Verifier {
 public:
  Verifier(const Schedule& schedule, const PlannedSchedule& planned) : schedule_(schedule), planned_(planned) {}

  void run() {
    for (std::size_t s = 0; s < schedule_.calls.size(); ++s) {
      call_ = &schedule_.calls[s];
      step_ = s;
      std::vector<Region> reads, writes;
      for (const int id : call_->reads()) add(reads, id);
      for (const int id : call_->writes()) add(writes, id);
      for (const Region& r : reads) {
        const Storage::Kind source = schedule_.storages[r.storage].kind;
        const bool from_outside = source == Storage::Kind::input || source == Storage::Kind::constant ||
                                  source == Storage::Kind::number;
        if (!from_outside && !holds(r)) fail("storage {} is not in its place any more, or not yet", r.storage);
      }
      for (std::size_t w = 0; w < writes.size(); ++w) {
        const Storage::Kind kind = schedule_.storages[writes[w].storage].kind;
        if (kind == Storage::Kind::input || kind == Storage::Kind::constant || kind == Storage::Kind::number) {
          fail("storage {} is written, which comes from outside", writes[w].storage);
        }
        for (const Region& r : reads) {
          if (r.buffer != writes[w].buffer || in_place(r, writes[w])) continue;
          fail("buffer {} is read and written", r.buffer);
        }
        for (std::size_t k = 0; k < w; ++k) {
          if (writes[k].buffer == writes[w].buffer) fail("buffer {} is written twice", writes[w].buffer);
        }
      }
      for (const Region& w : writes) {
        std::erase_if(held_, [&](const Region& h) { return h.overlaps(w); });
        held_.push_back(w);
      }
    }
    for (std::size_t i = 0; i < schedule_.storages.size(); ++i) {
      if (schedule_.storages[i].kind != Storage::Kind::output || schedule_.storages[i].bytes == 0) continue;
      if (!holds(region(static_cast<int>(i)))) throw InternalError("schedule: output {} is not written", i);
    }
  }

 private:
  // Inputs, outputs and constants have negative numbers.
  Region region(int id) {
    const Storage& storage = schedule_.storages[id];
    if (storage.kind != Storage::Kind::intermediate) return {-1 - id, 0, std::max<std::uint64_t>(storage.bytes, 1), id};
    const int item = planned_.item_of[id];
    if (item < 0) fail("storage {} has no place", id);
    const Place& place = planned_.plan.places[item];
    const Region r{place.buffer, place.offset, place.offset + storage.bytes, id};
    if (place.buffer < 0 || place.buffer >= static_cast<int>(planned_.plan.buffers.size()) ||
        r.end > planned_.plan.buffers[place.buffer] || place.offset % kPlanAlignment != 0) {
      fail("storage {} leaves its buffer", id);
    }
    return r;
  }
  // True if the step may write `w` over `r`: the same range of memory, all of whose operands are the same view, and an
  // op that supports it.
  bool in_place(const Region& r, const Region& w) const {
    if (!call_->op->works_in_place() || r.begin != w.begin || r.end != w.end) return false;
    std::vector<const Operand*> views;
    for (const Operand& x : call_->inputs) {
      if (x.storage == r.storage) views.push_back(&x);
    }
    for (const Operand& y : call_->outputs) {
      if (y.storage == w.storage) views.push_back(&y);
    }
    return views.size() > 1 && std::ranges::all_of(views, [&](const Operand* v) { return same_view(*v, *views[0]); });
  }
  void add(std::vector<Region>& list, int id) {
    if (schedule_.storages[id].bytes > 0) list.push_back(region(id));
  }
  bool holds(const Region& r) const {
    return std::ranges::any_of(held_, [&](const Region& h) {
      return h.storage == r.storage && h.buffer == r.buffer && h.begin == r.begin && h.end == r.end;
    });
  }
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    throw InternalError("schedule: step {} ({}): {}", step_, call_ ? call_->label : std::string(),
                        std::format(format, std::forward<Args>(args)...));
  }

  const Schedule& schedule_;
  const PlannedSchedule& planned_;
  const ScheduledCall* call_ = nullptr;
  std::size_t step_ = 0;
  std::vector<Region> held_;
};

}  // namespace

void verify_schedule(const Schedule& schedule, const PlannedSchedule& planned) { Verifier(schedule, planned).run(); }

}  // namespace weft::compiler

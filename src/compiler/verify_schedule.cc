#include "compiler/verify_schedule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "core/format.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

// A storage in the memory of a plan, or in a caller's tensor, which has a buffer of its own.
struct Region {
  int buffer;
  std::uint64_t begin, end;
  int storage;
};

class Verifier {
 public:
  Verifier(const Schedule& schedule, const PlannedSchedule& planned) : schedule_(schedule), planned_(planned) {}

  void run() {
    for (const Storage& s : schedule_.storages) {
      if (s.donor < 0) continue;
      const Storage& from = schedule_.storages[s.donor];
      if (s.kind != Storage::Kind::output || from.kind != Storage::Kind::input || from.bytes != s.bytes) {
        fail("storage {} cannot be donated", s.donor);
      }
      if (!donors_.insert(s.donor).second) fail("storage {} is donated twice", s.donor);
      if (s.bytes > 0) hold(region(s.donor));
    }
    blocks(schedule_.blocks, 0, static_cast<int>(schedule_.calls.size()));
    for (std::size_t i = 0; i < schedule_.storages.size(); ++i) {
      const Storage& s = schedule_.storages[i];
      if (s.kind != Storage::Kind::output || s.bytes == 0) continue;
      const Region r = region(static_cast<int>(i));
      if (!is_donor(r) && !holds(r)) throw InternalError("schedule: output {} is not written", i);
    }
  }

 private:
  // Both branches, and each loop twice: what a turn leaves behind is what the next one finds. (Loops in a second turn
  // were gone through before.)
  void blocks(std::span<const Block> list, int first, int end) {
    while (!list.empty()) {
      const Block& block = list[0];
      const InnerBlocks inside = inside_first(list);
      if (first > block.first || block.first > block.middle || block.middle > block.end || block.end > end) {
        fail("block {} is not inside of the one around it", block.label);
      }
      calls(first, block.first);
      const bool before = second_turn_;
      for (int turn = 0; turn < (block.repeats() && !before ? 2 : 1); ++turn) {
        second_turn_ = before || turn > 0;
        if (block.kind == Block::Kind::branch) check_condition(block);
        blocks(inside.before, block.first, block.middle);
        if (block.kind == Block::Kind::loop) check_condition(block);
        blocks(inside.after, block.middle, block.end);
      }
      second_turn_ = before;
      first = block.end;
      list = list.subspan(1 + inside.count());
    }
    calls(first, end);
  }
  void check_condition(const Block& block) {
    const Storage::Kind kind = schedule_.storages[block.condition.storage].kind;
    if (kind != Storage::Kind::intermediate && kind != Storage::Kind::output) return;
    if (!holds(region(block.condition.storage))) fail("the condition of {} is not there", block.label);
  }
  void calls(int first, int end) {
    for (int s = first; s < end; ++s) call(static_cast<std::size_t>(s));
  }
  void call(std::size_t s) {
    call_ = &schedule_.calls[s];
    step_ = s;
    std::vector<Region> reads, writes;
    for (const int id : call_->reads()) add(reads, id);
    for (const int id : call_->writes()) add(writes, id);
    for (const Region& r : reads) {
      const Storage::Kind source = schedule_.storages[r.storage].kind;
      const bool from_outside = (source == Storage::Kind::input && !donors_.contains(r.storage)) ||
                                source == Storage::Kind::constant || source == Storage::Kind::number;
      if (!from_outside && !is_donor(r) && !holds(r))
        fail("storage {} is not written yet, or was overwritten", r.storage);
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
    for (const Region& w : writes) hold(w);
  }

  // Inputs, outputs and constants have negative numbers; a donated input's is that of its output.
  Region region(int id) {
    const Storage& storage = schedule_.storages[id];
    if (storage.kind != Storage::Kind::intermediate) {
      return {-1 - (storage.donor >= 0 ? storage.donor : id), 0, std::max<std::uint64_t>(storage.bytes, 1), id};
    }
    const int item = planned_.item_of[id];
    if (item < 0) fail("storage {} has no location", id);
    const Location& location = planned_.plan.locations[item];
    const Region r{location.buffer, location.offset, location.offset + storage.bytes, id};
    if (location.buffer < 0 || location.buffer >= static_cast<int>(planned_.plan.buffers.size()) ||
        r.end > planned_.plan.buffers[location.buffer] || location.offset % kPlanAlignment != 0) {
      fail("storage {} leaves its buffer", id);
    }
    return r;
  }
  // True if the step may write `w` over `r`: the same range of memory, and an op that supports it.
  bool in_place(const Region& r, const Region& w) const {
    if (r.begin != w.begin || r.end != w.end) return false;
    bool found = false;  // scratch is no output
    for (const StoredView& y : call_->outputs) {
      if (y.storage != w.storage) continue;
      found = true;
      if (!reads_in_place(*call_, r.storage, y)) return false;
    }
    return found;
  }
  void add(std::vector<Region>& list, int id) {
    if (schedule_.storages[id].bytes > 0) list.push_back(region(id));
  }
  bool holds(const Region& r) const {
    const auto there = held_.find(r.buffer);
    if (there == held_.end()) return false;
    const auto it = there->second.find(r.begin);
    return it != there->second.end() && it->second.storage == r.storage && it->second.end == r.end;
  }
  // Whether it is an output that begins as the donated input in whose memory it is, and no step has written it yet:
  // that of a loop whose first value the input is, or of a graph that gives the input unchanged.
  bool is_donor(const Region& r) {
    const int donor = schedule_.storages[r.storage].donor;
    return donor >= 0 && holds(region(donor));
  }
  // What was there is there no more.
  void hold(const Region& r) {
    auto& there = held_[r.buffer];
    auto it = there.lower_bound(r.begin);
    if (it != there.begin() && std::prev(it)->second.end > r.begin) --it;
    while (it != there.end() && it->second.begin < r.end) it = there.erase(it);
    there.emplace(r.begin, r);
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
  bool second_turn_ = false;
  std::unordered_map<int, std::map<std::uint64_t, Region>> held_;  // of each buffer, by where they begin
  std::set<int> donors_;
};

}  // namespace

void verify_schedule(const Schedule& schedule, const PlannedSchedule& planned) { Verifier(schedule, planned).run(); }

}  // namespace weft::compiler

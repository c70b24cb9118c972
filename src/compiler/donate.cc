#include "compiler/donate.h"

#include <algorithm>
#include <format>
#include <ranges>
#include <set>
#include <unordered_map>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/nearest.h"
#include "graph/node.h"
#include "ops/elementwise.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

using PortIndices = std::unordered_map<std::string_view, int>;

PortIndices indices_of(std::span<const Port> ports) {
  PortIndices indices;
  for (std::size_t i = 0; i < ports.size(); ++i) indices.emplace(ports[i].name, static_cast<int>(i));
  return indices;
}

int find(const PortIndices& indices, std::span<const Port> ports, std::string_view what, const std::string& name) {
  const auto it = indices.find(name);
  if (it != indices.end()) return it->second;
  std::vector<std::string_view> names;
  for (const Port& port : ports) names.push_back(port.name);
  throw InvalidArgument("donate: the graph has no {} {}{}", what, in_quotes(name), names_there_are(name, names));
}

bool reads(const ScheduledCall& call, int storage) {
  return std::ranges::any_of(call.inputs, [&](const StoredView& o) { return o.storage == storage; });
}

class Donations {
 public:
  explicit Donations(Schedule& schedule) : schedule_(schedule) {
    for (std::size_t id = 0; id < schedule.storages.size(); ++id) {
      const Storage& s = schedule.storages[id];
      auto* list = s.kind == Storage::Kind::input ? &inputs_ : s.kind == Storage::Kind::output ? &outputs_ : nullptr;
      if (!list) continue;
      list->resize(std::max<std::size_t>(list->size(), static_cast<std::size_t>(s.index) + 1), -1);
      (*list)[static_cast<std::size_t>(s.index)] = static_cast<int>(id);
    }
  }

  std::vector<Donation> run(std::span<const std::pair<std::string, std::string>> pairs) {
    const PortIndices in = indices_of(schedule_.inputs), out = indices_of(schedule_.outputs);
    for (const auto& [input, output] : pairs) {
      const int i = find(in, schedule_.inputs, "input", input), o = find(out, schedule_.outputs, "output", output);
      const TensorType &from = schedule_.inputs[i].type, &to = schedule_.outputs[o].type;
      if (from != to) {
        throw InvalidArgument("donate: input {} is {}, output {} is {}; expected one type", in_quotes(input),
                              to_string(from), in_quotes(output), to_string(to));
      }
      Storage& result = schedule_.storages[outputs_[o]];
      if (result.donor >= 0) throw InvalidArgument("donate: output {} is given two inputs", in_quotes(output));
      result.donor = inputs_[i];
      if (!donors_.insert(inputs_[i]).second) {
        throw InvalidArgument("donate: input {} is given to two outputs", in_quotes(input));
      }
      pairs_.push_back({inputs_[i], outputs_[o]});
    }
    // Moves change what lies between other calls, so all come before the decisions.
    find_calls();
    for (const Pair& p : pairs_) move_behind_readers(p);
    std::vector<Donation> result;
    std::vector<Pair> obstructed;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const std::string why = obstacle(pairs_[k]);
      if (!why.empty()) obstructed.push_back(pairs_[k]);
      result.push_back({pairs[k].first, pairs[k].second, why.empty(), why});
    }
    copy_at_the_end(obstructed);
    drop_idle_copies();
    return result;
  }

 private:
  struct Pair {
    int input, output;  // storages
  };

  // Of each storage the first call that writes it, and the last one that reads it; -1: none does.
  void find_calls() {
    writer_.assign(schedule_.storages.size(), -1);
    reader_.assign(schedule_.storages.size(), -1);
    for (int i = 0; i < static_cast<int>(schedule_.calls.size()); ++i) {
      for (const StoredView& o : schedule_.calls[i].outputs) {
        if (writer_[o.storage] < 0) writer_[o.storage] = i;
      }
      for (const StoredView& o : schedule_.calls[i].inputs) reader_[o.storage] = i;
    }
    for (const Block& b : schedule_.blocks) {
      if (b.kind == Block::Kind::turns) continue;
      int& reader = reader_[b.condition.storage];
      reader = std::max(reader, b.kind == Block::Kind::branch ? b.first : b.middle);
    }
  }

  // Moves the call that writes the output behind the last one that reads the input, if none in between needs what it
  // writes or overwrites what it reads.
  void move_behind_readers(const Pair& p) {
    const int writer = writer_[p.output], reader = reader_[p.input];
    if (writer < 0 || writer >= reader) return;
    const auto holds_some = [&](const Block& b) { return b.first <= reader && b.end > writer; };
    if (std::ranges::any_of(schedule_.blocks, holds_some)) return;
    const ScheduledCall& moved = schedule_.calls[writer];
    for (int i = writer + 1; i <= reader; ++i) {
      const ScheduledCall& other = schedule_.calls[i];
      for (const StoredView& o : moved.outputs) {
        if (reads(other, o.storage)) return;
      }
      for (const StoredView& o : other.outputs) {
        const int donor = schedule_.storages[o.storage].donor;
        if (donor >= 0 && reads(moved, donor)) return;
      }
    }
    const auto begin = schedule_.calls.begin() + writer;
    std::rotate(begin, begin + 1, schedule_.calls.begin() + reader + 1);
    find_calls();
  }

  // Why the call that writes the output may not write it where the input lies; empty: it may.
  std::string obstacle(const Pair& p) const {
    const int writer = writer_[p.output], reader = reader_[p.input];
    if (writer < 0 || reader < writer) return {};
    if (reader > writer) return std::format("{} still reads the input", schedule_.calls[reader].label);
    const ScheduledCall& call = schedule_.calls[writer];
    const auto result = std::ranges::find(call.outputs, p.output, &StoredView::storage);
    return reads_in_place(call, p.input, *result) ? std::string()
                                                  : std::format("{} does not compute in place", call.label);
  }

  // Intermediates take the outputs' place in all calls.
  void copy_at_the_end(std::span<const Pair> pairs) {
    std::unordered_map<int, int> instead;
    for (const Pair& p : pairs) {
      instead.emplace(p.output, static_cast<int>(schedule_.storages.size()));
      schedule_.storages.push_back({.bytes = schedule_.storages[p.output].bytes});
    }
    for (ScheduledCall& call : schedule_.calls) {
      for (auto* operands : {&call.inputs, &call.outputs}) {
        for (StoredView& o : *operands) {
          if (const auto it = instead.find(o.storage); it != instead.end()) o.storage = it->second;
        }
      }
    }
    for (Block& b : schedule_.blocks) {
      if (const auto it = instead.find(b.condition.storage); it != instead.end()) b.condition.storage = it->second;
    }
    for (const Pair& p : pairs) {
      const Port& port = schedule_.outputs[schedule_.storages[p.output].index];
      ScheduledCall copy;
      copy.op = copy_op(port.type.dtype);
      copy.label = std::format("copy {} to {}", to_string(port.type.shape), in_quotes(port.name));
      const Layout dense = Layout::dense(port.type.shape);
      copy.inputs.push_back({instead.at(p.output), 0, port.type.dtype, dense});
      copy.outputs.push_back({p.output, 0, port.type.dtype, dense});
      schedule_.calls.push_back(std::move(copy));
    }
  }

  // An output that is the input unchanged is there already.
  void drop_idle_copies() {
    const auto is_idle = [&](const ScheduledCall& call) {
      if (call.inputs.size() != 1 || call.outputs.size() != 1) return false;
      const StoredView &x = call.inputs[0], &y = call.outputs[0];
      const Expression* e = call.op->elementwise();
      return e && schedule_.storages[y.storage].donor == x.storage && *e == *copy_op(x.dtype)->elementwise() &&
             same_view(x, y);
    };
    std::vector<int> before{0};  // of each call, and of the end, how many stay in front of it
    for (const ScheduledCall& call : schedule_.calls) before.push_back(before.back() + (is_idle(call) ? 0 : 1));
    for (Block& b : schedule_.blocks) {
      for (int* at : {&b.first, &b.middle, &b.end}) *at = before[static_cast<std::size_t>(*at)];
    }
    std::erase_if(schedule_.blocks, [](const Block& b) { return b.first == b.end; });
    std::erase_if(schedule_.calls, is_idle);
  }

  Schedule& schedule_;
  std::vector<int> inputs_, outputs_;  // storages by port, -1 if there is none
  std::set<int> donors_;
  std::vector<int> writer_, reader_;  // of find_calls
  std::vector<Pair> pairs_;
};

}  // namespace

std::vector<Donation> donate(Schedule& schedule, std::span<const std::pair<std::string, std::string>> pairs) {
  return Donations(schedule).run(pairs);
}

}  // namespace weft::compiler

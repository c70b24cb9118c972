// Long rows: a radix sort, least significant digit first, eight bits a pass. A pass counts each tile's digits, sums the
// counts of the tiles before, and moves the elements to their places.
#include "kernels/sort/sort.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kDigits = 256;

struct Plan {
  int passes;
  std::uint32_t workgroup, lane_group;
  bool cluster;  // groups are subgroups
  std::int64_t tile, tiles;
  DType key;
  // Byte offsets in scratch; keys and indices of odd and even passes.
  std::array<std::uint64_t, 2> keys{}, places{};
  std::uint64_t counts = 0, totals = 0, bytes = 0;
};

Plan make_plan(const gpu::Capabilities& can, const SortProblem& p) {
  Plan plan{};
  plan.passes = static_cast<int>(ceil_div(p.rule.kind == KeyRule::Kind::boolean ? 1 : p.rule.bits, 8));
  // A pass must not write what it reads; a second one, past the keys' bits, moves everything back, in order.
  if (p.in_place) plan.passes = std::max(plan.passes, 2);
  plan.key = p.rule.bits == 64 ? DType::u64 : DType::u32;
  // Ballots need complete subgroups of a known size.
  plan.cluster =
      can.subgroups && can.subgroup_min == can.subgroup_max && can.subgroup_min >= 4 && can.subgroup_max <= 32;
  plan.lane_group = plan.cluster ? can.subgroup_min : 32;
  plan.workgroup = std::min({std::bit_floor(can.max_workgroup_size), 256u, plan.cluster ? 8 * plan.lane_group : 128u});
  const std::uint32_t words = can.max_workgroup_memory / 4 - 3 * kDigits;
  // Rounds are unrolled, which compiles slowly where the device is a CPU.
  plan.tile = static_cast<std::int64_t>(plan.workgroup) * std::min(words / plan.workgroup, can.software ? 4u : 16u);
  plan.tiles = ceil_div(p.length, plan.tile);

  const auto take = [&](std::uint64_t bytes) {
    const std::uint64_t at = plan.bytes;
    plan.bytes += list_size(bytes);
    return at;
  };
  const auto elements = static_cast<std::uint64_t>(p.rows * p.length);
  for (int k = 0; k < std::min(plan.passes - 1, 2); ++k) {
    plan.keys[k] = take(byte_size(plan.key, elements));
    if (p.indices) plan.places[k] = take(elements * 4);
  }
  plan.counts = take(static_cast<std::uint64_t>(p.rows * kDigits * plan.tiles) * 4);
  plan.totals = take(static_cast<std::uint64_t>(p.rows * kDigits) * 4);
  return plan;
}

class RadixSort {
 public:
  RadixSort(gpu::Commands& commands, const SortProblem& problem, const View& scratch)
      : commands_(commands),
        p_(problem),
        memory_(scratch),
        plan_(make_plan(commands.device().capabilities(), problem)) {}

  void run() {
    for (int pass = 0; pass < plan_.passes; ++pass) {
      count(pass);
      scan();
      scatter(pass);
    }
  }

 private:
  View part(std::uint64_t offset, DType type, std::int64_t count) const {
    return {memory_.buffer, memory_.offset + offset, type, {count}};
  }
  View counts() const { return part(plan_.counts, DType::u32, p_.rows * kDigits * plan_.tiles); }
  View totals() const { return part(plan_.totals, DType::u32, p_.rows * kDigits); }
  // The results of a pass for the next one.
  View keys(int pass) const { return part(plan_.keys[pass % 2], plan_.key, p_.rows * p_.length); }
  View places(int pass) const { return part(plan_.places[pass % 2], DType::u32, p_.rows * p_.length); }

  void add_elements(Call& call, int pass) const {
    call.iterate(p_.outer.shape);
    if (pass == 0)
      add_input(call, p_);
    else
      call.read("keys_in", keys(pass - 1));
    p_.rule.add_to(call);
    call.include("radix_digit").set("first_pass", pass == 0).index_param("shift", 8 * pass);
    call.set("workgroup", plan_.workgroup).set("tile", plan_.tile);
    call.index_param("rows", p_.rows).index_param("length", p_.length).index_param("tiles", plan_.tiles);
  }

  void count(int pass) const {
    Call call(commands_, "radix_count");
    add_elements(call, pass);
    call.write("counts", counts());
    call.dispatch_groups("radix_count", p_.rows * plan_.tiles);
  }

  void scan() const {
    Call call(commands_, "radix_scan");
    const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
    const std::int64_t lists = p_.rows * kDigits;
    const bool serial = plan_.tiles <= 32;
    call.read_write("counts", counts()).write("totals", totals()).set("serial", serial).set("workgroup", workgroup);
    call.index_param("lists", lists).index_param("tiles", plan_.tiles);
    call.dispatch_groups("radix_scan", serial ? ceil_div(lists, workgroup) : lists);
  }

  void scatter(int pass) const {
    Call call(commands_, "radix_scatter");
    const bool last = pass + 1 == plan_.passes;
    if (plan_.cluster) call.enable("subgroups");
    add_elements(call, pass);
    call.read("counts", counts()).read("totals", totals());
    if (pass > 0 && p_.indices) call.read("places_in", places(pass - 1));
    if (!last) {
      call.write("keys_out", keys(pass));
      if (p_.indices) call.write("places_out", places(pass));
    }
    add_outputs(call, p_, last);
    const bool given = pass == 0 && p_.indices && p_.given_places;
    call.set("given", given).set("long_given", given && bits(p_.given_places->dtype) == 64);
    if (given) {
      call.read("given", *p_.given_places).index_param("given_step", p_.given_places->strides()[0]);
    }
    call.set("payload", p_.indices.has_value())
        .set("last_pass", last)
        .set("cluster", plan_.cluster)
        .set("lane_group", plan_.lane_group);
    call.index_param("keep", p_.keep);
    call.dispatch_groups("radix_scatter", p_.rows * plan_.tiles);
  }

  gpu::Commands& commands_;
  const SortProblem& p_;
  const View& memory_;
  const Plan plan_;
};

}  // namespace

std::uint64_t radix_scratch(const gpu::Capabilities& capabilities, const SortProblem& problem) {
  return make_plan(capabilities, problem).bytes;
}

void radix_sort(gpu::Commands& commands, const SortProblem& problem, const View& scratch) {
  RadixSort(commands, problem, scratch).run();
}

}  // namespace weft::kernels

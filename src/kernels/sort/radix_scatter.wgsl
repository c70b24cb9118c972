{#
  Moves a tile's elements to their places by their digit, in order: behind the elements of lower digits and those of
  the same digit in earlier tiles. A group of `lane_group` threads takes adjacent elements, one each in a round, and counts
  how many of the group's earlier ones have the same digit: by subgroup ballots if groups are subgroups, else by
  setting its bit in a mask of the digit. Then the tile is sorted in workgroup memory, so that adjacent threads store
  adjacent elements.

  options:
    has_values: flag
    long_indices: flag
    given: flag
    long_given: flag
    payload: flag
    last_pass: flag
    cluster: flag
    lane_group: 4, 8, 16, 32
#}
{% set lane_groups = workgroup // lane_group %}
{% set rounds = tile // workgroup %}
{% set counters = lane_groups * 256 %}
{% set pool = counters if cluster else 3 * counters %}
{% if pool < tile %}{% set pool = tile %}{% endif %}
var<workgroup> pool: array<atomic<u32>, {{ pool }}>;   // counters (and masks); later the sorted tile
var<workgroup> scans: array<vec2<u32>, 256>;   // for each digit: elements of the tile, of the row
var<workgroup> bases: array<u32, 256>;         // target of a digit's elements, minus their start in the tile

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
{% if cluster %}
        @builtin(subgroup_id) own_group: u32, @builtin(subgroup_invocation_id) lane: u32) {
  let tid = own_group * {{ lane_group }}u + lane;
{% else %}
        @builtin(local_invocation_index) tid: u32) {
  let own_group = tid / {{ lane_group }}u;
  let lane = tid % {{ lane_group }}u;
{% endif %}
  for (var i = tid; i < {{ counters if cluster else 3 * counters }}u; i += {{ workgroup }}u) { atomicStore(&pool[i], 0u); }
  let group = min(group_index(wg, n), p.rows * p.tiles - 1u);
  let live = group_index(wg, n) < p.rows * p.tiles;
  let row = group / p.tiles;
  let tile = group % p.tiles;
  let valid = min({{ tile }}u, p.length - tile * {{ tile }}u);
  let first = own_group * {{ lane_group * rounds }}u + lane;   // within the tile
  let start = tile * {{ tile }}u;
{% for r in range(rounds) %}
  let i{{ r }} = first + {{ r * lane_group }}u;
  let raw{{ r }} = {{ load_raw("row", "start + min(i" ~ r ~ ", valid - 1u)") }};
{% if given %}
  let place{{ r }} = u32(load_given((start + min(i{{ r }}, valid - 1u)) * p.given_step){{ ".x" if long_given }});
{% elif payload and not first_pass %}
  let place{{ r }} = load_places_in(row * p.length + start + min(i{{ r }}, valid - 1u));
{% endif %}
{% endfor %}
  let earlier = (1u << lane) - 1u;
  workgroupBarrier();
{% for r in range(rounds) %}
  // Elements past the row's end come last.
  let digit{{ r }} = select(255u, digit_of(raw{{ r }}), i{{ r }} < valid);
  let counter{{ r }} = own_group * 256u + digit{{ r }};
{% if cluster %}
  var peers{{ r }} = subgroupBallot(true).x;
  for (var b = 0u; b < 8u; b++) {
    let one = ((digit{{ r }} >> b) & 1u) != 0u;
    let ballot = subgroupBallot(one).x;
    peers{{ r }} &= select(~ballot, ballot, one);
  }
  let leader{{ r }} = countTrailingZeros(peers{{ r }});
  var before{{ r }} = 0u;
  if (lane == leader{{ r }}) { before{{ r }} = atomicAdd(&pool[counter{{ r }}], countOneBits(peers{{ r }})); }
  let rank{{ r }} = subgroupShuffle(before{{ r }}, leader{{ r }}) + countOneBits(peers{{ r }} & earlier);
{% else %}
  let mask{{ r }} = {{ (1 + r % 2) * counters }}u + counter{{ r }};
  let before{{ r }} = atomicLoad(&pool[counter{{ r }}]);
  atomicOr(&pool[mask{{ r }}], 1u << lane);
  workgroupBarrier();
{% if r > 0 %}
  atomicStore(&pool[mask{{ r - 1 }}], 0u);   // reused in the next round but one
{% endif %}
  let peers{{ r }} = atomicLoad(&pool[mask{{ r }}]);
  let rank{{ r }} = before{{ r }} + countOneBits(peers{{ r }} & earlier);
  if ((peers{{ r }} & earlier) == 0u) { atomicStore(&pool[counter{{ r }}], before{{ r }} + countOneBits(peers{{ r }})); }
  workgroupBarrier();
{% endif %}
{% endfor %}
{% if cluster %}
  workgroupBarrier();
{% endif %}

  // Counters become sums over the earlier groups, scans sums over the lower digits.
  for (var d = tid; d < 256u; d += {{ workgroup }}u) {
    var sum = 0u;
    for (var s = 0u; s < {{ lane_groups }}u; s++) {
      let count = atomicLoad(&pool[s * 256u + d]);
      atomicStore(&pool[s * 256u + d], sum);
      sum += count;
    }
    scans[d] = vec2<u32>(sum, load_totals(row * 256u + d));
    bases[d] = load_counts((row * 256u + d) * p.tiles + tile);
  }
  var own: array<vec2<u32>, {{ 256 // workgroup }}>;
  var through: array<vec2<u32>, {{ 256 // workgroup }}>;
  for (var k = 0u; k < {{ 256 // workgroup }}u; k++) {
    own[k] = scans[tid + k * {{ workgroup }}u];
    through[k] = own[k];
  }
  for (var distance = 1u; distance < 256u; distance *= 2u) {
    workgroupBarrier();
    for (var k = 0u; k < {{ 256 // workgroup }}u; k++) {
      let d = tid + k * {{ workgroup }}u;
      if (d >= distance) { through[k] += scans[d - distance]; }
    }
    workgroupBarrier();
    for (var k = 0u; k < {{ 256 // workgroup }}u; k++) { scans[tid + k * {{ workgroup }}u] = through[k]; }
  }
  for (var k = 0u; k < {{ 256 // workgroup }}u; k++) {
    let d = tid + k * {{ workgroup }}u;
    let below = through[k] - own[k];
    bases[d] += below.y - below.x;
    scans[d] = below;   // the sums are not read any more
  }
  workgroupBarrier();
{% for r in range(rounds) %}
  let slot{{ r }} = scans[digit{{ r }}].x + atomicLoad(&pool[counter{{ r }}]) + rank{{ r }};
{% endfor %}
  workgroupBarrier();

  // The sorted tile; slot i goes to bases[digit] + i.
{% set words = ["x", "y"] if key_bits == 64 else [""] %}
{% for w in words %}
{% for r in range(rounds) %}
  atomicStore(&pool[slot{{ r }}], raw{{ r }}{{ "." + w if w else "" }});
{% endfor %}
  workgroupBarrier();
{% for r in range(rounds) %}
  let sorted{{ w }}{{ r }} = atomicLoad(&pool[tid + {{ r * workgroup }}u]);
{% endfor %}
  workgroupBarrier();
{% endfor %}
{% for r in range(rounds) %}
  let key{{ r }} = {{ "vec2<u32>(sortedx" ~ r ~ ", sortedy" ~ r ~ ")" if key_bits == 64 else "sorted" ~ r }};
  let target{{ r }} = bases[digit_of(key{{ r }})] + tid + {{ r * workgroup }}u;
  let stored{{ r }} = live && tid + {{ r * workgroup }}u < valid{% if last_pass %} && target{{ r }} < p.keep{% endif %};
{% endfor %}
{% if last_pass %}
  let c = coords(row);
{% endif %}
{% if has_values or not last_pass %}
{% for r in range(rounds) %}
{% if last_pass %}
  if (stored{{ r }}) { store_values(at_values(c) + target{{ r }} * p.values_step, key{{ r }}); }
{% else %}
  if (stored{{ r }}) { store_keys_out(row * p.length + target{{ r }}, key{{ r }}); }
{% endif %}
{% endfor %}
{% endif %}
{% if payload %}
{% for r in range(rounds) %}
  atomicStore(&pool[slot{{ r }}], {{ "p.first_place + start + i" ~ r if first_pass and not given else "place" ~ r }});
{% endfor %}
  workgroupBarrier();
{% for r in range(rounds) %}
  if (stored{{ r }}) {
    let place = atomicLoad(&pool[tid + {{ r * workgroup }}u]);
{% if last_pass %}
    store_indices(at_indices(c) + target{{ r }} * p.indices_step, {{ "vec2<u32>(place, 0u)" if long_indices else "indices_t(place)" }});
{% else %}
    store_places_out(row * p.length + target{{ r }}, place);
{% endif %}
  }
{% endfor %}
{% endif %}
}

{# Stages `count` and `compress` of compact.wgsl for a mask, elements and a list that are contiguous: a thread takes
   `rounds` adjacent elements, and the counts of the threads before it say where its chosen ones go. They are collected
   in workgroup memory, one element a word, from which whole words of the list are stored. #}
{% set segments = workgroup // 16 %}
var<workgroup> counts: array<u32, {{ workgroup }}>;       // of threads; then the sum of those before in the segment
var<workgroup> segments: array<u32, {{ segments }}>;      // of 16 threads each
{% if form == "compress" %}
{% set per = 32 // bits %}
// Padded by a word every 32, so that threads whose elements are 16 apart access different banks.
fn place_of(k: u32) -> u32 { return k + (k >> 5u); }
var<workgroup> stage: array<u32, {{ (rounds * workgroup + 32) // 32 * 33 }}>;
{% endif %}

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = group_index(wg, n);
  if (group >= p.groups) { return; }
  let first = (group * {{ workgroup }}u + lane) * {{ rounds }}u;
{% for r in range(rounds // 4) %}
  let at{{ r }} = min(first + {{ 4 * r }}u, p.elements - 4u);
  let m{{ r }} = load4_mask(at{{ r }});
{% endfor %}
{% if form == "compress" %}
{% for r in range(rounds // 4) %}
  let x{{ r }} = load4_x(at{{ r }});
{% endfor %}
{% endif %}
  var count = 0u;
{% for r in range(rounds // 4) %}
  let inside{{ r }} = first + {{ 4 * r }}u < p.elements;
{% for l in range(4) %}
  let c{{ 4 * r + l }} = inside{{ r }} && is_true(m{{ r }}[{{ l }}]);
  count += select(0u, 1u, c{{ 4 * r + l }});
{% endfor %}
{% endfor %}
  counts[lane] = count;
  workgroupBarrier();
  if (lane < {{ segments }}u) {
    var sum = 0u;
    for (var i = 0u; i < 16u; i++) {
      let here = counts[lane * 16u + i];
      counts[lane * 16u + i] = sum;
      sum += here;
    }
    segments[lane] = sum;
  }
  workgroupBarrier();
{% if form == "count" %}
  if (lane == 0u) {
    var sum = 0u;
    for (var i = 0u; i < {{ segments }}u; i++) { sum += segments[i]; }
    store_counts(group, sum);
  }
{% else %}
  var before = counts[lane];
  var all = 0u;
  for (var i = 0u; i < {{ segments }}u; i++) {
    if (i == lane / 16u) { before += all; }
    all += segments[i];
  }
  let base = load_counts(group){{ " + load_carry(0u)" if carried else "" }};
  let start = p.y_o + base;
  let misalignment = start % {{ per }}u;
  var k = misalignment + before;
{% for i in range(rounds) %}
  if (c{{ i }}) {
    stage[place_of(k)] = x{{ i // 4 }}[{{ i % 4 }}];
    k++;
  }
{% endfor %}
  if (group + 1u == p.groups && lane == 0u) { store_total(0u, base + all); }
  workgroupBarrier();
  let end = misalignment + min(all, p.list_size - min(base, p.list_size));
  for (var w = lane; w * {{ per }}u < end; w += {{ workgroup }}u) {
    let value = {% for i in range(per) %}{{ " | " if i }}(stage[place_of(w * {{ per }}u + {{ i }}u)] << {{ i * bits }}u){% endfor %};
{{ put_word() }}
  }
{% endif %}
}

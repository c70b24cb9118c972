{#
  The best `keep` elements of each part of each row, in order. A tile of workgroup memory holds the best so far,
  followed by later elements that beat the worst of those; a full tile is sorted, and its best are kept. Elements are
  processed in the order of their indices, so that the first of equal ones is kept. `listed`: a row's elements are
  those whose indices a list gives. Not `last`: the result is such a list.

  options:
    per_round: number
    listed: flag
    last: flag
#}
var<workgroup> found: atomic<u32>;
var<workgroup> found_in_all: u32;

@compute @workgroup_size({{ workgroup }})
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>,
        @builtin(local_invocation_index) tid: u32) {
  let group = group_index(wg, n);
  let row = min(group / p.parts, p.rows - 1u);
  let part = group % p.parts;
  let c = coords(row);
  let x0 = at_x(c);
  let end = min((part + 1u) * p.part_length, p.length);
  var held = 0u;         // number of pairs in the tile
  var worst = last_key;  // the last of the best, if there are enough
  var enough = false;
  for (var base = part * p.part_length; base < end; base += {{ per_round }}u) {
    if (held + {{ per_round }}u > {{ tile }}u) {
      for (var i = held + tid; i < {{ tile }}u; i += {{ workgroup }}u) { keys[i] = last_key; places[i] = nowhere; }
      sort_tile(tid, {{ tile }}u);
      held = p.keep;
      worst = keys[p.keep - 1u];
      enough = true;
    }
    if (tid == 0u) { atomicStore(&found, held); }
    workgroupBarrier();
{% for e in range(per_round // workgroup) %}
    let j{{ e }} = base + {{ e * workgroup }}u + tid;
{% if listed %}
    let place{{ e }} = load_list(row * p.length + min(j{{ e }}, end - 1u));
    let there{{ e }} = j{{ e }} < end && place{{ e }} != nowhere;
    let raw{{ e }} = load_x(x0 + select(0u, place{{ e }}, there{{ e }}) * p.x_step);
{% else %}
    let place{{ e }} = j{{ e }};
    let there{{ e }} = j{{ e }} < end;
    let raw{{ e }} = load_x(x0 + min(j{{ e }}, end - 1u) * p.x_step);
{% endif %}
{% endfor %}
{% for e in range(per_round // workgroup) %}
    let key{{ e }} = ordered_key(raw{{ e }});
    if (there{{ e }} && (!enough || {{ "less_u64(key" ~ e ~ ", worst)" if key_bits == 64 else "key" ~ e ~ " < worst" }})) {
      let slot = atomicAdd(&found, 1u);
      keys[slot] = key{{ e }};
      places[slot] = place{{ e }};
    }
{% endfor %}
    workgroupBarrier();
    if (tid == 0u) { found_in_all = atomicLoad(&found); }
    held = workgroupUniformLoad(&found_in_all);
  }
  for (var i = held + tid; i < {{ tile }}u; i += {{ workgroup }}u) { keys[i] = last_key; places[i] = nowhere; }
  sort_tile(tid, {{ tile }}u);
  if (group >= p.rows * p.parts) { return; }
  for (var j = tid; j < p.keep; j += {{ workgroup }}u) {
{% if last %}
    store_result(c, j, places[j]);
{% else %}
    store_best(group * p.keep + j, places[j]);
{% endif %}
  }
}

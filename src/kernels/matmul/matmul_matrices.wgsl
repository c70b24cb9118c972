{#
  Matrix product on cooperative-matrix units. A workgroup computes tile_m × tile_n elements, each of its subgroups sub_m ×
  sub_n of them as matrices of unit_m × unit_n; k is walked in steps of tile_k. The next step's operands are on their way
  to registers while this step's, in workgroup memory, are multiplied.

  type: of the operands, f16 or i8. Workgroup memory holds them as `cell`s (f16; four i8 in a u32), the units of all
  offsets and pitches there. Tiles keep the order that the operands have in memory: rows of k (x_along_k) or of m or n;
  each row is 16 bytes longer than its content, so that the matrix units' reads fall on all banks.

  x_width: elements of a load: 16 bytes of them, or 1. With rows of 64 (32) bytes the eight invocations that store
  together take rows 4 (2) apart, which fall on different banks.

  Matrices give no access to single elements: results leave through workgroup memory, a row of matrices at a time.

  Out-of-range rows and columns are clamped (what they give is never stored), out-of-range k gives zero.
#}
{% set per_cell = 4 if type == 'i8' else 1 %}
{% set cell = 'u32' if type == 'i8' else 'f16' %}
{% set wide = 16 if type == 'i8' else 8 %}
{# elements of 16 bytes #}
{% set subgroups_n = tile_n // sub_n %}
{% set subgroups = tile_m // sub_m * subgroups_n %}
{% set rows = sub_m // unit_m %}
{% set cols = sub_n // unit_n %}
{% set pitch_a = ((tile_k if a_along_k else tile_m) + wide) // per_cell %}
{% set pitch_b = ((tile_k if b_along_k else tile_n) + wide) // per_cell %}
{% set pitch_sums = sub_n + 4 %}
var<workgroup> tile_a: array<{{ cell }}, {{ pitch_a * (tile_m if a_along_k else tile_k) }}>;
var<workgroup> tile_b: array<{{ cell }}, {{ pitch_b * (tile_n if b_along_k else tile_k) }}>;
var<workgroup> sums: array<{{ product }}, {{ subgroups * unit_m * pitch_sums }}>;

@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>, @builtin(subgroup_id) subgroup: u32) {
  let group = group_index(wg, groups);
  if (group >= p.groups) { return; }
  let at = place(group);
  let c = coords(at.batch);
{% if splits %}
  let k_begin = min(at.slice * p.slice_k, p.k);
  let k_end = min(k_begin + p.slice_k, p.k);
{% else %}
  let k_begin = 0u;
  let k_end = p.k;
{% endif %}
  let steps = (k_end - k_begin + {{ tile_k - 1 }}u) / {{ tile_k }}u;

  // Where this invocation's part of each operand tile starts in memory, and where it goes in workgroup memory.
{% for x in ['a', 'b'] %}
{% set along_k = a_along_k if x == 'a' else b_along_k %}
{% set width = a_width if x == 'a' else b_width %}
{% set tile = tile_m if x == 'a' else tile_n %}
{% set pitch = pitch_a if x == 'a' else pitch_b %}
{% set origin = 'at.m0' if x == 'a' else 'at.n0' %}
{% set extent = 'p.m' if x == 'a' else 'p.n' %}
{% set chunks = (tile_k if along_k else tile) // width %}
{# of a row #}
{% set long = tile if along_k else tile_k %}
{# rows #}
{% set near = 8 // chunks if chunks < 8 and width > 1 and long % 8 == 0 else 1 %}
{# rows that store together, and how far they are apart #}
{% set apart = 8 // near if near > 1 else 1 %}
{% set parts = (chunks * long + threads - 1) // threads %}
{% for t in range(parts) %}
{% set s = x ~ t %}
  let id_{{ s }} = lid + {{ t * threads }}u;
{% if near > 1 %}
  let line_{{ s }} = id_{{ s }} / {{ 8 * chunks }}u * 8u + id_{{ s }} / {{ chunks }}u % {{ near }}u * {{ apart }}u + id_{{ s }} / {{ chunks * near }}u % {{ apart }}u;
{% else %}
  let line_{{ s }} = id_{{ s }} / {{ chunks }}u;
{% endif %}
  let part_{{ s }} = id_{{ s }} % {{ chunks }}u * {{ width }}u;
{% if along_k %}
  let k_{{ s }} = part_{{ s }};
  let w_{{ s }} = line_{{ s }};
{% else %}
  let k_{{ s }} = line_{{ s }};
  let w_{{ s }} = part_{{ s }};
{% endif %}
{% if width == 1 %}
  let to_{{ s }} = line_{{ s }} * {{ pitch }}u + part_{{ s }}{{ ' / 4u' if per_cell == 4 else '' }};
{% else %}
  let to_{{ s }} = line_{{ s }} * {{ pitch }}u + id_{{ s }} % {{ chunks }}u * {{ width // per_cell }}u;
{% endif %}
  var at_{{ s }} = at_{{ x }}(c) + min({{ origin }} + w_{{ s }}, {{ extent }} - {{ 1 if along_k else width }}u) * p.{{ x }}_w + (k_begin + k_{{ s }}) * p.{{ x }}_k;
{% if width > 1 %}
  at_{{ s }} = at_{{ s }} / {{ width }}u + p.{{ x }}_o;
{% endif %}
  var next_{{ s }}: {{ 'vec4<u32>' if width > 1 else 'f16' }};
{% endfor %}
{% endfor %}
{% macro fetch(k) %}
{% for x in ['a', 'b'] %}
{% set along_k = a_along_k if x == 'a' else b_along_k %}
{% set width = a_width if x == 'a' else b_width %}
{% set count = (tile_m if x == 'a' else tile_n) * tile_k // width %}
{% for t in range((count + threads - 1) // threads) %}
{% set s = x ~ t %}
{% set value = x ~ '_buf[at_' ~ s ~ ']' if width > 1 else 'f16(load_' ~ x ~ '(at_' ~ s ~ '))' %}
{% if edge_k %}
    next_{{ s }} = {{ 'vec4<u32>()' if width > 1 else '0.0h' }};
    if ({{ k }} + k_{{ s }} < k_end) { next_{{ s }} = {{ value }}; }
{% else %}
    next_{{ s }} = {{ value }};
{% endif %}
    at_{{ s }} += {{ x }}_step;
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro stage() %}
{% for x in ['a', 'b'] %}
{% set width = a_width if x == 'a' else b_width %}
{% set count = (tile_m if x == 'a' else tile_n) * tile_k // width %}
{% set parts = (count + threads - 1) // threads %}
{% for t in range(parts) %}
{% set s = x ~ t %}
{% set guarded = count % threads != 0 and t == parts - 1 %}
    {{ 'if (id_' ~ s ~ ' < ' ~ count ~ 'u) ' if guarded else '' }}{
{% if width == 1 %}
      tile_{{ x }}[to_{{ s }}] = next_{{ s }};
{% elif type == 'i8' %}
{% for j in range(4) %}
      tile_{{ x }}[to_{{ s }} + {{ j }}u] = next_{{ s }}[{{ j }}];
{% endfor %}
{% else %}
{% for j in range(4) %}
      let h{{ j }} = bitcast<vec2<f16>>(next_{{ s }}[{{ j }}]);
{% endfor %}
{% for j in range(8) %}
      tile_{{ x }}[to_{{ s }} + {{ j }}u] = h{{ j // 2 }}[{{ j % 2 }}];
{% endfor %}
{% endif %}
    }
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro load(x, kind, across, k) %}
{% set along_k = a_along_k if x == 'a' else b_along_k %}
{% set pitch = pitch_a if x == 'a' else pitch_b %}
{% set shape = unit_k ~ ', ' ~ unit_m if x == 'a' else unit_n ~ ', ' ~ unit_k %}
{% set order = 'row_major' if (x == 'a') == along_k else 'col_major' %}
subgroupMatrixLoad<subgroup_matrix_{{ kind }}<{{ type }}, {{ shape }}>, {{ order }}>(&tile_{{ x }}, {% if along_k %}{{ across }} * {{ pitch }}u + {{ k // per_cell }}u{% else %}{{ k * pitch }}u + {{ across }}{{ ' / 4u' if per_cell == 4 else '' }}{% endif %}, {{ pitch }}u)
{%- endmacro %}

{% for x in ['a', 'b'] %}
  let {{ x }}_step = {{ tile_k }}u * p.{{ x }}_k{{ ' / ' ~ wide ~ 'u' if (a_width if x == 'a' else b_width) > 1 else '' }};
{% endfor %}
  let first_m = subgroup / {{ subgroups_n }}u % {{ tile_m // sub_m }}u * {{ sub_m }}u;
  let first_n = subgroup % {{ subgroups_n }}u * {{ sub_n }}u;
{% for i in range(rows) %}
{% for j in range(cols) %}
  var r{{ i }}_{{ j }}: subgroup_matrix_result<{{ product }}, {{ unit_n }}, {{ unit_m }}>;
{% endfor %}
{% endfor %}
{{ fetch('k_begin') }}
  for (var s = 0u; s < steps; s++) {
    workgroupBarrier();
{{ stage() }}
    workgroupBarrier();
    if (s + 1u < steps) {
{{ fetch('k_begin + (s + 1u) * ' ~ tile_k ~ 'u') }}
    }
{% for k in range(tile_k // unit_k) %}
    {
{% for i in range(rows) %}
      let a{{ i }} = {{ load('a', 'left', '(first_m + ' ~ i * unit_m ~ 'u)', k * unit_k) }};
{% endfor %}
{% for j in range(cols) %}
      let b{{ j }} = {{ load('b', 'right', '(first_n + ' ~ j * unit_n ~ 'u)', k * unit_k) }};
{% endfor %}
{% for i in range(rows) %}
{% for j in range(cols) %}
      r{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(a{{ i }}, b{{ j }}, r{{ i }}_{{ j }});
{% endfor %}
{% endfor %}
    }
{% endfor %}
  }

  let out = outputs(c, {{ 'at.slice' if splits else '0u' }});
{% for i in range(rows) %}
  workgroupBarrier();
{% for j in range(cols) %}
  subgroupMatrixStore<row_major>(&sums, subgroup % {{ subgroups }}u * {{ unit_m * pitch_sums }}u + {{ j * unit_n }}u, r{{ i }}_{{ j }}, {{ pitch_sums }}u);
{% endfor %}
  workgroupBarrier();
  for (var e = lid; e < {{ subgroups * unit_m * sub_n // 4 }}u; e += {{ threads }}u) {
    let owner = e / {{ unit_m * sub_n // 4 }}u;
    let row = e / {{ sub_n // 4 }}u % {{ unit_m }}u;
    let col = e % {{ sub_n // 4 }}u * 4u;
    let start = (owner * {{ unit_m }}u + row) * {{ pitch_sums }}u + col;
    store_result(out, at.m0 + owner / {{ subgroups_n }}u * {{ sub_m }}u + {{ i * unit_m }}u + row, at.n0 + owner % {{ subgroups_n }}u * {{ sub_n }}u + col,
                 vec4<{{ product }}>(sums[start], sums[start + 1u], sums[start + 2u], sums[start + 3u]));
  }
{% endfor %}
}

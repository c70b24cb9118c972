{#
  Matrix product on cooperative-matrix units. A workgroup computes tile_m × tile_n elements, each of its subgroups sub_m
  × sub_n of them as matrices of unit_m × unit_n. k is processed in steps of one or two stages of tile_k each. The next
  stage's operands are being loaded into registers while the current stage's, in workgroup memory, are multiplied.
  `spread` places these loads between the first products, in that many `shares`: all at once, they would delay the loads
  of matrices.

  type: of the operands, f16, i8 or u8. Workgroup memory holds them as `cell`s (f16; four bytes in a u32), the units of
  all offsets and pitches there. A tile consists of blocks, one for each row or column of subgroups: the offset of a
  matrix within its block is then a constant, so that neither Tint's bounds checks nor their choice of a stride prevent
  the GPU's wide load of a matrix. Blocks keep the operand's order in memory: rows of k (x_along_k) or of m or n, each
  padded by 16 bytes, so that reads use all banks.

  read: the operand, if one is, that a reader decodes; what it loads (Held8) is decoded when it is stored.

  x_width: elements of a load: 16 bytes of them, or 1. NVIDIA's compiler stores eight f16 as two times 8 bytes, which
  would access the same banks, 16 bytes apart. So workgroup memory has k in another order (`halves`; the sum is the
  same, since a and b agree): the first four of every eight, then the last four. Then the 8 bytes of adjacent threads
  are adjacent. Threads that store together (eight with 16 bytes each, sixteen with 8) take rows in different banks.

  stages: a row of tile_k elements may be half a cache line, which takes a GPU nearly as long to load as a whole one. So
  operands along k are loaded for a step of two stages: the first halves of all loads are multiplied in the first stage,
  the second halves stay in registers for the second. Operands across k load the rows of a stage (if their loads are
  eight elements: k 0…3, 8…11, 16…19 and so on) in the stage before.

  prefetch_stagger: workgroups that share a tile row of a or a tile column of b process k in step, and would all miss
  the same cache line at once. So of every `prefetch_stagger` workgroups each takes one step in `prefetch_stagger` that
  many steps early, each a different one: its miss is the others' hit. In the first round each begins at a different
  step. Loads then are fast, and must not be moved before the stores of their own step, as NVIDIA's compiler does: their
  address depends on a zero read from workgroup memory after the barrier.

  Results are stored through workgroup memory, since matrices give no access to single elements, and storing matrices
  directly to y takes longer (on an H200). `columns` matrices of `slots` subgroups are stored at a time: more memory
  would allow fewer workgroups (its driver gives 48 KiB to all workgroups of a core; two are 1.7 times as fast as one).

  window: the operand, if one is, whose rows are windows (conv/conv_windows.wgsl), which is loaded along k.
  whole_taps: a step of k is within one element of a window.

  x_edge: tiles extend past m (a) or n (b). Such rows and columns are clamped (their results are never stored), and k
  past its end is zero. 16-byte loads may extend past m, n or k where rows are longer in memory; past k they must find
  zeros.

  options:
    window: a, b, ''
    a_width: 1, 8, 16
    b_width: 1, 8, 16
    threads: number
    tile_k: number
    sub_m: number
    sub_n: number
    edge_k: flag
    whole_taps: flag
    sites: number
    read: a, b, ''
    columns: 1, 2
    slots: number
    prefetch_stagger: 0, number
    stages: 1, 2
    spread: flag
    shares: number
    a_edge: flag
    b_edge: flag
    inside: flag
    type: f16, i8, u8
    sum: f32, i32, u32
    unit_m: number
    unit_n: number
    unit_k: number
#}
{% set bytes = type != 'f16' %}
{% set per_cell = 4 if bytes else 1 %}
{% set cell = 'u32' if bytes else 'f16' %}
{% set wide = 16 if bytes else 8 %}
{# elements of 16 bytes #}
{% set half = wide // 2 %}
{% set halves = type == 'f16' and stages == 1 and a_width > 1 and b_width > 1 and (a_along_k or b_along_k) %}
{% set depth = tile_k * stages %}
{% set subgroups_n = tile_n // sub_n %}
{% set subgroups = tile_m // sub_m * subgroups_n %}
{% set rows = sub_m // unit_m %}
{% set cols = sub_n // unit_n %}
{% set span = columns * unit_n %}
{% set pitch_a = ((tile_k if a_along_k else sub_m) + wide) // per_cell %}
{% set pitch_b = ((tile_k if b_along_k else sub_n) + wide) // per_cell %}
{% set pitch_sums = span + 4 %}
var<workgroup> tile_a: array<array<{{ cell }}, {{ pitch_a * (sub_m if a_along_k else tile_k) }}>, {{ tile_m // sub_m }}>;
var<workgroup> tile_b: array<array<{{ cell }}, {{ pitch_b * (sub_n if b_along_k else tile_k) }}>, {{ subgroups_n }}>;
var<workgroup> sums: array<array<{{ sum }}, {{ unit_m * pitch_sums }}>, {{ slots }}>;
{% if prefetch_stagger %}
var<workgroup> zero: array<u32, 4>;

// The step of k that a workgroup takes t-th. whole: the steps of full rounds; the others come in order, the last one
// partial.
fn step_at(t: u32, turn: u32, whole: u32) -> u32 {
  let at = select(t, (t + turn + 1u) % {{ prefetch_stagger }}u, t < min({{ prefetch_stagger }}u, whole));
  let ahead = at + {{ prefetch_stagger }}u;
  return select(at, select(ahead, ahead - whole, ahead >= whole), at % {{ prefetch_stagger }}u == turn && at < whole);
}
{% endif %}

{# Subgroups store one after the other: the branch is uniform in each. #}
@diagnostic(off, chromium.subgroup_matrix_uniformity)
@compute @workgroup_size({{ threads }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>, @builtin(subgroup_id) subgroup: u32) {
{{ begin("k_begin") }}
  let length = k_end - k_begin;
  let steps = (length + {{ depth - 1 }}u) / {{ depth }}u;

{# Loads of a thread for a stage. #}
{% set loads = {'a': (tile_m * tile_k // a_width + threads - 1) // threads,
                'b': (tile_n * tile_k // b_width + threads - 1) // threads} %}
  // The start of this thread's part of each operand tile in memory, and its target in workgroup memory.
{% for x in ['a', 'b'] %}
{% set along_k = side[x].along_k %}
{% set width = side[x].width %}
{% set offset = 'p.' ~ x ~ '_o * ' ~ width ~ 'u + ' if width > 1 else '' %}
{% set tile = side[x].tile %}
{% set pitch = pitch_a if x == 'a' else pitch_b %}
{% set sub = sub_m if x == 'a' else sub_n %}
{% set edge = a_edge if x == 'a' else b_edge %}
{% set chunks = (depth if along_k else tile) // width %}
{# loads of a row #}
{% set long = tile if along_k else tile_k %}
{# the number of rows #}
{% set lanes_per_store = 16 if along_k and (halves or stages == 2) else 8 %}
{% set rows_per_store = lanes_per_store // chunks if chunks < lanes_per_store and width > 1 and long % 8 == 0 else 1 %}
{# rows that are stored together, and their distance #}
{% set row_distance = 8 // rows_per_store if rows_per_store > 1 else 1 %}
{% set parts = loads[x] * (stages if along_k else 1) %}
{% set even = threads % (8 * chunks) == 0 %}
{# if so, loads are whole groups of rows apart #}
  // In units of loads: the stride from a row in memory to the next, which may be negative, and from a step to the next.
{% if window != x %}
  let {{ x }}_row = u32(i32(p.{{ x }}_{{ 'w' if along_k else 'k' }}){{ ' / ' ~ width if width > 1 else '' }});
  let {{ x }}_step = {{ depth // width if along_k else depth }}u{{ ' * p.' ~ x ~ '_k' if along_k and width == 1 else '' if along_k else ' * ' ~ x ~ '_row' }};
{% endif %}
{% for t in range(parts) %}
{% set s = x ~ t %}
  let id_{{ s }} = lid + {{ t * threads }}u;
{% if even and t > 0 %}
  let line_{{ s }} = line_{{ x }}0 + {{ t * threads // chunks }}u;
  let part_{{ s }} = part_{{ x }}0;
{% else %}
{% if rows_per_store > 1 %}
  let line_{{ s }} = id_{{ s }} / {{ 8 * chunks }}u * 8u + id_{{ s }} / {{ chunks }}u % {{ rows_per_store }}u * {{ row_distance }}u + id_{{ s }} / {{ chunks * rows_per_store }}u % {{ row_distance }}u;
{% else %}
  let line_{{ s }} = id_{{ s }} / {{ chunks }}u;
{% endif %}
  let part_{{ s }} = id_{{ s }} % {{ chunks }}u * {{ width }}u;
{% endif %}
{% if along_k %}
  let k_{{ s }} = part_{{ s }};
  let w_{{ s }} = line_{{ s }};
  let to_{{ s }} = w_{{ s }} % {{ sub }}u * {{ pitch }}u + k_{{ s }} / {{ per_cell * (2 if halves or stages == 2 else 1) }}u;
{% else %}
  let k_{{ s }} = {{ 'line_' ~ s if stages == 1 else 'line_' ~ s ~ ' / ' ~ half ~ 'u * ' ~ wide ~ 'u + line_' ~ s ~ ' % ' ~ half ~ 'u' }};
  let w_{{ s }} = part_{{ s }};
  let row_{{ s }} = {{ 'line_' ~ s ~ ' / 4u % 2u * ' ~ tile_k // 2 ~ 'u + line_' ~ s ~ ' / 8u * 4u + line_' ~ s ~ ' % 4u' if halves else 'line_' ~ s }};
  let to_{{ s }} = row_{{ s }} * {{ pitch }}u + w_{{ s }} % {{ sub }}u / {{ per_cell }}u;
{% endif %}
{% if window == x %}
  let place_{{ s }} = place_of(c, min({{ side[x].origin }} + w_{{ s }}, {{ last_start(x) }}));
{% elif edge or t == 0 or not even %}
  let at_{{ s }} = ({{ offset }}at_{{ x }}(c) + {{ 'min' if edge else '' }}({{ side[x].origin }} + w_{{ s }}{{ ', ' ~ last_start(x) if edge else '' }}) * p.{{ x }}_w + {{ 'k_begin' if edge_k else '(k_begin + k_' ~ s ~ ')' }} * p.{{ x }}_k){{ ' / ' ~ width ~ 'u' if width > 1 else '' }};
{% endif %}
  var next_{{ s }}: {{ 'Held8' if read == x and width > 1 else 'vec4<u32>' if width > 1 else 'f16' }};
{% if along_k and stages == 2 %}
  var rest_{{ s }}: vec2<u32>;
{% endif %}
{% endfor %}
{% endfor %}
{# Load t of operand x for stage g of a step. #}
{% macro fetch(x, t, step, g, held) %}
{% set along_k = side[x].along_k %}
{% set width = side[x].width %}
{% set offset = 'p.' ~ x ~ '_o * ' ~ width ~ 'u + ' if width > 1 else '' %}
{% set edge = a_edge if x == 'a' else b_edge %}
{% set chunks = (depth if along_k else tile_m if x == 'a' else tile_n) // width %}
{% set own = edge or t == 0 or threads % (8 * chunks) != 0 %}
{# Loads that are a constant number of rows apart share an address. #}
{% set later = 0 if along_k else g * half %}
{% set rows_on = later + (0 if own else t * threads // chunks * (1 if along_k else stages)) %}
{% if edge_k %}
{% set k = 'min(' ~ step ~ ' * ' ~ depth ~ 'u + k_' ~ x ~ t ~ (' + ' ~ later ~ 'u' if later else '') ~ ', ' ~ ('(length - 1u) / ' ~ width ~ 'u * ' ~ width ~ 'u' if along_k and width > 1 else 'length - 1u') ~ ')' %}
{% set way = (k ~ ' / ' ~ width ~ 'u' if width > 1 else k ~ ' * p.' ~ x ~ '_k') ~ (' + ' ~ rows_on ~ 'u * ' ~ x ~ '_row' if rows_on else '') if along_k else k ~ ' * ' ~ x ~ '_row' %}
{% else %}
{% set way = step ~ ' * ' ~ x ~ '_step' ~ (' + ' ~ rows_on ~ 'u * ' ~ x ~ '_row' if rows_on else '') %}
{% endif %}
{% if window == x %}
{% set s = x ~ t %}
    {
{% set of_k = 'k_begin + ' ~ (('min(' ~ step ~ ' * ' ~ depth ~ 'u + k_' ~ s ~ ', (length - 1u) / ' ~ width ~ 'u * ' ~ width ~ 'u)') if edge_k else (step ~ ' * ' ~ depth ~ 'u' ~ ('' if whole_taps else ' + k_' ~ s))) %}
      let tap = tap_of({{ of_k }});
      let at = ({{ offset }}place_{{ s }}.at + tap.at{{ ' + k_' ~ s if whole_taps else '' }}) / {{ width }}u{{ ' + held' if held else '' }};
      next_{{ s }} = vec4<u32>();
      if (is_inside(place_{{ s }}, tap)) { next_{{ s }} = {{ x }}_buf[at]; }
    }
{% else %}
{% set at = 'at_' ~ x ~ (t if own else 0) ~ ' + ' ~ way ~ (' + held' if held else '') %}
    next_{{ x }}{{ t }} = {{ 'held8_' ~ x ~ '(' ~ at ~ ')' if read == x and width > 1 else x ~ '_buf[' ~ at ~ ']' if width > 1 else 'f16(load_' ~ x ~ '(' ~ at ~ '))' }};
{% endif %}
{% endmacro %}
{# The loads between the products of stage g, share `i` of `n`. Operands along k are loaded for a whole step, others for
   the next stage, and so first. The conditions keep compilers from moving loads down to their uses. #}
{% macro share(g, i, n) %}
{% set ns = namespace(before=0, open=false) %}
{% set all = loads['a'] + loads['b'] %}
{% for of_next in [false, true] %}
{% for x in ['a', 'b'] %}
{% set along_k = side[x].along_k %}
{% set parts = loads[x] %}
{% if (along_k or g + 1 == stages) == of_next %}
{% for u in range(parts) %}
{% if ns.before >= all * i // n and ns.before < all * (i + 1) // n %}
{{ ('if (s + 1u < steps) {' if of_next else 'if (now * ' ~ depth ~ 'u + ' ~ half ~ 'u < length) {') if not ns.open else '' }}
{% set ns.open = true %}
{{ fetch(x, u + (g * parts if along_k else 0), 'next' if of_next else 'now', 0 if of_next else g + 1, prefetch_stagger) }}
{% endif %}
{% set ns.before = ns.before + 1 %}
{% endfor %}
{% endif %}
{% endfor %}
{{ '}' if ns.open else '' }}
{% set ns.open = false %}
{% endfor %}
{% endmacro %}
{% macro stage(g) %}
{% for x in ['a', 'b'] %}
{% set width = side[x].width %}
{% set along_k = side[x].along_k %}
{% set sub = sub_m if x == 'a' else sub_n %}
{% set count = (tile_m if x == 'a' else tile_n) * (depth if along_k else tile_k) // width %}
{% set parts = loads[x] * (stages if along_k else 1) %}
{% for t in range(parts) %}
{% set s = x ~ t %}
{% set rest = along_k and g > 0 %}
{% set reads = read == x and width > 1 %}
{% if edge_k and not rest and not reads %}
    if (s + 1u == steps) { next_{{ s }} = select({{ 'vec4<u32>()' if width > 1 else '0.0h' }}, next_{{ s }}, s * {{ depth }}u + k_{{ s }}{{ ' + ' ~ g * half ~ 'u' if g else '' }} < length); }
{% endif %}
{% set guarded = count % threads != 0 and t == parts - 1 %}
    {{ 'if (id_' ~ s ~ ' < ' ~ count ~ 'u) ' if guarded else '' }}{
{% if reads and not rest %}
      let words_{{ s }} = {{ 'select(' if edge_k }}words8_{{ x }}(next_{{ s }}){{ ', vec4<u32>(), s + 1u == steps && s * ' ~ depth ~ 'u + k_' ~ s ~ (' + ' ~ g * half ~ 'u' if g else '') ~ ' >= length)' if edge_k }};
{% endif %}
{% set to = 'tile_' ~ x ~ '[w_' ~ s ~ ' / ' ~ sub ~ 'u][to_' ~ s %}
{% set words = 2 if along_k and stages == 2 else 4 %}
{% set value = 'rest_' ~ s if rest else 'words_' ~ s if reads else 'next_' ~ s %}
{% if width == 1 %}
      {{ to }}] = next_{{ s }};
{% elif bytes %}
{% for j in range(words) %}
      {{ to }} + {{ j }}u] = {{ value }}[{{ j }}];
{% endfor %}
{% else %}
{{ store_f16(value, words, to, tile_k // 2 - 4 if halves and along_k else 0) }}
{% endif %}
{% if along_k and stages == 2 and g == 0 %}
      rest_{{ s }} = {{ value }}.zw;
{% endif %}
    }
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro load(x, kind, block, across, k) %}
{% set along_k = side[x].along_k %}
{% set pitch = pitch_a if x == 'a' else pitch_b %}
{% set shape = unit_k ~ ', ' ~ unit_m if x == 'a' else unit_n ~ ', ' ~ unit_k %}
{% set order = 'row_major' if (x == 'a') == along_k else 'col_major' %}
subgroupMatrixLoad<subgroup_matrix_{{ kind }}<{{ type }}, {{ shape }}>, {{ order }}>(&tile_{{ x }}[{{ block }}], {{ across * pitch + k // per_cell if along_k else k * pitch + across // per_cell }}u, {{ pitch }}u)
{%- endmacro %}

  let block_m = subgroup / {{ subgroups_n }}u % {{ tile_m // sub_m }}u;
  let block_n = subgroup % {{ subgroups_n }}u;
{% for i in range(rows) %}
{% for j in range(cols) %}
  var r{{ i }}_{{ j }}: subgroup_matrix_result<{{ sum }}, {{ unit_n }}, {{ unit_m }}>;
{% endfor %}
{% endfor %}
{% if prefetch_stagger %}
  let turn = (at.m0 / {{ tile_m }}u + at.n0 / {{ tile_n }}u) % {{ prefetch_stagger }}u;
  let whole = length / {{ depth }}u / {{ prefetch_stagger }}u * {{ prefetch_stagger }}u;
{% endif %}
  var next = {{ 'step_at(0u, turn, whole)' if prefetch_stagger else '0u' }};
  if (steps > 0u) {
{% for x in ['a', 'b'] %}
{% set along_k = side[x].along_k %}
{% for t in range(loads[x] * (stages if along_k else 1)) %}
{{ fetch(x, t, 'next', 0, false) }}
{% endfor %}
{% endfor %}
  }
  for (var s = 0u; s < steps; s++) {
{% if stages == 2 %}
    let now = next;
{% endif %}
    next = {{ 'step_at(s + 1u, turn, whole)' if prefetch_stagger else 's + 1u' }};
{% for g in range(stages) %}
    workgroupBarrier();
{{ stage(g) }}
    workgroupBarrier();
{% if prefetch_stagger %}
{{ '    {' if stages == 2 else '' }}
    let held = zero[0];
{% endif %}
{% if not spread %}
{{ share(g, 0, 1) }}
{% endif %}
{% for k in range(tile_k // unit_k) %}
    {
{% for i in range(rows) %}
      let a{{ i }} = {{ load('a', 'left', 'block_m', i * unit_m, k * unit_k) }};
{% endfor %}
{% for j in range(cols) %}
      let b{{ j }} = {{ load('b', 'right', 'block_n', j * unit_n, k * unit_k) }};
{% endfor %}
{% for i in range(rows) %}
{% for j in range(cols) %}
      r{{ i }}_{{ j }} = subgroupMatrixMultiplyAccumulate(a{{ i }}, b{{ j }}, r{{ i }}_{{ j }});
{% endfor %}
{% set slot = k * rows + i %}
{% if spread and slot < shares %}
{{ share(g, slot, shares) }}
{% endif %}
{% endfor %}
    }
{% endfor %}
{{ '    }' if stages == 2 and prefetch_stagger else '' }}
{% endfor %}
  }

{% set quads = slots * unit_m * span // 4 %}
{% set passes = (quads + threads - 1) // threads %}
{% set turns = subgroups // slots %}
{% set bands = cols // columns %}
{# Where quad `e` of the matrices that are stored together lies: row i and band j of them, of turn g. #}
{% macro row_of(e, i, g) -%}
at.m0 + ({{ e }} / {{ unit_m * span // 4 }}u + {{ g }} * {{ slots }}u) / {{ subgroups_n }}u * {{ sub_m }}u + {{ i }} * {{ unit_m }}u + {{ e }} / {{ span // 4 }}u % {{ unit_m }}u
{%- endmacro %}
{% macro col_of(e, j, g) -%}
at.n0 + ({{ e }} / {{ unit_m * span // 4 }}u + {{ g }} * {{ slots }}u) % {{ subgroups_n }}u * {{ sub_n }}u + {{ j }} * {{ span }}u + {{ e }} % {{ span // 4 }}u * 4u
{%- endmacro %}
  let out = outputs(c, {{ 'at.slice' if splits else '0u' }});
{% for i in range(rows) %}
{% for j in range(bands) %}
{% for g in range(turns) %}
  workgroupBarrier();
  {{ 'if (subgroup / ' ~ slots ~ 'u == ' ~ g ~ 'u) ' if slots < subgroups else '' }}{
{% for l in range(columns) %}
  subgroupMatrixStore<row_major>(&sums[subgroup % {{ slots }}u], {{ l * unit_n }}u, r{{ i }}_{{ j * columns + l }}, {{ pitch_sums }}u);
{% endfor %}
  }
  workgroupBarrier();
{% for pass in range(passes) %}
  {{ 'if (lid < ' ~ (quads - pass * threads) ~ 'u) ' if (pass + 1) * threads > quads else '' }}{
    let e = lid + {{ pass * threads }}u;
    let slot = e / {{ unit_m * span // 4 }}u % {{ slots }}u;
    let start = e / {{ span // 4 }}u % {{ unit_m }}u * {{ pitch_sums }}u + e % {{ span // 4 }}u * 4u;
    let v = vec4<{{ product }}>(vec4<{{ sum }}>(sums[slot][start], sums[slot][start + 1u], sums[slot][start + 2u], sums[slot][start + 3u]));
    {{ put((((i * bands + j) * turns + g) * passes + pass) ~ 'u', row_of('e', i ~ 'u', g ~ 'u'), col_of('e', j ~ 'u', g ~ 'u'), 'v') }}
  }
{% endfor %}
{% endfor %}
{% endfor %}
{% endfor %}
{% set e = '(lid + site % ' ~ passes ~ 'u * ' ~ threads ~ 'u)' %}
{% set turn = 'site / ' ~ passes ~ 'u % ' ~ turns ~ 'u' %}
{{ store_spoiled(row_of(e, 'site / ' ~ (passes * turns * bands) ~ 'u', turn), col_of(e, 'site / ' ~ (passes * turns) ~ 'u % ' ~ bands ~ 'u', turn)) }}
}

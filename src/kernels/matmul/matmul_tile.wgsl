{#
  Matrix product by tiles in workgroup memory. A workgroup computes tile_m × tile_n elements, each thread thread_m ×
  thread_n of them in registers; k is processed in steps of tile_k. The next step's operands are already being loaded
  into registers while this step's are multiplied.

  Tiles are stored k-major, as vec4s along m (or n): element (k, m) is component m % 4 of vec4 (m/4 + turn · (k/4)) %
  (tile_m/4) of row k. This rotation spreads the rows to which a vector along k is scattered over all 32 banks. Indices
  are sums, products, quotients and remainders of known ranges, so that Tint's range analysis omits its bounds checks
  (it cannot analyse & and ^), which cost a tenth of the time on an H200.

  slices: that many groups of threads in a workgroup each take a part of k, and add their sums at the end.

  a_along_k, a_width: the order of loads from memory: adjacent threads (and the components of a vec4, at width 4) lie
  along k, or along m or n. Out-of-range rows and columns are clamped (their results are never stored), and out-of-range
  k is zero. Loads of four may extend past m, n or k where rows are longer in memory; past k they must find zeros.
  packed: the function that multiplies four 8-bit integers; elements are then words of four, along k.
  window: the operand, if one is, whose rows are windows (conv/conv_windows.wgsl). whole_taps: a step of k is within one
  element of a window.

  options:
    window: a, b, ''
    a_width: 1, 4
    b_width: 1, 4
    packed: dot4I8Packed, dot4U8Packed, ''
    tile_k: number
    thread_m: 4, 8, 16
    thread_n: 4, 8
    double_buffer: flag
    slices: 1, 2, 4
    edge_k: flag
    whole_taps: flag
    sites: number
#}
{% set element = 'u32' if packed else product %}
{% set quads = tile_k // 4 %}
{% set threads_m = tile_m // thread_m %}
{% set threads_n = tile_n // thread_n %}
{% set threads = threads_m * threads_n %}
{# of a slice #}
{% set turn = 8 // quads if quads < 8 else 1 %}
{% set groups_m = thread_m // 4 %}
{% set groups_n = thread_n // 4 %}
{% set buffers = 2 if double_buffer else 1 %}
{# Blocks of 32 threads are rectangles of up to 8 × 4, so that their operand reads access few addresses. #}
{% set lanes_n = 8 if threads_n >= 8 else threads_n %}
{% set lanes_m = 32 // lanes_n %}
{% set lanes_m = lanes_m if lanes_m <= threads_m else threads_m %}
{% set lanes = lanes_n * lanes_m %}
{% set blocks_n = threads_n // lanes_n %}
{# The loads of an operand's tile; a thread has `parts` of them. #}
{% set counts = {'a': tile_m * tile_k // a_width, 'b': tile_n * tile_k // b_width} %}
{% set parts = {'a': (counts.a + threads - 1) // threads, 'b': (counts.b + threads - 1) // threads} %}

var<workgroup> tile_a: array<vec4<{{ element }}>, {{ slices * buffers * tile_k * tile_m // 4 }}>;
var<workgroup> tile_b: array<vec4<{{ element }}>, {{ slices * buffers * tile_k * tile_n // 4 }}>;

@compute @workgroup_size({{ threads * slices }})
fn main(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wg: vec3<u32>,
        @builtin(num_workgroups) groups: vec3<u32>) {
{{ begin("k_first") }}
  let steps = (k_end - k_first + {{ tile_k * slices - 1 }}u) / {{ tile_k * slices }}u;
{% if slices > 1 %}
  let slot = lid / {{ threads }}u;
  let id = lid % {{ threads }}u;
  let k_begin = k_first + slot * steps * {{ tile_k }}u;
{% else %}
  let id = lid;
  let k_begin = k_first;
{% endif %}

  // The start of this thread's part of each operand tile in memory, and its target in workgroup memory.
{% for x in ['a', 'b'] %}
{% set o = side[x] %}
{% for t in range(parts[x]) %}
  let {{ x }}_id{{ t }} = id + {{ t * threads }}u;
{% if o.along_k and o.width == 4 %}
  let {{ x }}_k{{ t }} = {{ x }}_id{{ t }} % {{ quads }}u * 4u;
  let {{ x }}_w{{ t }} = {{ x }}_id{{ t }} / {{ quads }}u;
{% elif o.width == 4 %}
  let {{ x }}_w{{ t }} = {{ x }}_id{{ t }} % {{ o.tile // 4 }}u * 4u;
  let {{ x }}_k{{ t }} = {{ x }}_id{{ t }} / {{ o.tile // 4 }}u;
{% elif o.along_k %}
  let {{ x }}_k{{ t }} = {{ x }}_id{{ t }} % {{ tile_k }}u;
  let {{ x }}_w{{ t }} = {{ x }}_id{{ t }} / {{ tile_k }}u;
{% else %}
  let {{ x }}_w{{ t }} = {{ x }}_id{{ t }} % {{ o.tile }}u;
  let {{ x }}_k{{ t }} = {{ x }}_id{{ t }} / {{ o.tile }}u;
{% endif %}
{% if window == x %}
  let {{ x }}_place{{ t }} = place_of(c, min({{ o.origin }} + {{ x }}_w{{ t }}, {{ last_start(x) }}));
{% else %}
  var {{ x }}_at{{ t }} = at_{{ x }}(c) + min({{ o.origin }} + {{ x }}_w{{ t }}, {{ last_start(x) }}) * p.{{ x }}_w
      + (k_begin + {{ x }}_k{{ t }}) * p.{{ x }}_k;
{% endif %}
  var {{ x }}_next{{ t }}: {{ 'vec4<' ~ element ~ '>' if o.width == 4 else element }};
{% endfor %}
{% endfor %}

{% for i in range(thread_m) %}
{% for h in range(groups_n) %}
  var r{{ i }}_{{ h }} = vec4<{{ product }}>();
{% endfor %}
{% endfor %}
  let lane = id % {{ lanes }}u;
  let block = id / {{ lanes }}u;
  let tx = lane % {{ lanes_n }}u + block % {{ blocks_n }}u * {{ lanes_n }}u;
  let ty = lane / {{ lanes_n }}u + block / {{ blocks_n }}u * {{ lanes_m }}u;

{% macro fetch(k) %}
{% for x in ['a', 'b'] %}
{% set o = side[x] %}
{% if window == x and whole_taps %}
    let tap = tap_of({{ k }});
{% endif %}
{% for t in range(parts[x]) %}
{% if window == x %}
    {{ x }}_next{{ t }} = {{ 'vec4<' ~ element ~ '>()' if o.width == 4 else element ~ '(0)' }};
    if ({{ k }} + {{ x }}_k{{ t }} < k_end) {
{% if not whole_taps %}
      let tap = tap_of({{ k }} + {{ x }}_k{{ t }});
{% endif %}
{% set at = x ~ '_place' ~ t ~ '.at + tap.at' ~ (' + ' ~ x ~ '_k' ~ t ~ ' * p.channel_step' if whole_taps else '') %}
      if (is_inside({{ x }}_place{{ t }}, tap)) {
        {{ x }}_next{{ t }} = {{ 'vec4<' ~ element ~ '>(load4_' ~ x ~ '(' ~ at ~ '))' if o.width == 4 else element ~ '(load_' ~ x ~ '(' ~ at ~ '))' }};
      }
    }
{% else %}
{% set value = 'vec4<' ~ element ~ '>(load4_' ~ x ~ '(' ~ x ~ '_at' ~ t ~ '))' if o.width == 4 else element ~ '(load_' ~ x ~ '(' ~ x ~ '_at' ~ t ~ '))' %}
{% if edge_k %}
    {{ x }}_next{{ t }} = {{ 'vec4<' ~ element ~ '>()' if o.width == 4 else element ~ '(0)' }};
    if ({{ k }} + {{ x }}_k{{ t }} < k_end) { {{ x }}_next{{ t }} = {{ value }}; }
{% elif counts[x] % threads != 0 and t == parts[x] - 1 %}
    if ({{ x }}_id{{ t }} < {{ counts[x] }}u) { {{ x }}_next{{ t }} = {{ value }}; }
{% else %}
    {{ x }}_next{{ t }} = {{ value }};
{% endif %}
    {{ x }}_at{{ t }} += {{ tile_k }}u * p.{{ x }}_k;
{% endif %}
{% endfor %}
{% endfor %}
{% endmacro %}
{# The start of a slice's and a stage's tile; empty if there is only one. #}
{% macro start(buffer, size) %}{% if slices > 1 or double_buffer %}({% if slices > 1 %}slot{{ ' * 2u + ' if double_buffer else '' }}{% endif %}{% if double_buffer %}{{ buffer }}{% endif %}) * {{ size }}u + {% endif %}{% endmacro %}
{% macro stage(buffer) %}
{% for x in ['a', 'b'] %}
{% set o = side[x] %}
{% for t in range(parts[x]) %}
{% set guarded = counts[x] % threads != 0 and t == parts[x] - 1 %}
{% set base = start(buffer, tile_k * o.tile // 4) %}
{% if guarded %}
    if ({{ x }}_id{{ t }} < {{ counts[x] }}u) {
{% endif %}
{% if o.along_k and o.width == 4 %}
    {
      let at = {{ base }}{{ x }}_k{{ t }} * {{ o.tile // 4 }}u + ({{ x }}_w{{ t }} / 4u + {{ x }}_k{{ t }} / 4u * {{ turn }}u) % {{ o.tile // 4 }}u;
{% for j in range(4) %}
      tile_{{ x }}[at + {{ j * o.tile // 4 }}u][{{ x }}_w{{ t }} % 4u] = {{ x }}_next{{ t }}[{{ j }}];
{% endfor %}
    }
{% elif o.width == 4 %}
    tile_{{ x }}[{{ base }}{{ x }}_k{{ t }} * {{ o.tile // 4 }}u + ({{ x }}_w{{ t }} / 4u + {{ x }}_k{{ t }} / 4u * {{ turn }}u) % {{ o.tile // 4 }}u] = {{ x }}_next{{ t }};
{% else %}
    tile_{{ x }}[{{ base }}{{ x }}_k{{ t }} * {{ o.tile // 4 }}u + ({{ x }}_w{{ t }} / 4u + {{ x }}_k{{ t }} / 4u * {{ turn }}u) % {{ o.tile // 4 }}u][{{ x }}_w{{ t }} % 4u] = {{ x }}_next{{ t }};
{% endif %}
{% if guarded %}
    }
{% endif %}
{% endfor %}
{% endfor %}
{% endmacro %}
{% macro multiply(buffer) %}
    for (var q = 0u; q < {{ quads }}u; q++) {
{% for g in range(groups_m) %}
      let column_a{{ g }} = {{ start(buffer, tile_k * tile_m // 4) }}q * {{ tile_m }}u + (ty + {{ g * threads_m }}u + q * {{ turn }}u) % {{ tile_m // 4 }}u;
{% endfor %}
{% for h in range(groups_n) %}
      let column_b{{ h }} = {{ start(buffer, tile_k * tile_n // 4) }}q * {{ tile_n }}u + (tx + {{ h * threads_n }}u + q * {{ turn }}u) % {{ tile_n // 4 }}u;
{% endfor %}
{% for j in range(4) %}
      {
{% for g in range(groups_m) %}
        let a{{ g }} = tile_a[column_a{{ g }} + {{ j * tile_m // 4 }}u];
{% endfor %}
{% for h in range(groups_n) %}
        let b{{ h }} = tile_b[column_b{{ h }} + {{ j * tile_n // 4 }}u];
{% endfor %}
{% for i in range(thread_m) %}
{% for h in range(groups_n) %}
{% if packed %}
{% set a = 'a' ~ i // 4 ~ '[' ~ i % 4 ~ ']' %}
{% set dots = packed ~ '(' ~ a ~ ', b' ~ h %}
        r{{ i }}_{{ h }} += vec4<i32>(i32({{ dots }}.x)), i32({{ dots }}.y)), i32({{ dots }}.z)), i32({{ dots }}.w)));
{% else %}
        r{{ i }}_{{ h }} = {% if product == 'f32' %}fma(vec4<f32>(a{{ i // 4 }}[{{ i % 4 }}]), b{{ h }}, r{{ i }}_{{ h }}){% else %}a{{ i // 4 }}[{{ i % 4 }}] * b{{ h }} + r{{ i }}_{{ h }}{% endif %};
{% endif %}
{% endfor %}
{% endfor %}
      }
{% endfor %}
    }
{% endmacro %}

{% if double_buffer %}
  {{ fetch('k_begin') }}
  {{ stage('0u') }}
  workgroupBarrier();
  for (var s = 0u; s < steps; s++) {
    if (s + 1u < steps) {
{{ fetch('k_begin + (s + 1u) * ' ~ tile_k ~ 'u') }}
    }
    let now = s % 2u;
{{ multiply('now') }}
    if (s + 1u < steps) {
      let then = (s + 1u) % 2u;
{{ stage('then') }}
    }
    workgroupBarrier();
  }
{% else %}
{{ fetch('k_begin') }}
  for (var s = 0u; s < steps; s++) {
    workgroupBarrier();
{{ stage('0u') }}
    workgroupBarrier();
    if (s + 1u < steps) {
{{ fetch('k_begin + (s + 1u) * ' ~ tile_k ~ 'u') }}
    }
{{ multiply('0u') }}
  }
{% endif %}

{# Where rows and groups of columns of a thread lie. #}
{% macro row_of(i) -%}
at.m0 + {{ i }} / 4u * {{ threads_m * 4 }}u + {{ i }} % 4u + ty * 4u
{%- endmacro %}
{% macro col_of(h) -%}
at.n0 + ({{ h }} * {{ threads_n }}u + tx) * 4u
{%- endmacro %}
  let out = outputs(c{{ ', at.slice' if splits else ', 0u' }});
{% if slices > 1 %}
  // The slices' sums are exchanged in a's tile; each slice adds and stores some of the rows.
  workgroupBarrier();
{% for i in range(thread_m) %}
{% for h in range(groups_n) %}
  tile_a[slot * {{ tile_m * tile_n // 4 }}u + {{ (i * groups_n + h) * threads }}u + id] = {{ 'bitcast<vec4<u32>>(' if packed else '(' }}r{{ i }}_{{ h }});
{% endfor %}
{% endfor %}
  workgroupBarrier();
  for (var e = slot; e < {{ thread_m * groups_n }}u; e += {{ slices }}u) {
    let cell = (e % {{ thread_m * groups_n }}u) * {{ threads }}u + id;
    var sum = {{ 'bitcast<vec4<i32>>(' if packed else '(' }}tile_a[cell]);
    for (var other = 1u; other < {{ slices }}u; other++) { sum += {{ 'bitcast<vec4<i32>>(' if packed else '(' }}tile_a[other * {{ tile_m * tile_n // 4 }}u + cell]); }
    let i = e / {{ groups_n }}u;
    {{ put('e', row_of('i'), col_of('e % ' ~ groups_n ~ 'u'), 'sum') }}
  }
{% else %}
{% for i in range(thread_m) %}
{% for h in range(groups_n) %}
  {{ put((i * groups_n + h) ~ 'u', row_of(i ~ 'u'), col_of(h ~ 'u'), 'r' ~ i ~ '_' ~ h) }}
{% endfor %}
{% endfor %}
{% endif %}
{{ store_spoiled(row_of('(site / ' ~ groups_n ~ 'u)'), col_of('site % ' ~ groups_n ~ 'u')) }}
}

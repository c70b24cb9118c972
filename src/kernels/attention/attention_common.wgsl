{#
  options:
    raw_q: flag
    raw_k: flag
    raw_v: flag
    vec_q: flag
    vec_k: flag
    vec_v: flag
    dim: number
    value_dim: number
    log_sums: flag
    query_lengths: flag
    query_lengths_type: i32, u32, ''
    key_lengths: flag
    key_lengths_type: i32, u32, ''
    left: flag
    right: flag
    top_left: flag
    shared_lengths: flag
    mask: none, keys, rows
    mask_is_boolean: flag
    shifts: flag
    kv_splits: flag
    windowed: flag
    threads: number
#}
{# shifts: the queries that share a head of keys may see different ones, masks aside.
   selects: so some row does not see what is read for others: its own sums must not meet that, as 0 · NaN is NaN. #}
{% set selects = shifts or mask != "none" %}
// Shared by the attention kernels. A workgroup processes one batch and one head of keys and values; its rows are the
// queries of all heads that share that head: row r is query r % queries of head group·kv_head + r / queries.

{% macro loader(x, vectorised, dim) %}
// Elements d…d+3 of the vector of {{ x }} that starts at i, zero past its end.
fn {{ x }}_at(i: u32, d: u32) -> vec4<f32> {
{% if vectorised %}
  return load4_{{ x }}(i + d);
{% else %}
  var e = vec4<f32>();
{% for j in range(4) %}
  if (d + {{ j }}u < {{ dim }}u) { e[{{ j }}] = load_{{ x }}(i + (d + {{ j }}u) * p.{{ x }}_d); }
{% endfor %}
  return e;
{% endif %}
}
{% endmacro %}
{% if not raw_q %}
{{ loader("q", vec_q, dim) }}
{% endif %}
{% if not raw_k %}
{{ loader("k", vec_k, dim) }}
{% endif %}
{% if not raw_v %}
{{ loader("v", vec_v, value_dim) }}
{% endif %}
// The index at which a row's vector starts, given the strides of batch, head and query.
fn row_start(batch: u32, kv_head: u32, row: u32, of_batch: u32, of_head: u32, of_query: u32) -> u32 {
  return batch * of_batch + (kv_head * p.group + row / p.queries) * of_head + (row % p.queries) * of_query;
}

{% if shared_lengths %}
// Lengths that are in the buffer which is written: one thread reads them for the workgroup.
var<workgroup> lengths_read: vec4<u32>;    // x and y; 16 bytes, so that the next variable is aligned
{% endif %}
{% macro length(name, type, most) -%}
{{ "u32(clamp(load_" ~ name ~ "(batch * p." ~ name ~ "_b), 0, i32(" ~ most ~ ")))" if type == "i32" else "min(load_" ~ name ~ "(batch * p." ~ name ~ "_b), " ~ most ~ ")" }}
{%- endmacro %}
// The numbers of queries and keys of a batch's sequences.
fn lengths_at(batch: u32) -> vec2<u32> {
  return vec2<u32>({% if query_lengths %}{{ length("query_lengths", query_lengths_type, "p.all_queries") }}{% else %}p.all_queries{% endif %},
                   {% if key_lengths %}{{ length("key_lengths", key_lengths_type, "p.all_keys") }}{% else %}p.all_keys{% endif %});
}

{# Keys x…y-1 of the whole call as keys of the bound chunk. #}
{% macro in_window(keys) -%}
{{ "clamp(" ~ keys ~ ", vec2<u32>(p.first_key), vec2<u32>(p.first_key + p.keys)) - p.first_key" if windowed else keys }}
{%- endmacro %}
// The last key that may be read, if there is one.
fn last_key(lengths: vec2<u32>) -> u32 {
  return {{ "min(lengths.y - p.first_key, p.keys)" if windowed else "lengths.y" }} - 1u;
}

// The keys x…y-1 that a query sees, not counting masks; `lengths` are its batch's. Indices count through the whole
// call.
fn seen_by(query: u32, lengths: vec2<u32>) -> vec2<u32> {
{% if query_lengths %}
  if (query >= lengths.x) { return vec2<u32>(); }
{% endif %}
{% if left or right %}
  let place = i32(query){% if not top_left %} + i32(lengths.y) - i32(lengths.x){% endif %};
{% endif %}
{% if left %}
  let first = u32(clamp(place - p.window_left, 0, i32(lengths.y)));
{% else %}
  let first = 0u;
{% endif %}
{% if right %}
  return vec2<u32>(first, max(first, u32(clamp(place + p.window_right + 1, 0, i32(lengths.y)))));
{% else %}
  return vec2<u32>(first, lengths.y);
{% endif %}
}

fn seen_by_row(row: u32, lengths: vec2<u32>) -> vec2<u32> {
  let seen = seen_by(row % p.queries + p.first_query, lengths);
  return {{ in_window("seen") }};
}

// The range of keys x…y-1 that contains all that the rows first…last see.
fn seen_by_rows(first: u32, last: u32, lengths: vec2<u32>) -> vec2<u32> {
{% if left or right or query_lengths %}
  let all = first / p.queries != last / p.queries;
  let from_query = select(first % p.queries, 0u, all) + p.first_query;
  var to_query = select(last % p.queries, p.queries - 1u, all) + p.first_query;
{% if query_lengths %}
  if (from_query >= lengths.x) { return vec2<u32>(); }
  to_query = min(to_query, lengths.x - 1u);
{% endif %}
  let seen = vec2<u32>(seen_by(from_query, lengths).x, seen_by(to_query, lengths).y);
{% else %}
  let seen = vec2<u32>(0u, lengths.y);
{% endif %}
  return {{ in_window("seen") }};
}

// The keys x…y-1 that each of the rows first…last sees; none if y < x.
fn seen_by_all(first: u32, last: u32, lengths: vec2<u32>) -> vec2<u32> {
{% if left or right or query_lengths %}
  let all = first / p.queries != last / p.queries;
  let from_query = select(first % p.queries, 0u, all) + p.first_query;
  let to_query = select(last % p.queries, p.queries - 1u, all) + p.first_query;
{% if query_lengths %}
  if (to_query >= lengths.x) { return vec2<u32>(1u, 0u); }
{% endif %}
  let seen = vec2<u32>(seen_by(to_query, lengths).x, seen_by(from_query, lengths).y);
{% else %}
  let seen = vec2<u32>(0u, lengths.y);
{% endif %}
  return {{ in_window("seen") }};
}
{% if log_sums %}
// Of a row whose highest score is m and whose sum of exp(score - m) is l.
fn store_log_sum(batch: u32, kv_head: u32, row: u32, m: f32, l: f32) {
  store_log_sums(row_start(batch, kv_head, row, p.log_sums_b, p.log_sums_h, p.log_sums_i), select(m + log(l), p.hidden, l == 0.0));
}
{% endif %}
{% if kv_splits %}

// The keys of split `part`; splits are multiples of `unit`.
fn share_of(keys: vec2<u32>, part: u32, unit: u32) -> vec2<u32> {
  let size = ((keys.y - keys.x + p.kv_splits - 1u) / p.kv_splits + unit - 1u) / unit * unit;
  let first = min(keys.x + part * size, keys.y);
  return vec2<u32>(first, min(first + size, keys.y));
}

// The index in `partial` of a row's results of a split, after those of earlier chunks: the sums of values, {{ v4_all }}
// vectors, followed by the maximum and the sum of weights.
fn partial_at(batch: u32, kv_head: u32, row: u32, part: u32) -> u32 {
  return p.partial_o + (((batch * p.kv_heads + kv_head) * p.rows + row) * p.all_kv_splits + p.first_kv_split + part) * {{ v4_all + 1 }}u;
}
{% endif %}

{# What workgroup `index` computes: rows from first_row of a batch and a head of keys, for a split of the keys `part`.
   longest_first: blocks of rows in reverse, those that see the most keys first. #}
{% macro place(index, block_rows, part, longest_first) -%}
{% if kv_splits %}
  let {{ part }} = {{ index }} % p.kv_splits;
  let at = {{ index }} / p.kv_splits;
{% else %}
  let at = {{ index }};
{% endif %}
{% if longest_first %}
  let first_row = (p.row_blocks - 1u - at % p.row_blocks) * {{ block_rows }};
{% else %}
  let first_row = at % p.row_blocks * {{ block_rows }};
{% endif %}
  let batch = at / p.row_blocks / p.kv_heads;
  let kv_head = at / p.row_blocks % p.kv_heads;
  let k_start = batch * p.k_b + kv_head * p.k_h;
  let v_start = batch * p.v_b + kv_head * p.v_h;
{%- endmacro %}
{# The keys that row r sees, of those of its workgroup. #}
{% macro keys_of_row(r, clip) -%}
  let seen{{ r }} = seen_by_row(row{{ r }}, lengths);
  let first{{ r }} = seen{{ r }}.x;
  let count{{ r }} = {% if clip %}max(min(seen{{ r }}.y, keys.y), first{{ r }}){% else %}seen{{ r }}.y{% endif %} - first{{ r }};
{%- endmacro %}
{# Reads the lengths; `shared`: one thread reads them for the workgroup. #}
{% macro read_lengths(shared) -%}
{% if shared %}
  if (t == 0u) { lengths_read = vec4<u32>(lengths_at(batch), 0u, 0u); }
  let lengths = workgroupUniformLoad(&lengths_read).xy;
{% else %}
  let lengths = lengths_at(batch);
{% endif %}
{%- endmacro %}
{# The keys of a workgroup: those that the rows first_row…last see, or a split of them. #}
{% macro keys_of(last, part, unit) -%}
{{ "share_of(" if kv_splits else "" }}seen_by_rows(first_row, {{ last }}, lengths){{ ", " ~ part ~ ", " ~ unit ~ ")" if kv_splits else "" }}
{%- endmacro %}

{% if mask != "none" %}
// What the mask has for a score: a number, or not 0 where the key is seen.
fn mask_at(i: u32) -> f32 { return f32(load_mask(i)); }
// Whether a mask hides its key. p.hidden is -inf, for which WGSL has no literal. (NaN != x may be false.)
fn hides(mask: f32) -> bool { return mask == {{ "0.0" if mask_is_boolean else "p.hidden" }}; }
// A score with its mask: numbers are added; false and -inf select, so that a hidden key does not count whatever it holds.
fn masked(score: f32, mask: f32) -> f32 {
  return select(score{{ "" if mask_is_boolean else " + mask" }}, p.hidden, hides(mask));
}
fn masked4(scores: vec4<f32>, mask: vec4<f32>) -> vec4<f32> {
  return select(scores{{ "" if mask_is_boolean else " + mask" }}, vec4<f32>(p.hidden), mask == vec4<f32>({{ "" if mask_is_boolean else "p.hidden" }}));
}
{% endif %}
{% if selects %}
// Set if some value that a tile had zeros for is NaN or infinite: at the end the rows that see it add it. It does not
// matter then what its weight is.
var<workgroup> infinite: array<atomic<u32>, 4>;    // only [0] is used; 16 bytes, as matrices ask for
// Whether one of four numbers is NaN or infinite: adding one to an exponent of ones carries.
fn some_infinite(e: vec4<f32>) -> bool {
  let carry = (bitcast<vec4<u32>>(e) & vec4<u32>(0x7f800000u)) + vec4<u32>(0x00800000u);
  return ((carry.x | carry.y | carry.z | carry.w) >> 31u) != 0u;
}
// Four numbers, zeros in the places of those that are NaN or infinite; and these alone.
fn finite_of(e: vec4<f32>) -> vec4<f32> {
  return select(vec4<f32>(), e, (bitcast<vec4<u32>>(e) & vec4<u32>(0x7f800000u)) != vec4<u32>(0x7f800000u));
}
fn infinite_of(e: vec4<f32>) -> vec4<f32> {
  return select(e, vec4<f32>(), (bitcast<vec4<u32>>(e) & vec4<u32>(0x7f800000u)) != vec4<u32>(0x7f800000u));
}
// The same of eight numbers of f16.
fn some_infinite_halves(words: vec4<u32>) -> bool {
  let carry = (words & vec4<u32>(0x7c007c00u)) + vec4<u32>(0x04000400u);
  return ((carry.x | carry.y | carry.z | carry.w) & 0x80008000u) != 0u;
}
fn finite_halves(words: vec4<u32>) -> vec4<u32> {
  let carry = (words & vec4<u32>(0x7c007c00u)) + vec4<u32>(0x04000400u);
  return words & ~(((carry >> vec4<u32>(15u)) & vec4<u32>(0x00010001u)) * 0xffffu);
}
{% endif %}

// Finite and below every other finite score: -inf minus this is -inf, not NaN, so that the weight of a hidden key is
// exp(-inf) = 0 even before a row has seen any other.
const lowest = -0x1.fffffep+127f;

{# Whether row r sees a key, given where its mask begins. `bounded`: keys_of_row(r) says which keys, masks aside. #}
{% macro sees(r, key, mask_start, bounded) -%}
{{ key ~ " - first" ~ r ~ " < count" ~ r if bounded }}{{ " && " if bounded and mask != "none" }}{{ "!hides(mask_at(" ~ mask_start ~ " + " ~ key ~ " * p.mask_k))" if mask != "none" }}
{%- endmacro %}
{# Sums the parts of scores that `count` adjacent lanes have; all of these get the sum. #}
{% macro add_up_scores(count) %}
{% for k in [1, 2, 4, 8, 16] %}
{% if k < count %}
{% for c in range(chunk) %}
{% for r in range(rows) %}
    s{{ r }}_{{ c }} += subgroupShuffleXor(s{{ r }}_{{ c }}, {{ k }}u);
{% endfor %}
{% endfor %}
{% endif %}
{% endfor %}
{% endmacro %}

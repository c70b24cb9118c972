{#
  Shared by scan.wgsl and scan_split.wgsl: accumulators, and their scan over a row's lanes.

  options:
    op: sum, prod, min, max, log_sum_exp
    acc: f32, i32, u32, vec2<u32>, vec2<f32>
    x_kind: f32, i32, u32, vec2<u32>, vec2<f32>
    has_sign: flag
    reverse: flag
    exclusive: flag
#}
{% set components = rows_per_thread if across else 4 %}
{% set values = width if not across else 1 %}
{{ row_access("x") }}
{{ row_access("y") }}
alias acc_t = {{ acc }};
{% if acc == "vec2<f32>" and op == "log_sum_exp" %}
const lowest = -0x1.fffffep+127f;
{% endif %}

fn none() -> acc_t {
{% if op == "log_sum_exp" %}
  return vec2<f32>(lowest, 0.0);
{% elif acc == "vec2<u32>" %}
  return vec2<u32>(p.none_low, p.none_high);
{% elif acc == "vec2<f32>" %}
  return vec2<f32>(bitcast<f32>(p.none_low), 0.0);
{% else %}
  return bitcast<acc_t>(p.none_low);
{% endif %}
}
fn join(a: acc_t, b: acc_t) -> acc_t {
{% if op == "log_sum_exp" %}
  // (maximum, sum of exponentials below it); a maximum of +inf counts as exp(0). One of the two exponentials is exp(0).
  let e = select(exp(-abs(a.x - b.x)), 1.0, a.x == b.x);
  let first = a.x > b.x;
  return vec2<f32>(max(a.x, b.x), select(b.y, a.y, first) + select(a.y, b.y, first) * e);
{% elif op == "sum" %}
  return {{ "add_64(a, b)" if acc == "vec2<u32>" else "a + b" }};
{% elif op == "prod" and acc == "vec2<u32>" %}
  return mul_64(a, b);
{% elif op == "prod" and acc == "vec2<f32>" %}
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
{% elif op == "prod" %}
  return a * b;
{% elif acc == "vec2<u32>" %}
  return {{ op }}_{{ "i64" if has_sign else "u64" }}(a, b);
{% elif acc == "f32" %}
  return select(select({{ op }}(a, b), b, is_nan_f32(b)), a, is_nan_f32(a));
{% else %}
  return {{ op }}(a, b);
{% endif %}
}
fn lift(v: x_t) -> acc_t {
{% if op == "log_sum_exp" %}
  // NaN stays in the sum; -inf adds nothing.
  if (is_nan_f32(v)) { return vec2<f32>(lowest, v); }
  return select(vec2<f32>(v, 1.0), vec2<f32>(lowest, 0.0), bitcast<u32>(v) == 0xff800000u);
{% elif acc == "vec2<u32>" and x_kind == "i32" %}
  return vec2<u32>(bitcast<u32>(v), bitcast<u32>(v >> 31u));
{% elif acc == "vec2<u32>" and x_kind == "u32" %}
  return vec2<u32>(v, 0u);
{% elif x_kind == "vec2<u32>" and acc != "vec2<u32>" %}
  return bitcast<acc_t>(v.x);
{% elif acc == "i32" or acc == "u32" %}
  return bitcast<acc_t>(v);
{% else %}
  return v;
{% endif %}
}
fn result_of(a: acc_t) -> y_t {
{% if op == "log_sum_exp" %}
  return a.x + log(a.y);
{% else %}
  return a;
{% endif %}
}

{% if op == "log_sum_exp" %}
// Four elements, each combined with those before it.
struct Run { v0: acc_t, v1: acc_t, v2: acc_t, v3: acc_t }
fn run_of(a: acc_t, b: acc_t, c: acc_t, d: acc_t) -> Run {
  let top = max(max(a.x, b.x), max(c.x, d.x));
  // One maximum for all four, unless the first element would lose its digits below it.
  if (a.x > top - 16.0) {
    let s0 = a.y * exp(a.x - top);
    let s1 = s0 + b.y * exp(b.x - top);
    let s2 = s1 + c.y * exp(c.x - top);
    return Run(acc_t(top, s0), acc_t(top, s1), acc_t(top, s2), acc_t(top, s2 + d.y * exp(d.x - top)));
  }
  let ab = join(a, b);
  let abc = join(ab, c);
  return Run(a, ab, abc, join(abc, d));
}
{% endif %}

struct State { {% for i in range(components) %}v{{ i }}: acc_t, {% endfor %} }
fn no_state() -> State { return State({% for i in range(components) %}{{ ", " if i else "" }}none(){% endfor %}); }
fn combine(a: State, b: State) -> State {
  return State({% for i in range(components) %}{{ ", " if i else "" }}join(a.v{{ i }}, b.v{{ i }}){% endfor %});
}

{% set shuffled = cluster // interleave if cluster > interleave else 1 %}
{% if shuffled > threads_per_row %}{% set shuffled = threads_per_row %}{% endif %}
{% if shuffled > 1 %}
fn from_before(v: State, distance: u32) -> State {
  return State({% for i in range(components) %}{{ ", " if i else "" }}subgroupShuffleUp(v.v{{ i }}, distance){% endfor %});
}
fn from_thread(v: State, thread: u32) -> State {
  return State({% for i in range(components) %}{{ ", " if i else "" }}subgroupShuffle(v.v{{ i }}, thread){% endfor %});
}
{% endif %}
{% if threads_per_row > shuffled %}
var<workgroup> slots: array<State, {{ workgroup // shuffled }}>;
{% endif %}
// The total of the row's lanes before this one, and of all of them. All threads of the workgroup must call it together.
struct Scanned { before: State, all: State }
fn row_scan(value: State, tid: u32, subgroup_lane: u32) -> Scanned {
{% if threads_per_row == 1 %}
  return Scanned(no_state(), value);
{% else %}
  let column = tid % {{ interleave }}u;
  let lane = tid / {{ interleave }}u;     // continues over the rows that follow one another
  var s = Scanned(no_state(), value);
  var upto = value;                         // including the thread's own value
{% if shuffled > 1 %}
  let place = lane % {{ shuffled }}u;
{% for k in [1, 2, 4, 8, 16] %}
{% if k < shuffled %}
  let up{{ k }} = from_before(upto, {{ k * interleave }}u);
  if (place >= {{ k }}u) { upto = combine(up{{ k }}, upto); }
{% endif %}
{% endfor %}
  let left = from_before(upto, {{ interleave }}u);
  if (place > 0u) { s.before = left; }
  s.all = from_thread(upto, subgroup_lane - place * {{ interleave }}u + {{ (shuffled - 1) * interleave }}u);
{% endif %}
{% if threads_per_row > shuffled %}
  for (var span = {{ shuffled }}u; span < {{ threads_per_row }}u; span *= 16u) {
    let radix = min(16u, {{ threads_per_row }}u / span);
    workgroupBarrier();
    if (lane % span == span - 1u) { slots[lane / span * {{ interleave }}u + column] = upto; }
    workgroupBarrier();
    let first = lane / (span * radix) * radix;
    let own = lane / span;
    var sum = no_state();
    for (var i = first; i < first + radix; i++) {
      if (i == own) {
        s.before = combine(sum, s.before);
        upto = combine(sum, upto);
      }
      sum = combine(sum, slots[i * {{ interleave }}u + column]);
    }
    s.all = sum;
  }
{% endif %}
  return s;
{% endif %}
}

{% macro physical(k) %}{% if reverse %}p.steps - 1u - ({{ k }}){% else %}{{ k }}{% endif %}{% endmacro %}
{% macro out(base, v) %}{{ "result_of(join(" ~ base ~ ", " ~ v ~ "))" }}{% endmacro %}
{# From e0 … e3, the elements of a round's steps, and whether they are `inside` the row: declares v0 … v3, each combined
   with the thread's steps before it, and `t`, the total. #}
{% macro lift_round() %}
{% for i in range(4) %}
{% if across %}
    var v{{ i }} = no_state();
    if (inside{{ i }}) {
{% if components == 4 %}
      v{{ i }} = State(lift(e{{ i }}.x), lift(e{{ i }}.y), lift(e{{ i }}.z), lift(e{{ i }}.w));
{% else %}
      v{{ i }} = State(lift(e{{ i }}));
{% endif %}
    }
{% else %}
{% for j in range(values) %}
    var v{{ i }}{{ j }} = none();
{% endfor %}
    if (inside{{ i }}) {
{% for j in range(values) %}
      v{{ i }}{{ j }} = lift(e{{ i }}{% if values == 4 %}[{{ 3 - j if reverse else j }}]{% endif %});
{% endfor %}
{% if op == "log_sum_exp" and values == 4 %}
      let run{{ i }} = run_of(v{{ i }}0, v{{ i }}1, v{{ i }}2, v{{ i }}3);
{% for j in range(4) %}
      v{{ i }}{{ j }} = run{{ i }}.v{{ j }};
{% endfor %}
{% else %}
{% for j in range(1, values) %}
      v{{ i }}{{ j }} = join(v{{ i }}{{ j - 1 }}, v{{ i }}{{ j }});
{% endfor %}
{% endif %}
    }
{% endif %}
{% endfor %}
{% if across %}
{% if op == "log_sum_exp" %}
{% for l in range(components) %}
    let run{{ l }} = run_of(v0.v{{ l }}, v1.v{{ l }}, v2.v{{ l }}, v3.v{{ l }});
{% endfor %}
{% for i in range(4) %}
    v{{ i }} = State({% for l in range(components) %}{{ ", " if l }}run{{ l }}.v{{ i }}{% endfor %});
{% endfor %}
{% else %}
    v1 = combine(v0, v1);
    v2 = combine(v1, v2);
    v3 = combine(v2, v3);
{% endif %}
    let t = v3;
{% else %}
    let t = State({% for i in range(4) %}{{ ", " if i else "" }}v{{ i }}{{ values - 1 }}{% endfor %});
{% endif %}
{% endmacro %}
{# Stores the round's results at its steps k0 … k3, which follow `before`, and adds the round to `before`. #}
{% macro store_round(subgroup_lane) %}
    let s = row_scan(t, tid, {{ subgroup_lane }});
{% if across %}
    let base = combine(before, s.before);
    before = combine(before, s.all);
{% for i in range(4) %}
    if (live && inside{{ i }}) {
{% set last = i - 1 if exclusive else i %}
      let r = {{ "combine(base, v" ~ last ~ ")" if last >= 0 else "base" }};
{% if components == 4 %}
      let four = vec4<y_t>(result_of(r.v0), result_of(r.v1), result_of(r.v2), result_of(r.v3));
      {{ store_step("y", "y0", physical("k" ~ i), "four") }};
{% else %}
      {{ store_step("y", "y0", physical("k" ~ i), "result_of(r.v0)") }};
{% endif %}
    }
{% endfor %}
{% else %}
{% for i in range(4) %}
    if (live && inside{{ i }}) {
      let base = join(before, s.before.v{{ i }});
{% if values == 4 %}
{% if exclusive %}
      let r0 = result_of(base);
{% endif %}
{% for j in range(4) %}
{% if not exclusive %}
      let r{{ j }} = {{ out("base", "v" ~ i ~ j) }};
{% elif j > 0 %}
      let r{{ j }} = {{ out("base", "v" ~ i ~ (j - 1)) }};
{% endif %}
{% endfor %}
      let four = {{ "vec4<y_t>(r3, r2, r1, r0)" if reverse else "vec4<y_t>(r0, r1, r2, r3)" }};
      {{ store_step("y", "y0", physical("k" ~ i), "four") }};
{% else %}
      {{ store_step("y", "y0", physical("k" ~ i), "result_of(base)" if exclusive else out("base", "v" ~ i ~ "0")) }};
{% endif %}
    }
    before = join(before, s.all.v{{ i }});
{% endfor %}
{% endif %}
{% endmacro %}

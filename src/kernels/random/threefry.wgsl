{# Threefry-2x32 with 20 rounds, of a key and a counter; include/weft/random.h has its source. #}
{% set rotations = [13, 15, 26, 6, 17, 29, 16, 24] %}
fn threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
  let k0 = key.x;
  let k1 = key.y;
  let k2 = 0x1bd11bdau ^ k0 ^ k1;
  var a = counter.x + k0;
  var b = counter.y + k1;
{% for i in range(5) %}
{% for k in range(4) %}
{% set r = rotations[i % 2 * 4 + k] %}
  a += b;
  b = ((b << {{ r }}u) | (b >> {{ 32 - r }}u)) ^ a;
{% endfor %}
  a += k{{ (i + 1) % 3 }};
  b += k{{ (i + 2) % 3 }} + {{ i + 1 }}u;
{% endfor %}
  return vec2<u32>(a, b);
}

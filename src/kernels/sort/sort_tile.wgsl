{#
  A tile of (ordered key, index) pairs in workgroup memory, and its bitonic sort, in pieces of a power of two elements,
  each separately. Indices break ties, so that the order is total and the sort stable.

  options:
    workgroup: number
    tile: number
#}
var<workgroup> keys: array<ordered_key_t, {{ tile }}>;
var<workgroup> places: array<u32, {{ tile }}>;

const last_key = ordered_key_t(0xffffffffu);
const nowhere = 0xffffffffu;   // for the padding of a piece

fn order(i: u32, j: u32) {
  let a = keys[i];
  let b = keys[j];
  let pa = places[i];
  let pb = places[j];
{% if key_bits == 64 %}
  let turned = less_u64(b, a) || (all(a == b) && pb < pa);
{% else %}
  let turned = b < a || (a == b && pb < pa);
{% endif %}
  if (turned) {
    keys[i] = b;
    keys[j] = a;
    places[i] = pb;
    places[j] = pa;
  }
}

// All threads must call it together. Begins and ends with a barrier.
fn sort_tile(tid: u32, piece: u32) {
  for (var size = 2u; size <= piece; size *= 2u) {
    // A piece's halves ascend: compares mirrored ends first, then ever closer pairs.
    workgroupBarrier();
    let half = size / 2u;
    for (var c = tid; c < {{ tile // 2 }}u; c += {{ workgroup }}u) {
      let start = c / half * size;
      order(start + c % half, start + size - 1u - c % half);
    }
    for (var distance = half / 2u; distance > 0u; distance /= 2u) {
      workgroupBarrier();
      for (var c = tid; c < {{ tile // 2 }}u; c += {{ workgroup }}u) {
        let i = c / distance * 2u * distance + c % distance;
        order(i, i + distance);
      }
    }
  }
  workgroupBarrier();
}
